package protocol

import (
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

var now = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

func openRun() *record.Run {
	return &record.Run{Status: outerloop.StatusInProgress, Gen: 2, Deadline: now.Add(time.Hour)}
}

// The step table of admit, row by row.
func TestAdmit(t *testing.T) {
	t.Parallel()
	running := func(nonce string, lease time.Duration, crashes int) *record.Step {
		return &record.Step{State: outerloop.StepRunning, Gen: 2, Nonce: nonce, LeaseMs: now.Add(lease).UnixMilli(), Tries: record.Tries{Crash: crashes}}
	}
	parked := func(gen int) *record.Step { return &record.Step{State: outerloop.StepParked, Gen: gen} }
	decided := func(decision string) *record.Approval { return &record.Approval{Decision: decision} }
	exhausted := &record.Step{State: outerloop.StepOpen, Gen: 2, GaveUp: &record.Fault{}}
	for name, tc := range map[string]struct {
		change func(*Standing)
		want   AdmitRow
	}{
		"absent":                     {func(*Standing) {}, AdmitClaim},
		"older generation":           {func(s *Standing) { s.Gen = 1 }, AdmitStale},
		"blocked":                    {func(s *Standing) { s.Run.Status = outerloop.StatusBlocked }, AdmitStop},
		"cancelling":                 {func(s *Standing) { s.Run.Cancelling = true }, AdmitStop},
		"past the deadline":          {func(s *Standing) { s.Run.Deadline = now }, AdmitStop},
		"settled":                    {func(s *Standing) { s.Step = &record.Step{State: outerloop.StepSettled} }, AdmitRecorded},
		"has settled":                {func(s *Standing) { s.Step = &record.Step{State: outerloop.StepOpen, Gen: 2, LastNonce: "me"} }, AdmitSameCall},
		"mine and alive":             {func(s *Standing) { s.Step = running("me", time.Second, 0) }, AdmitSameGrant},
		"mine and dead":              {func(s *Standing) { s.Step = running("me", 0, 0) }, AdmitClaim},
		"another's and alive":        {func(s *Standing) { s.Step = running("you", time.Second, 9) }, AdmitBusy},
		"another's and dead":         {func(s *Standing) { s.Step = running("you", -time.Second, 2) }, AdmitClaim},
		"crash limit":                {func(s *Standing) { s.Step = running("you", -time.Second, 3) }, AdmitCrash},
		"tries used up":              {func(s *Standing) { s.Step = exhausted }, AdmitGiveUp},
		"tries used up, backup":      {func(s *Standing) { s.Step, s.Backup = exhausted, true }, AdmitClaim},
		"backup is at it":            {func(s *Standing) { s.Step = &record.Step{State: outerloop.StepOpen, Gen: 2, Backup: true} }, AdmitGiveUp},
		"parked, no approval":        {func(s *Standing) { s.Step = parked(2) }, AdmitUndecided},
		"parked, undecided":          {func(s *Standing) { s.Step, s.Approval = parked(2), decided("") }, AdmitUndecided},
		"parked, approved":           {func(s *Standing) { s.Step, s.Approval = parked(1), decided(record.DecisionApproved) }, AdmitApproved},
		"parked, rejected":           {func(s *Standing) { s.Step, s.Approval = parked(2), decided(record.DecisionRejected) }, AdmitDeclined},
		"rejected, redriven":         {func(s *Standing) { s.Step, s.Approval = parked(1), decided(record.DecisionRejected) }, AdmitReopen},
		"expired, redriven":          {func(s *Standing) { s.Step, s.Approval = parked(1), decided(record.DecisionExpired) }, AdmitReopen},
		"parked on a closed request": {func(s *Standing) { s.Step, s.Approval = parked(2), &record.Approval{Void: true} }, AdmitReopen},
		"settled in a closed run": {func(s *Standing) {
			s.Run.Status = outerloop.StatusCompleted
			s.Step = &record.Step{State: outerloop.StepSettled}
		}, AdmitStop},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := Standing{Run: openRun(), Gen: 2, Nonce: "me", Now: now, CrashLimit: 3}
			tc.change(&at)
			if got := Admit(at); got != tc.want {
				t.Errorf("the row is %q, not %q", got, tc.want)
			}
		})
	}
}

