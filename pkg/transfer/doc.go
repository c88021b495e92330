// Package transfer moves the shared state from one store to another: from a
// laptop's file to AWS, and back, so that no action is repeated after the move.
//
// Export seals the source first: every open run is closed there, so that every
// gate call and every decision is refused from then on; only then the content
// is read. The file holds the runs as they stood before. Import writes them to
// the other store; an open run goes on there in its generation with an
// execution of its own, exactly as after an engine that forgot everything:
// settled steps answer from their records, done actions are done, an action
// that was executing is of unknown outcome once its time has passed, and a
// request for approval is registered again with a new token and keeps its
// votes and its decision.
//
// Carried are runs with steps, visits and late results, the action log,
// quotas, approvals, exceptions, facts, events, definitions, the days' figures,
// budgets and slots of loops, what schedules have fired and monitors have seen,
// and the blobs that any of these refers to. Left behind is what belongs to an
// engine or a moment: executions, messages, machines, task tokens, leases, rate
// slots, circuit breakers.
package transfer
