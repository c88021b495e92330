// Package local is the embedded runtime: durable execution of compiled
// machines, queues and functions in process, timers and schedules, over one
// SQLite file. The rules of durable execution are package durable's, which has
// no goroutine; this package is the shell around it: pools, clock, lock, socket.
//
// One process owns a state file (Open); it holds a lock file beside it that
// names its process and socket. Everybody else is a visitor: reading commands
// open the file read-only, writing commands are sent to the owner (Dial), or
// become the owner, work until nothing can move (Engine.RunUntilIdle) and close.
//
// What a crash loses, of the process or of the machine: a suffix of what was
// applied and not yet synced, never a middle, and nothing that anybody outside
// was told. The next owner finds the executions where the file says, makes the
// calls and deliveries again that were under way, and lets go of the steps that
// died with their workers, at once and without waiting for their leases: the
// lock says that they are dead. A step that was settled answers from its record.
//
// Delivery to workers is at least once, as on AWS. Nothing leaves the process
// (a handler's start, an answer, a notification) before everything it rests on
// is durable.
package local
