package protocol

import (
	"bytes"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// BeginRow is the row of the action table that a begin falls under.
type BeginRow string

// The rows of begin, in the order in which they are looked for. The attempt
// owns its step and the run is open and of its generation; else it is refused
// before this table.
//
//	conflict  recorded with another payload: both hashes are told, nothing is called
//	done      done before: the recorded result
//	mine      executing, this call's own and before the recorded end: go, with that end
//	busy      executing and alive: busy until its end
//	lost      executing and past its end: unknown, written first, then looked at again
//	verify    unknown, the rule says verify: the worker asks the provider
//	ask       unknown, the rule says ask: a person must say
//	begin     absent, certainly failed, or unknown with the rule retry (the same provider key): executing, fence+1
const (
	BeginConflict BeginRow = "conflict"
	BeginDone     BeginRow = "done"
	BeginMine     BeginRow = "mine"
	BeginBusy     BeginRow = "busy"
	BeginLost     BeginRow = "lost"
	BeginVerify   BeginRow = "verify"
	BeginAsk      BeginRow = "ask"
	BeginGo       BeginRow = "begin"
)

// Begin finds the row. a is nil when the action was never begun.
func Begin(a *record.Action, owner, hash string, unknown charter.Unknown, now time.Time) BeginRow {
	switch {
	case a == nil:
		return BeginGo
	case a.Hash != hash:
		return BeginConflict
	case a.State == record.ActionDone:
		return BeginDone
	case a.State == record.ActionExecuting:
		return executing(a, owner, now)
	case a.State == record.ActionUnknown && unknown == charter.UnknownVerify:
		return BeginVerify
	case a.State == record.ActionUnknown && unknown != charter.UnknownRetry:
		return BeginAsk
	}
	return BeginGo
}

func executing(a *record.Action, owner string, now time.Time) BeginRow {
	switch alive := now.UnixMilli() < a.UntilMs; {
	case alive && a.Owner == owner:
		return BeginMine
	case alive:
		return BeginBusy
	}
	return BeginLost
}

// Executing makes a the record of a call that is about to be made.
func Executing(a *record.Action, owner string, now, until time.Time) {
	a.State, a.Owner, a.Begun, a.UntilMs = record.ActionExecuting, owner, now, until.UnixMilli()
	a.Ended, a.Reason, a.Asked = time.Time{}, "", ""
	a.Fence++
}

// Lost makes a's outcome unknown; its fence stays, so that the old owner may still report.
func Lost(a *record.Action) { a.State = record.ActionUnknown }

// ReportRow is what a report of an outcome leads to.
type ReportRow string

// The rows of report:
//
//	write      executing or unknown and the owner's own; unknown and seen at its fence by a verifier;
//	           failed, and its owner reports the effect after all
//	same       what is reported stands there already
//	duplicate  a later begin owns the action and this report says done: an exception names a possible duplicate
//	ignore     it is somebody else's, and nothing was done
const (
	ReportWrite     ReportRow = "write"
	ReportSame      ReportRow = "same"
	ReportDuplicate ReportRow = "duplicate"
	ReportIgnore    ReportRow = "ignore"
)

// Report finds the row for what an owner or, with seen above 0, a verifier says.
func Report(a *record.Action, owner string, r gate.ActionReport) ReportRow {
	mine := a != nil && a.Owner == owner
	switch {
	case a == nil:
		return ReportIgnore
	case r.Seen > 0:
		if a.State == record.ActionUnknown && a.Fence == r.Seen {
			return ReportWrite
		}
	case mine && a.State == record.ActionDone:
		return ReportSame
	case mine && r.Outcome == gate.ActionDone:
		return ReportWrite
	case mine && (a.State == record.ActionExecuting || a.State == record.ActionUnknown):
		return ReportWrite
	case mine:
		return ReportSame
	case r.Outcome == gate.ActionDone && !bytes.Equal(a.Result, r.Result):
		return ReportDuplicate
	}
	return ReportIgnore
}

// Reported makes a the record after a report that may be written.
func Reported(a *record.Action, r gate.ActionReport, now time.Time) {
	a.State, a.Result, a.Reason, a.Ended, a.Asked = record.ActionState(r.Outcome), r.Result, r.Reason, now, ""
}

// Passable tells whether a failure rule may pass over the action: its outcome is known.
func Passable(a *record.Action) bool {
	return a == nil || a.State == record.ActionDone || a.State == record.ActionFailed
}
