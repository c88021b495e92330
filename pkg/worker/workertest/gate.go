// Package workertest runs a worker against a gate that needs no store: it
// admits one task, keeps the action log in memory by the rules of the gate
// protocol, and can lose answers on purpose. It does not validate against
// schemas and applies no loop's rules.
package workertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// ErrLost is the error of a gate call whose answer was lost after it was carried out.
var ErrLost = errors.New("the answer was lost")

// Call names a gate call.
type Call string

// The gate calls.
const (
	Admit     Call = "admit"
	Begin     Call = "begin"
	Report    Call = "report"
	Settle    Call = "settle"
	Heartbeat Call = "heartbeat"
)

// Entry is one entry of the action log.
type Entry struct {
	// State is executing, done, failed or unknown.
	State   string
	Payload json.RawMessage
	Result  json.RawMessage
	Until   time.Time
	Fence   int64
	Begins  int
}

// Gate is a gate of one task. Set the fields before the first call; read them
// after the last. It is safe for concurrent use.
type Gate struct {
	// Task is what Admit grants; nil: Answer is given.
	Task *gate.Task
	// Answer is given instead of a task, as it is.
	Answer gate.AdmitAnswer
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// ActionTime is an action's time limit; 0: 30 s.
	ActionTime time.Duration
	// LeaseTime is what a heartbeat adds; 0: 60 s.
	LeaseTime time.Duration
	// LeaseEnd caps every lease, as an attempt's deadline does; zero: no cap.
	LeaseEnd time.Time
	// Lose is how many answers of a call are lost after it was carried out.
	Lose map[Call]int
	// Refuse refuses every begin with this answer, if set.
	Refuse *gate.BeginAnswer
	// Stop answers heartbeats with stop.
	Stop bool

	mu      sync.Mutex
	answers map[string]any
	// Log is the action log by entry; Calls are the calls carried out, in
	// order; Settled are the settle requests carried out.
	Log     map[string]*Entry
	Calls   []Call
	Settled []gate.SettleRequest
}

func (g *Gate) now() time.Time {
	if g.Now != nil {
		return g.Now()
	}
	return time.Now()
}

// once carries a call out, or gives the answer of the same nonce again, and
// loses the answer if it is to be lost.
func once[T any](g *Gate, call Call, nonce string, do func() T) (T, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.answers == nil {
		g.answers, g.Log = map[string]any{}, orNew(g.Log)
	}
	answer, again := g.answers[nonce].(T)
	if !again {
		g.Calls = append(g.Calls, call)
		answer = do()
		g.answers[nonce] = answer
	}
	if g.Lose[call] > 0 {
		g.Lose[call]--
		var none T
		return none, ErrLost
	}
	return answer, nil
}

func orNew(log map[string]*Entry) map[string]*Entry {
	if log == nil {
		return map[string]*Entry{}
	}
	return log
}

// Admit grants the task, or gives the set answer.
func (g *Gate) Admit(_ context.Context, req gate.AdmitRequest) (gate.AdmitAnswer, error) {
	return once(g, Admit, req.Nonce, func() gate.AdmitAnswer {
		if g.Task == nil {
			return g.Answer
		}
		return gate.AdmitAnswer{Decision: gate.Go, Task: g.Task}
	})
}

// Begin claims by the table of the gate protocol; the entry is RUN:ACTION.
func (g *Gate) Begin(_ context.Context, req gate.BeginRequest) (gate.BeginAnswer, error) {
	return once(g, Begin, req.Nonce, func() gate.BeginAnswer {
		if g.Refuse != nil {
			return *g.Refuse
		}
		name := outerloop.ActionEntry(req.Run, req.Action)
		e := g.Log[name]
		if e == nil {
			e = &Entry{State: "failed", Payload: req.Payload}
			g.Log[name] = e
		}
		e.Begins++
		return g.claim(name, e, req.Payload)
	})
}

func (g *Gate) claim(name string, e *Entry, payload json.RawMessage) gate.BeginAnswer {
	answer := gate.BeginAnswer{Entry: name, ProviderKey: "key of " + name}
	if !bytes.Equal(e.Payload, payload) {
		answer.Claim, answer.Class, answer.Reason = gate.ClaimRefused, outerloop.ClassConflict, "another payload"
		return answer
	}
	if e.State == "executing" && !g.now().Before(e.Until) {
		e.State = "unknown"
	}
	switch e.State {
	case "done":
		answer.Claim, answer.Result = gate.ClaimDone, e.Result
	case "unknown":
		answer.Claim, answer.Seen = gate.ClaimVerify, e.Fence
	case "executing": // one task, so it is its own
		answer.Claim, answer.Until = gate.ClaimGo, e.Until
	default:
		limit := g.ActionTime
		if limit == 0 {
			limit = 30 * time.Second
		}
		e.State, e.Until = "executing", g.now().Add(limit)
		e.Fence++
		answer.Claim, answer.Until = gate.ClaimGo, e.Until
	}
	return answer
}

func (g *Gate) record(r gate.ActionReport) bool {
	e := g.Log[r.Entry]
	if e == nil || r.Seen != 0 && r.Seen != e.Fence {
		return false
	}
	e.State, e.Result = string(r.Outcome), r.Result
	return true
}

// Report records an action's outcome.
func (g *Gate) Report(_ context.Context, req gate.ReportRequest) (gate.ReportAnswer, error) {
	return once(g, Report, req.Nonce, func() gate.ReportAnswer {
		return gate.ReportAnswer{Recorded: g.record(req.Report)}
	})
}

// Settle takes the work: a result completes the step, a failure is answered by
// its class's error name.
func (g *Gate) Settle(_ context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	return once(g, Settle, req.Nonce, func() gate.SettleAnswer {
		g.Settled = append(g.Settled, req)
		for _, r := range req.Actions {
			g.record(r)
		}
		if req.Failure != nil {
			return gate.SettleAnswer{Answered: true, Verdict: gate.Verdict{
				Error: req.Failure.Class.ErrorName(), Cause: req.Failure.Message,
			}}
		}
		completed := outerloop.OutcomeCompleted
		return gate.SettleAnswer{Answered: true, Verdict: gate.Verdict{Note: gate.Note{Outcome: &completed}}}
	})
}

// Heartbeat extends the lease, or says stop.
func (g *Gate) Heartbeat(_ context.Context, req gate.HeartbeatRequest) (gate.HeartbeatAnswer, error) {
	return once(g, Heartbeat, req.Nonce, func() gate.HeartbeatAnswer {
		lease := g.LeaseTime
		if lease == 0 {
			lease = time.Minute
		}
		end := g.now().Add(lease)
		if !g.LeaseEnd.IsZero() && end.After(g.LeaseEnd) {
			end = g.LeaseEnd
		}
		return gate.HeartbeatAnswer{Lease: end, Stop: g.Stop}
	})
}