// A claim raises the fence and counts; over a dead lease it counts a crash.
func TestClaim(t *testing.T) {
	t.Parallel()
	s := &record.Step{State: outerloop.StepRunning, Fence: 4, Nonce: "you", Gen: 2, Tries: record.Tries{Admitted: 1}, Attempts: 7}
	at := Standing{Run: openRun(), Gen: 2, Nonce: "me", Now: now}
	Claim(s, at, now.Add(time.Minute), now.Add(30*time.Second))
	if s.Fence != 5 || s.Nonce != "me" || s.Tries.Crash != 1 || s.Tries.Admitted != 2 || s.Attempts != 8 {
		t.Errorf("the record is %+v", s)
	}
	if s.LeaseMs != now.Add(30*time.Second).UnixMilli() {
		t.Error("the lease passes the attempt's limit")
	}
	Beat(s, now.Add(20*time.Second), time.Minute)
	if s.LeaseMs != s.LimitMs {
		t.Error("a heartbeat passes the attempt's limit")
	}
	if !Owns(s, "me", 5) || Owns(s, "me", 4) || Owns(s, "you", 5) {
		t.Error("ownership is nonce and fence")
	}
}

// A generation has its tries anew; a parked step keeps its own until it moves.
func TestRenew(t *testing.T) {
	t.Parallel()
	s := &record.Step{State: outerloop.StepOpen, Gen: 1, GaveUp: &record.Fault{}, Backup: true, Tries: record.Tries{Crash: 3}}
	Renew(s, 2)
	if s.GaveUp != nil || s.Backup || s.Tries.Crash != 0 || s.Gen != 2 {
		t.Errorf("the record is %+v", s)
	}
	p := &record.Step{State: outerloop.StepParked, Gen: 1}
	if Renew(p, 2); p.Gen != 1 {
		t.Error("a parked step was renewed")
	}
}

func TestFailGivesUpAfterItsTries(t *testing.T) {
	t.Parallel()
	s := &record.Step{State: outerloop.StepRunning, Nonce: "a"}
	if v := Fail(s, outerloop.ClassTransient, "x", 1); v.Error != outerloop.ErrorTransient || s.State != outerloop.StepOpen || s.LastNonce != "a" {
		t.Errorf("the first failure is %+v, %+v", v, s)
	}
	if v := Fail(s, outerloop.ClassTransient, "x", 1); v.Error != outerloop.ErrorGiveUp || s.GaveUp.Error != outerloop.ErrorTransient {
		t.Errorf("the second failure is %+v, %+v", v, s)
	}
}

// The action table of begin, row by row.
func TestBegin(t *testing.T) {
	t.Parallel()
	act := func(state record.ActionState, owner string, left time.Duration) *record.Action {
		return &record.Action{State: state, Owner: owner, Hash: "h", UntilMs: now.Add(left).UnixMilli()}
	}
	for name, tc := range map[string]struct {
		a       *record.Action
		hash    string
		unknown charter.Unknown
		want    BeginRow
	}{
		"absent":            {nil, "h", charter.UnknownVerify, BeginGo},
		"other payload":     {act(record.ActionDone, "me", 0), "other", charter.UnknownVerify, BeginConflict},
		"done":              {act(record.ActionDone, "you", 0), "h", charter.UnknownVerify, BeginDone},
		"failed":            {act(record.ActionFailed, "you", 0), "h", charter.UnknownVerify, BeginGo},
		"mine":              {act(record.ActionExecuting, "me", 1), "h", charter.UnknownVerify, BeginLost},
		"mine and alive":    {act(record.ActionExecuting, "me", time.Second), "h", charter.UnknownVerify, BeginMine},
		"another's":         {act(record.ActionExecuting, "you", time.Second), "h", charter.UnknownRetry, BeginBusy},
		"another's, lost":   {act(record.ActionExecuting, "you", 0), "h", charter.UnknownRetry, BeginLost},
		"unknown, verify":   {act(record.ActionUnknown, "you", 0), "h", charter.UnknownVerify, BeginVerify},
		"unknown, ask":      {act(record.ActionUnknown, "you", 0), "h", charter.UnknownAsk, BeginAsk},
		"unknown, retry":    {act(record.ActionUnknown, "you", 0), "h", charter.UnknownRetry, BeginGo},
		"unknown, no rule":  {act(record.ActionUnknown, "you", 0), "h", "", BeginAsk},
		"unknown, conflict": {act(record.ActionUnknown, "you", 0), "other", charter.UnknownRetry, BeginConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Begin(tc.a, "me", tc.hash, tc.unknown, now); got != tc.want {
				t.Errorf("the row is %q, not %q", got, tc.want)
			}
		})
	}
}

