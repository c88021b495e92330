package sim

import (
	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

var otherPreconditions = []Precondition{
	{Name: "FirstWins", Says: "decide: undecided", Ops: []string{"decide"}, Scenario: "approvals", Read: seeApproval(undecided)},
	{Name: "ExpireReads", Says: "expire: undecided", Ops: []string{"rule", "watch"}, Scenario: "approvals", Read: seeApproval(undecided)},
	{Name: "ExpireOpen", Says: "expire: the run is in progress, of the same generation", Ops: []string{"rule", "watch"}, Scenario: "approvals",
		Read: seeRun(func(s *Sim, r *record.Run) { openRun(s, r); thisGeneration(s, r) }), Write: unchecked("RUN", record.RunOpen, record.RunGen)},
	{Name: "DecideOpen", Says: "decide: the run is not closed and not being cancelled", Ops: []string{"decide"}, Scenario: "approvals", Read: func(s *Sim, item *store.Item) {
		seeRun(openRun)(s, item)
		seeApproval(func(_ *Sim, ap *record.Approval) { ap.Void = false })(s, item)
	}, Write: unchecked("RUN", record.RunClosed, record.RunCancelling)},
	{Name: "RegGen", Says: "register: not below the registered generation", Ops: []string{"register"}, Redundant: "register reads the run, whose generation is the newest", Read: seeApproval(func(_ *Sim, ap *record.Approval) { ap.Gen = 0 })},
	{Name: "RegRun", Says: "register: the run's generation", Ops: []string{"register"}, Redundant: "RegGen, once the newer generation has registered; before, it finds the same request", Read: seeRun(thisGeneration)},
	{Name: "RegBoth", Aims: []Fault{"registration delayed past a redrive", Aborted}, Scenario: "approvals", Says: "register: either of the two", Ops: []string{"register"}, Read: func(s *Sim, item *store.Item) {
		seeRun(thisGeneration)(s, item)
		seeApproval(func(_ *Sim, ap *record.Approval) { ap.Gen = 0 })(s, item)
	}},
	{Name: "WatchDeliver", Says: "the watch delivers decisions", Ops: []string{"watch"}, Scenario: "approvals", Read: seeApproval(func(_ *Sim, ap *record.Approval) {
		if ap.Decided() {
			ap.Delivered = true
		}
	})},
	{Name: "FinishSettled", Says: "finish: every step is settled", Ops: []string{"finish"}, Read: seeStep(func(_ *Sim, step *record.Step) {
		if step.State != outerloop.StepSettled {
			step.State, step.Outcome = outerloop.StepSettled, outerloop.OutcomeCompleted
			step.Output, step.LastVerdict = record.Payload([]byte("null")), &gate.Verdict{}
		}
	})},
	{Name: "FinishRun", Aims: []Fault{"rule of an older generation arrives late", CancelledAtWrite, SleepsAtWrite}, Says: "finish: the run is in progress, of the same generation", Ops: []string{"finish"},
		Read: seeRun(func(s *Sim, r *record.Run) { openRun(s, r); thisGeneration(s, r) }), Write: unversioned("RUN")},
	{Name: "WatchStart", Aims: []Fault{"run created / execution started", "generation raised / new execution not started"}, Says: "the watch starts what was not started", Ops: []string{"watch"}, Engine: "start"},
	{Name: "WatchEnded", Aims: []Fault{Aborted}, Says: "the watch blocks runs whose execution has ended", Ops: []string{"watch"}, Engine: "describe"},
	{Name: "WatchCancel", Says: "the watch closes what is being cancelled", Ops: []string{"watch"}, Read: seeRun(func(_ *Sim, r *record.Run) { r.Cancelling = false })},
	{Name: "WatchAct", Says: "the watch makes actions past their limit unknown", Ops: []string{"watch"}, Scenario: "one action", Read: seeAction(func(_ *Sim, a *record.Action) {
		if a.State == record.ActionExecuting {
			a.State = record.ActionFailed
		}
	})},
	{Name: "WatchStop", Aims: []Fault{CancelledAtWrite, "begin on a run cancelled a moment ago"}, Scenario: "approvals", Says: "whoever closes or blocks a run stops its execution", Engine: "stop"},
	{Name: "WatchFollows", Aims: []Fault{"run closed / what follows not done"}, Scenario: "deadline", Says: "the watch does what follows a run's end", Ops: []string{"watch"}, Read: seeRun(func(_ *Sim, r *record.Run) { r.Followed = true })},
	{Name: "CloseWait", Says: "cancel closes only when no action is executing", Ops: []string{"cancel", "watch"}, Scenario: "one action", Read: seeAction(noOutcomeOpen)},
	{Name: "CloseFolds", Says: "whatever closes a run folds its reservations", Scenario: "dear", Write: func(s *Sim, op store.Op) (store.Op, bool) {
		if before := s.shadow[op.Item.Key]; kind(&op.Item) == "RUN" && op.Kind == store.KindReplace && before != nil && op.Item.Numbers[record.RunClosed] == 1 {
			for name, n := range before.Numbers {
				if len(name) > 4 && name[:4] == "res." {
					op.Item.Numbers[name] = n
					op.Item.Numbers[record.RunLeft] -= n
				}
			}
		}
		return op, true
	}},
	{Name: "CloseReturns", Says: "a closed run returns what it did not spend", Write: dropped("PURSE", store.KindAdd), Ops: []string{"finish", "watch", "cancel", "resolve", "rollback"}},
	{Name: "PurseCovers", Says: "a start is covered by its purses", Ops: []string{"start"}, Scenario: "money", Read: func(_ *Sim, item *store.Item) {
		if kind(item) == "PURSE" {
			item.Numbers[record.PurseLeft] += 100_000_000
		}
	}, Write: unchecked("PURSE", record.PurseLeft)},
	{Name: "OneRun", Aims: []Fault{SleepsAtWrite}, Says: "start: the run is absent", Ops: []string{"start"}, Write: overwriting("RUN"), Scenario: "plain"},
	{Name: "Room", Says: "start: there is room in the loop", Ops: []string{"start"}, Scenario: "overlap queue", Read: func(_ *Sim, item *store.Item) {
		if item.Part == record.LoopsPart {
			slot := must(record.DecodeLoop(item))
			slot.Hold(nil)
			item.Body = slot.Put().Item.Body
		}
	}},
	{Name: "OneAnswer", Says: "resolve: unresolved", Ops: []string{"resolve"}, Read: func(_ *Sim, item *store.Item) {
		if kind(item) == "EXC" {
			exc := must(record.DecodeException(item))
			exc.Resolution, exc.By = "", ""
			item.Body = exc.Put().Item.Body
		}
	}},
	{Name: "RedriveNotCancelled", Says: "redrive: not cancelled", Ops: []string{"redrive"}, Read: seeRun(func(_ *Sim, r *record.Run) { r.Reason = "" })},
	{Name: "VersionStep", Says: "every write of a step is at the version that was read", Write: unversioned("STEP")},
	{Name: "VersionRun", Says: "every write of a run is at the version that was read", Write: unversioned("RUN")},
	{Name: "VersionAct", Says: "every write of an action is at the version that was read", Scenario: "one action", Write: unversioned("ACT")},
	{Name: "VersionApproval", Says: "every write of a request is at the version that was read", Scenario: "approvals", Write: unversioned("APPROVAL")},
	{Name: "VersionException", Says: "every write of an exception is at the version that was read", Write: unversioned("EXC"),
		Redundant: "an answer writes its run at the version that was read; a delivery that overwrites a newer token is told again by the state that waits with it"},
	{Name: "VersionLease", Says: "every write of a lease is at the version that was read", Scenario: "two runs act on one contact", Write: unversioned("LEASE")},
	{Name: "VersionSlot", Aims: []Fault{SleepsAtWrite}, Says: "every write of a loop's slot is at the version that was read", Scenario: "overlap queue", Write: unversioned("LOOPS")},
	{Name: "VersionRate", Aims: []Fault{SleepsAtWrite}, Says: "every write of a provider's turns is at the version that was read", Scenario: "rates", Write: unversioned("RATE")},
	{Name: "VersionChild", Aims: []Fault{SleepsAtWrite, StepAgain, Aborted}, Says: "every write of a sub-loop's link is at the version that was read", Scenario: "patterns", Write: unversioned("CHILD")},
}
