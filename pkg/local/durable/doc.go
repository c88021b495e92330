// Package durable runs Amazon States Language executions on an ordered store:
// executions, their timers, the tasks they wait for, the queues between them
// and the workers, and their histories. It has no goroutine and no clock of its
// own; a shell (package local) or a simulator calls it, one call at a time or
// many at once: a mutex puts them in order.
//
// One operation loads an execution, applies one event (asl.Apply) and writes
// the new state, the history, the messages it sends and the ones it answers in
// one store write, applied but not synced: whoever lets an effect out of the
// process (starts a handler, gives an answer) calls the store's Sync first.
// What does not fit in one write goes before it, in the order that a repetition
// of the operation completes: messages and child executions may then exist
// twice or for nothing, which receivers of at-least-once deliveries bear.
//
// # What is kept
//
//	EXEC#name    record        machine, status, snapshot; due by its next timer or deadline
//	             snapshot/N    a large snapshot; the record then has the events since
//	             history/N     history events from N on
//	QUEUE#queue  message ids   body, receive count; due by visibility
//	MACHINE      hashes        definitions, as blobs
//
// An execution with work that is not in the store, a call to a function under
// way, stands in its own due partition ("hot"): Recover reads that partition
// and the due rows, never the executions that wait.
//
// # Failing
//
// After a write failed, the state in memory is not what stands in the store.
// The core then answers ErrBroken to everything; open the store anew.
package durable