// The rows of report: owners, verifiers, and what came too late.
func TestReport(t *testing.T) {
	t.Parallel()
	act := func(state record.ActionState, owner string) *record.Action {
		return &record.Action{State: state, Owner: owner, Fence: 3}
	}
	done := gate.ActionReport{Outcome: gate.ActionDone}
	failed := gate.ActionReport{Outcome: gate.ActionFailed}
	seen := func(r gate.ActionReport, fence int64) gate.ActionReport { r.Seen = fence; return r }
	for name, tc := range map[string]struct {
		a    *record.Action
		r    gate.ActionReport
		want ReportRow
	}{
		"absent":                      {nil, done, ReportIgnore},
		"owner, executing":            {act(record.ActionExecuting, "me"), done, ReportWrite},
		"owner, unknown":              {act(record.ActionUnknown, "me"), failed, ReportWrite},
		"owner, failed after all":     {act(record.ActionFailed, "me"), done, ReportWrite},
		"owner, done already":         {act(record.ActionDone, "me"), done, ReportSame},
		"owner says failed, was done": {act(record.ActionDone, "me"), failed, ReportSame},
		"another begun since, done":   {act(record.ActionExecuting, "you"), gate.ActionReport{Outcome: gate.ActionDone, Result: []byte("1")}, ReportDuplicate},
		"another begun since, failed": {act(record.ActionExecuting, "you"), failed, ReportIgnore},
		"verifier":                    {act(record.ActionUnknown, "you"), seen(done, 3), ReportWrite},
		"verifier of an older fence":  {act(record.ActionUnknown, "you"), seen(failed, 2), ReportIgnore},
		"verifier, begun again":       {act(record.ActionExecuting, "you"), seen(failed, 3), ReportIgnore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Report(tc.a, "me", tc.r); got != tc.want {
				t.Errorf("the row is %q, not %q", got, tc.want)
			}
		})
	}
}

// The first decision is the caller's to see; votes and edits are counted here.
func TestVote(t *testing.T) {
	t.Parallel()
	edit := record.Value{Hash: "e"}
	two := func() *record.Approval { return &record.Approval{People: 2, Hash: "h"} }
	ap := &record.Approval{People: 1, Hash: "h"}
	if Vote(ap, record.Vote{By: "ann"}, &edit) != VotedDecided || ap.Hash != "e" || !ap.Edited {
		t.Errorf("one person edits and approves: %+v", ap)
	}
	ap = two()
	first, again := Vote(ap, record.Vote{By: "ann"}, nil), Vote(ap, record.Vote{By: "ann"}, nil)
	if first != VotedMore || again != VotedMore || ap.Decided() {
		t.Errorf("one person is two: %+v", ap)
	}
	if Vote(ap, record.Vote{By: "bob"}, nil) != VotedDecided {
		t.Errorf("two people approve: %+v", ap)
	}
	ap = two()
	Vote(ap, record.Vote{By: "eve"}, nil)
	if Vote(ap, record.Vote{By: "ann"}, &edit) != VotedMore || len(ap.Votes) != 0 {
		t.Errorf("an edit keeps the votes for what was before: %+v", ap)
	}
	if Vote(ap, record.Vote{By: "ann"}, nil) != VotedAuthor || Vote(ap, record.Vote{By: "bob"}, nil) != VotedDecided {
		t.Errorf("the author of an edit approves it: %+v", ap)
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	ap := &record.Approval{Gen: 2, Delivered: true}
	if Register(ap, 1, "old") || ap.Token != "" {
		t.Error("an older generation's registration was taken")
	}
	if !Register(ap, 3, "new") || ap.Token != "new" || ap.Delivered {
		t.Errorf("the request is %+v", ap)
	}
}

func TestAttemptOf(t *testing.T) {
	t.Parallel()
	if AttemptOf("req-1/7") != "req-1" || AttemptOf("plain") != "plain" {
		t.Error("an attempt is what stands before the last slash")
	}
}
