// Package sim is a deterministic simulation of everything that may go wrong
// around the coordinator: processes that die at any call of the store, the
// engine or the queue, answers that are lost, messages that come twice, late, in
// another order or never, clocks that differ, owners that sleep past their lease,
// people who decide at the same moment.
//
// The coordinator, the compiled machines and the stores are the real ones;
// workers, queues, people and the outside world are simulated. Every actor is a
// coroutine that parks at each call it makes; one runs at a time, and a seed says
// which one goes on, what each call costs in time and which faults fall. The same
// seed gives the same trace, byte for byte, and a seed is all that is needed to
// see a failure again. After every write the guard compares what was written with
// what the protocol promises.
package sim
