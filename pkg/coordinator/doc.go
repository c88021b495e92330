// Package coordinator holds the use cases and decisions of the outer loop:
// starting runs, the gate of every worker (admit, begin, report, settle,
// heartbeat), the failure rules, approvals, exceptions, cancelling, redriving
// and the watch. The store decides; the engine, queues and workers that drive
// it only carry hints.
//
// Every operation has three phases: load (a strongly consistent read), decide
// (pure, package protocol), write (one store.Write that names its
// preconditions). A write that lost a race is decided again on what stands
// there now; a write whose answer was lost is sent again under the same id.
// The package starts no goroutine, reads no clock but Config.Clock and draws
// no random number: the same calls give the same writes.
package coordinator
