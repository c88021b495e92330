// Package drill breaks a loop on purpose and says what held (R40): a worker
// that misses its input, gets contradictory orders, has no tool, takes too
// long, answers nonsense or dies; a trigger that comes twice; a message that is
// lost or comes twice; a queue that nobody reads; a call that costs far too
// much; two workers down at once.
//
// A drill needs no state and leaves none. It runs the loop's committed machine
// on the embedded engine, over a temporary store and in virtual time. The
// workers are scripted: they answer what their output schemas ask for, and an
// action's effect is a line in the drill's own ledger, so nothing outside is
// touched. Values are tried until as much of the loop as possible goes through;
// a fault is then put into a step that did.
//
// What is expected is derived from the declared rules (retries by class, the
// backup worker, `then`, the rule for an unknown outcome), never from the loop's
// name. What a drill does not show: that the workers' own code is right, that
// real providers behave, and anything about steps that scripted values do not
// reach; the report says how many those are.
package drill
