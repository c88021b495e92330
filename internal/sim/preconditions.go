package sim

import (
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// mine tells whether a record's nonce or owner is the running worker's.
func (s *Sim) mine(nonce string) bool { return s.cur.work != nil && s.cur.work.attempt() == nonce }

func (s *Sim) aboutThis(step *record.Step) bool {
	v := s.cur.work
	return v != nil && step.Run == v.delivery.Run && step.Path == v.delivery.Step && step.Item == v.delivery.Item
}

func openRun(_ *Sim, r *record.Run) {
	if r.Rollback == nil && (!r.Open()) {
		r.Status, r.Cancelling = outerloop.StatusInProgress, false
	}
}

func thisGeneration(s *Sim, r *record.Run) {
	if s.cur.run == r.ID {
		r.Gen = s.cur.gen
	}
}

func unsettled(_ *Sim, step *record.Step) {
	if step.State == outerloop.StepSettled && step.Block == nil {
		step.State, step.Outcome, step.LastNonce = outerloop.StepOpen, "", ""
	}
}

func noOutcomeOpen(_ *Sim, a *record.Action) {
	if a.State == record.ActionExecuting || a.State == record.ActionUnknown {
		a.State = record.ActionFailed
	}
}

func undecided(_ *Sim, ap *record.Approval) {
	if ap.Decided() {
		ap.Decision, ap.By = "", ""
	}
}

// Preconditions are all that the simulation takes away, one at a time: the
// switches of the protocol's executable model and the conditions on versions
// that stand for many of them.
var Preconditions = append(append(append(append([]Precondition{},
	admitPreconditions...), settlePreconditions...), actionPreconditions...), otherPreconditions...)

var admitPreconditions = []Precondition{
	{Name: "ClaimNotSettled", Says: "claim: the step is not settled", Ops: []string{"admit"}, Read: seeStep(unsettled)},
	{Name: "ClaimNoLiveLease", Says: "claim: no live lease of another nonce", Ops: []string{"admit"}, Read: seeStep(func(s *Sim, step *record.Step) {
		if step.State == outerloop.StepRunning && !s.mine(step.Nonce) {
			step.LeaseMs = 1
		}
	})},
	{Name: "ClaimFenceUp", Says: "claim: fence+1", Ops: []string{"admit"}, Write: writeStep(func(s *Sim, step *record.Step) {
		if step.State == outerloop.StepRunning {
			step.Fence--
		}
	})},
	{Name: "AdmitNonce", Says: "admit: the nonce is mine: the same grant", Ops: []string{"admit"}, Read: seeStep(func(s *Sim, step *record.Step) {
		if s.mine(step.Nonce) {
			step.Nonce = "somebody else"
		}
	})},
	{Name: "AdmitRunOpen", Says: "admit reads: the run is in progress", Ops: []string{"admit"}, Read: seeRun(openRun)},
	{Name: "AdmitGen", Aims: []Fault{"message waits longer than any clock", "message sent twice", Aborted}, Says: "admit reads: the same generation", Ops: []string{"admit"}, Read: seeRun(thisGeneration)},
	{Name: "AdmitParked", Says: "parked to running: only approved", Ops: []string{"admit"}, Scenario: "one action", Read: seeApproval(func(_ *Sim, ap *record.Approval) { ap.Decision = record.DecisionApproved })},
	{Name: "AdmitLimit", Says: "tries used up: give up", Ops: []string{"admit"}, Read: seeStep(func(_ *Sim, step *record.Step) { step.GaveUp = nil })},
	{Name: "AdmitLastNonce", Aims: []Fault{"a late copy of a gate call", HandlerFails}, Scenario: "plain", Says: "a nonce that has settled never claims again", Ops: []string{"admit"}, Read: seeStep(func(_ *Sim, step *record.Step) { step.LastNonce = "" })},
	{Name: "CrashOpens", Aims: []Fault{"admit / handler dies", "owner paused past its lease settles"}, Scenario: "plain", Says: "the crash limit leaves the step open", Ops: []string{"admit"}, Write: writeStep(func(_ *Sim, step *record.Step) {
		if step.State == outerloop.StepOpen && step.GaveUp != nil && step.GaveUp.Error == outerloop.ErrorCrashed {
			step.State, step.Outcome = outerloop.StepSettled, outerloop.OutcomeFailed
		}
	})},
	{Name: "AdmitRunTxn", Aims: []Fault{CancelledAtWrite, SleepsAtWrite}, Says: "what admit settles, parks or gives up checks the run in its transaction", Ops: []string{"admit"}, Write: unchecked("RUN", record.RunOpen, record.RunGen)},
	{Name: "VoidReopens", Says: "a request that its run's end has closed is asked anew", Ops: []string{"admit", "register"}, Scenario: "deadline", Read: seeApproval(func(_ *Sim, ap *record.Approval) { ap.Void = false })},
	{Name: "CompleteOnSeen", Says: "admit of a settled step completes this delivery's token", Ops: []string{"admit"}, Engine: "token"},
	{Name: "AckLast", Says: "acknowledge only what is answered", Worker: "ack on busy"},
	{Name: "LeaseFree", Says: "a resource is taken only when its lease is over", Ops: []string{"admit"}, Scenario: "two runs act on one contact", Read: func(_ *Sim, item *store.Item) {
		if kind(item) == "LEASE" {
			item.Numbers["until"] = 0
		}
	}},
	{Name: "TurnFree", Says: "a turn at a provider is taken only when there is one", Ops: []string{"admit"}, Scenario: "rates", Read: func(_ *Sim, item *store.Item) {
		if kind(item) == "RATE" {
			item.Body = []byte(`{"name":"slow"}`)
		}
	}},
	{Name: "BreakerOpen", Says: "an open breaker lets only its probe through", Ops: []string{"admit"}, Scenario: "breaker", Read: func(_ *Sim, item *store.Item) {
		if kind(item) == "BREAKER" {
			item.Numbers["times"], item.Numbers["until"] = 0, 0
		}
	}},
	{Name: "ReserveInClaim", Says: "claim and reservation are one transaction", Ops: []string{"admit"}, Scenario: "money", Write: dropped("RUN", store.KindAdd)},
	{Name: "LeftCovers", Says: "a reservation is covered by what is left", Ops: []string{"admit"}, Scenario: "poor", Read: func(_ *Sim, item *store.Item) {
		if kind(item) == "RUN" {
			item.Numbers[record.RunLeft] += 1_000_000
		}
	}, Write: unchecked("RUN", record.RunLeft)},
}

func owned(s *Sim, step *record.Step) {
	if s.aboutThis(step) && step.State != outerloop.StepSettled && s.cur.work.task.Fence > 0 {
		step.State, step.Nonce, step.Fence = outerloop.StepRunning, s.cur.work.attempt(), s.cur.work.task.Fence
	}
}

var settlePreconditions = []Precondition{
	{Name: "SettleOwns", Says: "settle: running, under this nonce and fence", Ops: []string{"settle"}, Read: seeStep(owned)},
	{Name: "SettleNonce", Says: "settle: the nonce", Ops: []string{"settle"}, Redundant: "SettleFence: every claim raises the fence", Read: seeStep(func(s *Sim, step *record.Step) {
		if s.aboutThis(step) && step.State == outerloop.StepRunning {
			step.Nonce = s.cur.work.attempt()
		}
	})},
	{Name: "SettleFence", Says: "settle: the fence", Ops: []string{"settle"}, Redundant: "SettleNonce: no two attempts share a nonce", Read: seeStep(func(s *Sim, step *record.Step) {
		if s.aboutThis(step) && step.State == outerloop.StepRunning {
			step.Fence = s.cur.work.task.Fence
		}
	})},
	{Name: "SettleRunning", Says: "settle: running", Ops: []string{"settle"}, Redundant: "SettleNonce: whoever leaves a step clears its nonce", Read: seeStep(func(s *Sim, step *record.Step) {
		if s.aboutThis(step) && step.State == outerloop.StepOpen {
			step.State = outerloop.StepRunning
		}
	})},
	{Name: "SettleRun", Aims: []Fault{CancelledAtWrite}, Says: "settle: the run is in progress", Ops: []string{"settle"}, Read: seeRun(openRun), Write: unchecked("RUN", record.RunOpen)},
	{Name: "SettleGen", Aims: []Fault{RedrivenUnder}, Scenario: "plain", Says: "settle: the same generation", Ops: []string{"settle"}, Read: seeRun(thisGeneration), Write: unchecked("RUN", record.RunGen)},
	{Name: "SettleTxn", Aims: []Fault{CancelledAtWrite, SleepsAtWrite}, Says: "settle checks the run in its own transaction", Ops: []string{"settle"}, Write: unchecked("RUN", record.RunOpen, record.RunGen)},
	{Name: "SettleLast", Says: "a lost answer is given again by last_nonce", Ops: []string{"settle"}, Read: seeStep(func(_ *Sim, step *record.Step) { step.LastNonce = "" })},
	{Name: "SettleReturns", Says: "settle gives the reservation back", Ops: []string{"settle"}, Scenario: "money", Write: dropped("RUN", store.KindAdd)},
	{Name: "FactAsRead", Says: "a fact that was read stands as it was read", Ops: []string{"settle"}, Scenario: "facts", Read: func(s *Sim, item *store.Item) {
		if v := s.cur.work; kind(item) == "FACT" && v != nil {
			if step := s.guard.stepOf(v); step != nil {
				if read, known := step.Facts[strings.TrimPrefix(item.Part, "FACT#")]; known {
					item.Version = read
				}
			}
		}
	}, Write: unversioned("FACT")},
	{Name: "RuleNotSettled", Aims: []Fault{"timed out, new token, old worker alive", "rule of an older generation arrives late"}, Says: "rule: not settled; a settled step's answer is given", Ops: []string{"rule"}, Read: seeStep(unsettled)},
	{Name: "RuleFenceUp", Says: "rule: fence+1", Ops: []string{"rule"}, Redundant: "SettleNonce: the rule clears the nonce", Write: writeStep(func(s *Sim, step *record.Step) {
		if now := s.shadow[record.StepKey(step.Run, step.Address)]; now != nil {
			step.Fence = now.Numbers["fence"]
		}
	})},
	{Name: "RuleRun", Aims: []Fault{"rule of an older generation arrives late", SleepsAtWrite, CancelledAtWrite}, Says: "rule: the run is in progress, of the same generation", Ops: []string{"rule"}, Read: seeRun(func(s *Sim, r *record.Run) { openRun(s, r); thisGeneration(s, r) }),
		Write: func(s *Sim, op store.Op) (store.Op, bool) {
			op, _ = unchecked("RUN", record.RunOpen, record.RunGen)(s, op)
			return op, true
		}},
	{Name: "HaltOpens", Says: "halt leaves the step open", Ops: []string{"rule"}, Write: writeStep(func(_ *Sim, step *record.Step) {
		if step.State == outerloop.StepOpen && step.Exception != "" && step.Block == nil {
			step.State, step.Outcome = outerloop.StepSettled, outerloop.OutcomeFailed
		}
	})},
	{Name: "RuleAct", Says: "the rule waits while the action's outcome is open", Ops: []string{"rule"}, Read: seeAction(noOutcomeOpen)},
	{Name: "RuleMoney", Says: "the rule returns the reservation", Ops: []string{"rule"}, Scenario: "dear", Write: dropped("RUN", store.KindAdd)},
	{Name: "DoorAct", Says: "a step whose action's outcome is open does not end at the door", Ops: []string{"admit"}, Scenario: "gen08", Read: seeAction(noOutcomeOpen)},
	{Name: "MootQuestion", Aims: []Fault{"message waits longer than any clock", "timed out, new token, old worker alive", "dead-lettered before admit"}, Scenario: "breaker", Says: "a step that is settled has no open question", Ops: []string{"settle"}, Write: dropped("EXC", store.KindReplace)},
}

var actionPreconditions = []Precondition{
	{Name: "BeginStep", Aims: []Fault{"a late copy of a gate call", "owner paused past its lease begins"}, Says: "begin: the attempt owns the step", Ops: []string{"begin"}, Read: seeStep(owned), Write: unversioned("STEP")},
	{Name: "BeginRun", Says: "begin: the run is in progress", Ops: []string{"begin"}, Scenario: "one action", Read: seeRun(openRun), Write: unchecked("RUN", record.RunOpen)},
	{Name: "BeginGen", Aims: []Fault{RedrivenUnder}, Scenario: "one action", Says: "begin: the same generation", Ops: []string{"begin"}, Read: seeRun(thisGeneration), Write: unchecked("RUN", record.RunGen)},
	{Name: "BeginLease", Says: "the lease outlasts the action's time limit", Ops: []string{"begin"}, Write: writeStep(func(s *Sim, step *record.Step) {
		if now := s.shadow[record.StepKey(step.Run, step.Address)]; now != nil {
			step.LeaseMs = now.Numbers["lease"]
		}
	}), Redundant: "the lease of an attempt (60 s) is longer than its workers' time-outs here (30 s)"},
	{Name: "BeginHash", Aims: []Fault{OtherPayload, CallRefused, AnswerLost}, Scenario: "one action", Says: "begin: the same payload as begun before", Ops: []string{"begin"}, Read: seeAction(func(s *Sim, a *record.Action) {
		if v := s.cur.work; v != nil {
			a.Hash = record.HashOf(v.payload)
		}
	})},
	{Name: "BeginApproved", Aims: []Fault{OtherPayload}, Says: "begin: the payload that was approved", Ops: []string{"begin"}, Scenario: "one action", Read: seeApproval(func(s *Sim, ap *record.Approval) {
		if v := s.cur.work; v != nil {
			ap.Hash = record.HashOf(v.payload)
		}
	})},
	{Name: "BeginAlive", Says: "executing and alive: busy", Ops: []string{"begin"}, Read: seeAction(func(s *Sim, a *record.Action) {
		if a.State == record.ActionExecuting && !s.mine(a.Owner) {
			a.State = record.ActionFailed
		}
	})},
	{Name: "BeginDone", Says: "done: the recorded result", Ops: []string{"begin"}, Read: seeAction(func(_ *Sim, a *record.Action) {
		if a.State == record.ActionDone {
			a.State = record.ActionFailed
		}
	})},
	{Name: "BeginMine", Says: "executing and mine: go", Ops: []string{"begin"}, Scenario: "one action", Read: seeAction(func(s *Sim, a *record.Action) {
		if a.State == record.ActionExecuting && s.mine(a.Owner) {
			a.Owner = "somebody else"
		}
	})},
	{Name: "BeginMineLim", Aims: []Fault{CrashAfterWrite, "owner paused past its lease begins"}, Says: "executing and mine: only before the recorded end", Ops: []string{"begin"}, Scenario: "one action", Read: seeAction(func(s *Sim, a *record.Action) {
		if s.mine(a.Owner) && a.State == record.ActionExecuting && a.UntilMs <= s.now.UnixMilli()+1000 {
			a.UntilMs = s.now.Add(time.Minute).UnixMilli()
		}
	})},
	{Name: "DoneOwner", Aims: []Fault{CallRefused, "owner paused past its lease settles", "a late copy of a gate call"}, Says: "an outcome is its owner's to record", Ops: []string{"settle", "report"}, Scenario: "one action", Read: seeAction(func(s *Sim, a *record.Action) {
		if v := s.cur.work; v != nil {
			a.Owner = v.attempt()
		}
	})},
	{Name: "DoneAfterRun", Aims: []Fault{"begin on a run cancelled a moment ago", "owner paused past its lease settles", CancelledAtWrite}, Says: "an outcome is recorded although the run is closed", Ops: []string{"settle"}, Scenario: "one action", Write: func(s *Sim, op store.Op) (store.Op, bool) {
		if run := s.guard.runs[s.cur.run]; kind(&op.Item) == "ACT" && run != nil && !run.Open() {
			return op, false
		}
		return op, true
	}},
	{Name: "UnknownCond", Aims: []Fault{"inside the call", AnswerLost, "owner paused past its lease begins", "a late copy of a gate call"}, Redundant: "UnknownSeen: every begin raises the fence; without an effect past the time limit all who verify at one fence say the same", Says: "a verifier writes only over unknown", Ops: []string{"report"}, Scenario: "one action", Read: seeAction(func(_ *Sim, a *record.Action) { a.State = record.ActionUnknown })},
	{Name: "UnknownSeen", Aims: []Fault{"inside the call", AnswerLost, "owner paused past its lease begins", "a late copy of a gate call"}, Says: "a verifier writes only at the fence that it saw", Ops: []string{"report"}, Scenario: "one action", Read: seeAction(func(s *Sim, a *record.Action) {
		if v := s.cur.work; v != nil && v.seen > 0 {
			a.Fence, a.State = v.seen, record.ActionUnknown
		}
	})},
	{Name: "CallBounded", Says: "no call after the action's time limit (an assumption)", Worker: "call late", Scenario: "one action"},
	{Name: "LeaseHeld", Says: "begin: the resource is still its own", Ops: []string{"begin"}, Scenario: "two runs act on one contact", Write: dropped("LEASE", store.KindCheck),
		Redundant: "an attempt begins only before its limit, which the lease outlasts by the grace; where clocks differ by more than that it is the only guard"},
}
