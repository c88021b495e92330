package protocol

import (
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// AdmitRow is the row of the step table that an admit falls under.
type AdmitRow string

// The rows of admit, in the order in which they are looked for:
//
//	stale      the call's generation is not the run's: nothing is answered to its token
//	stop       the run is not open, or past its deadline: stop
//	recorded   the step is settled: the recorded answer
//	same call  this very call has settled before (last_nonce): its answer again
//	undecided  parked, no decision yet: needs approval again
//	approved   parked and approved: an action's step may be claimed, another's approved output is settled
//	declined   parked and rejected or expired: give up, the rule decides
//	reopen     the same, from an older generation, or open after its rule halted the run, or parked on a request that its run's end has closed: a new visit
//	same grant running under this nonce, lease alive: the same grant
//	busy       running under another nonce, lease alive: busy until the lease ends
//	give up    the tries of this generation are used up
//	crash      running, lease dead, crash limit reached: open, give up (Worker.Crashed)
//	claim      absent, open, or running with a dead lease (a crash): may be claimed
const (
	AdmitStale     AdmitRow = "stale"
	AdmitStop      AdmitRow = "stop"
	AdmitRecorded  AdmitRow = "recorded"
	AdmitSameCall  AdmitRow = "same call"
	AdmitUndecided AdmitRow = "undecided"
	AdmitApproved  AdmitRow = "approved"
	AdmitDeclined  AdmitRow = "declined"
	AdmitReopen    AdmitRow = "reopen"
	AdmitSameGrant AdmitRow = "same grant"
	AdmitBusy      AdmitRow = "busy"
	AdmitGiveUp    AdmitRow = "give up"
	AdmitCrash     AdmitRow = "crash limit"
	AdmitClaim     AdmitRow = "claim"
)

// Standing is what an admit finds. Step is nil when absent, Approval when the
// step asks none or has none yet.
type Standing struct {
	Run        *record.Run
	Step       *record.Step
	Approval   *record.Approval
	Gen        int
	Nonce      string
	Backup     bool
	Now        time.Time
	CrashLimit int
}

// Admit finds the row. The step must have been renewed for the run's
// generation (Renew); parked tells of the generation it was parked in.
func Admit(at Standing) AdmitRow {
	switch s := at.Step; {
	case at.Gen != at.Run.Gen:
		return AdmitStale
	case !at.Run.Open() || !at.Now.Before(at.Run.Deadline):
		return AdmitStop
	case s == nil:
		return AdmitClaim
	case s.State == outerloop.StepSettled:
		return AdmitRecorded
	case s.LastNonce == at.Nonce:
		return AdmitSameCall
	case s.State == outerloop.StepParked:
		return parked(at)
	case s.Live(at.Now) && s.Nonce == at.Nonce:
		return AdmitSameGrant
	case s.Live(at.Now):
		return AdmitBusy
	case s.GaveUp != nil && s.Backup == at.Backup, s.Backup && !at.Backup:
		return AdmitGiveUp
	case s.State == outerloop.StepRunning && s.Tries.Crash >= at.CrashLimit:
		return AdmitCrash
	case s.State == outerloop.StepOpen && spent(s, at.Approval):
		return AdmitReopen
	}
	return AdmitClaim
}

// spent tells whether the visit's own request was decided against it: what the
// visit brings now needs another request, so another visit.
func spent(s *record.Step, ap *record.Approval) bool {
	return ap != nil && ap.Address == s.Address && ap.Visit == s.Visit && ap.Decided() && ap.Decision != record.DecisionApproved
}

func parked(at Standing) AdmitRow {
	switch ap := at.Approval; {
	case ap != nil && ap.Void && !ap.Decided():
		return AdmitReopen
	case ap == nil || !ap.Decided():
		return AdmitUndecided
	case ap.Decision == record.DecisionApproved:
		return AdmitApproved
	case at.Step.Gen < at.Run.Gen:
		return AdmitReopen
	}
	return AdmitDeclined
}

// Renew gives the step its tries anew when the run's generation was raised
// since. A parked step keeps its generation until it moves.
func Renew(s *record.Step, gen int) {
	if s == nil || s.Gen >= gen || s.State == outerloop.StepParked {
		return
	}
	s.Gen, s.Tries, s.GaveUp, s.Backup = gen, record.Tries{}, nil, false
}

// Claim makes s the record of an attempt: fence+1, nonce, lease, one more
// admitted. A claim over a dead lease counts a crash.
func Claim(s *record.Step, at Standing, lease, limit time.Time) {
	if s.State == outerloop.StepRunning {
		s.Tries.Crash++
	}
	if at.Backup && !s.Backup {
		s.Backup, s.Tries, s.GaveUp = true, record.Tries{}, nil
	}
	if s.Started.IsZero() {
		s.Started = at.Now
	}
	s.State, s.Gen, s.Nonce = outerloop.StepRunning, at.Gen, at.Nonce
	s.Fence++
	s.Attempts++
	s.Tries.Admitted++
	s.LeaseMs, s.LimitMs = earlier(lease, limit).UnixMilli(), limit.UnixMilli()
}

// Release makes s open with nobody on it: fence+1, so that the attempt that
// had it is refused from now on.
func Release(s *record.Step, gen int) {
	s.State, s.Gen, s.Nonce, s.LeaseMs, s.LimitMs = outerloop.StepOpen, gen, "", 0, 0
	s.Fence++
}

// Owns tells whether a call comes from the attempt that runs the step.
func Owns(s *record.Step, nonce string, fence int64) bool {
	return s != nil && s.State == outerloop.StepRunning && s.Nonce == nonce && s.Fence == fence
}

// Fail makes s the record after a failure of a class: open, one more of the
// class. With more failures than retries it gives up, and the error that the
// machine sees is GiveUp. A failure without retries (final) gives up at once.
func Fail(s *record.Step, class outerloop.Class, cause string, retries int) gate.Verdict {
	if s.Tries.Failed == nil {
		s.Tries.Failed = map[outerloop.Class]int{}
	}
	s.Tries.Failed[class]++
	verdict := gate.Verdict{Error: class.ErrorName(), Cause: cause}
	if s.Tries.Failed[class] > retries {
		s.GaveUp = &record.Fault{Error: class.ErrorName(), Cause: cause}
		verdict.Error = outerloop.ErrorGiveUp
	}
	leave(s, outerloop.StepOpen, verdict)
	return verdict
}

// Park makes s wait for an approval; the machine sees NeedsApproval.
func Park(s *record.Step, approval, cause string) gate.Verdict {
	s.Approval = approval
	verdict := gate.Verdict{Error: outerloop.ErrorNeedsApproval, Cause: cause}
	leave(s, outerloop.StepParked, verdict)
	return verdict
}

// Settle makes s settled with an outcome and the note that every later
// delivery gets. Nothing changes a settled visit.
func Settle(s *record.Step, outcome outerloop.Outcome, now time.Time, note gate.Note) gate.Verdict {
	note.Outcome = &outcome
	verdict := gate.Verdict{Note: note}
	s.Outcome, s.Ended = outcome, now
	if s.Started.IsZero() {
		s.Started = now
	}
	leave(s, outerloop.StepSettled, verdict)
	return verdict
}

// leave ends what the running attempt has of the step and keeps its answer for the same call again.
func leave(s *record.Step, state outerloop.StepState, verdict gate.Verdict) {
	if s.State == outerloop.StepRunning {
		s.LastNonce = s.Nonce
	}
	s.LastVerdict = &verdict
	s.State, s.Nonce, s.LeaseMs, s.LimitMs = state, "", 0, 0
}

// Revisit makes s the open record of the next visit; what the attempt before
// brought stays in the archived one.
func Revisit(s *record.Step, gen int) {
	s.Visit++
	Release(s, gen)
	s.Tries, s.GaveUp, s.Backup = record.Tries{}, nil, false
	s.Outcome, s.Reason, s.Missing, s.Output = "", "", "", record.Value{}
	s.Reasons, s.Approval, s.Approved, s.DecidedBy = nil, "", false, ""
	s.LastNonce, s.LastVerdict, s.Ended = "", nil, time.Time{}
	s.Calls, s.Heard = nil, nil
}

// Beat is the new end of a lease after a heartbeat: lease from now, but never past the attempt's limit.
func Beat(s *record.Step, now time.Time, lease time.Duration) {
	s.LeaseMs = min(now.Add(lease).UnixMilli(), s.LimitMs)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// AttemptOf is what identifies an attempt in a nonce: the worker's request id
// before the last slash. The calls of one attempt share it.
func AttemptOf(nonce string) string {
	if i := strings.LastIndexByte(nonce, '/'); i >= 0 {
		return nonce[:i]
	}
	return nonce
}
