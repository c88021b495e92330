// Package asl implements the Amazon States Language, JSONPath dialect: it
// checks definitions and interprets them as a pure state machine.
//
// A definition becomes a *Machine once, by Load, which reports every error of
// the definition together. A Machine is immutable and shared by all executions
// and goroutines. An Execution is one run of it and belongs to one goroutine at
// a time.
//
// # Driving an execution
//
// A driver owns clock, randomness, storage and the outside world. It does
//
//	x := asl.New(machine)
//	step, err := x.Apply(asl.Event{Kind: asl.Start, Time: now, Seed: seed, Start: &asl.StartDetails{...}})
//
// and from then on, for whatever happens, one more Apply: a task answered
// (TaskSucceeded, TaskFailed, TaskTimedOut), a timer became due (TimerFired), a
// child execution ended (ChildEnded), somebody stopped the execution (Stop).
// Each Apply returns a Step: history events to append and effects to carry out.
// The driver
//
//  1. appends the event (its journal) or x.Snapshot() (or both, a snapshot now
//     and then) and step.History to its store, in one commit;
//  2. when that is durable, carries out step.Effects in order.
//
// An effect is a request, never a fact: a driver that crashed between the two
// repeats the effects. x.Open() lists what an execution is waiting for, so that
// a restart needs no effect log: every ScheduleTask, StartTimer and StartChild
// that is still open, with the same ids, inputs, tokens and deadlines.
//
// Apply refuses, with ErrNotOpen and without any change, an event for a task,
// timer or child that is not open (answered before, timed out, aborted), and
// with ErrEnded any event after the end. Such events are not to be journaled.
//
// A driver whose commit fails drops the Execution, which is ahead of its store
// then, and restores what the store has.
//
// Restoring: Restore(machine, snapshot) continues from a snapshot; applying
// the journal to New(machine) gives the same execution, byte for byte of its
// Snapshot. Both need the very same definition, so a driver pins the
// definition by its hash.
//
// # Time limits
//
// Timeouts of tasks are the driver's to keep: ScheduleTask carries Deadline
// (zero: none) and Heartbeat (zero: none). The driver applies TaskTimedOut when
// the deadline passed or no heartbeat came for that long. Heartbeats themselves
// are no events. Waits, retry delays and the machine's own TimeoutSeconds are
// timers (StartTimer, TimerFired). A machine that runs on and on without
// waiting pauses now and then with a timer that is due at once, so that one
// Apply never takes long.
//
// # What does not happen here
//
// No input or output, no goroutine, no clock, no random source. What the
// package does not support (JSONata, ItemReader, ResultWriter) is refused by
// name when a machine is loaded; whether a resource has an executor is for the
// driver to say (Machine.Resources lists them).
package asl
