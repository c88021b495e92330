package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Action is what the call of a business action is given.
type Action struct {
	Name string
	// Entry is the action log entry, KEY:ACTION.
	Entry string
	// ProviderKey is to be sent as the provider's idempotency key; it is the
	// same for every call of the entry.
	ProviderKey string
	// Payload is the payload as JSON.
	Payload json.RawMessage
	// Until is when the call must have ended; its context ends a little before.
	Until time.Time
}

// ActionFunc makes the one outside call of an action and gives its result,
// which is recorded and given again to whoever does the action later. An error
// made by NotDone, RateLimited or Refused says that nothing happened; any
// other error leaves the outcome unknown.
type ActionFunc func(ctx context.Context, a Action) (result any, err error)

// Done is an action that has happened.
type Done struct {
	Entry       string
	ProviderKey string
	// Result is what the call gave, now or then.
	Result json.RawMessage
	// Repeated: it had been done before, and nothing was called now.
	Repeated bool
}

// Decode reads the result into a value.
func (d Done) Decode(into any) error {
	if err := json.Unmarshal(d.Result, into); err != nil {
		return Fatal("decoding the recorded result of %s: %w", d.Entry, err)
	}
	return nil
}

// claims bounds how often one Do asks to begin: each further round follows a
// verification that was reported.
const claims = 3

func (a *attempt) do(ctx context.Context, action string, payload any, call ActionFunc) (Done, error) {
	body, err := json.Marshal(payload)
	if err != nil {
		return Done{}, Fatal("encoding the payload of %s: %w", action, err)
	}
	for range claims {
		if a.ended() {
			return Done{}, Transient("%s was not begun: %w", action, ErrTimeUp)
		}
		if err := a.flush(ctx); err != nil {
			return Done{}, err
		}
		claim, err := a.begin(ctx, action, body)
		if err != nil {
			return Done{}, Transient("beginning %s: %w", action, err)
		}
		switch claim.Claim {
		case gate.ClaimDone:
			return Done{claim.Entry, claim.ProviderKey, claim.Result, true}, nil
		case gate.ClaimGo:
			return a.call(ctx, Action{action, claim.Entry, claim.ProviderKey, body, claim.Until}, call)
		case gate.ClaimVerify:
			if err := a.verify(ctx, action, body, claim); err != nil {
				return Done{}, err
			}
		case gate.ClaimBusy:
			return Done{}, busy(claim.Entry, claim.Until)
		case gate.ClaimRefused:
			return Done{}, refusedClaim(claim)
		default:
			return Done{}, Fatal("beginning %s: the gate answered %q, which this worker does not know", action, claim.Claim)
		}
	}
	return Done{}, Transient("%s is still of unknown outcome after %d verifications", action, claims)
}

// call makes the call of a claimed action, if its time and lease still stand.
func (a *attempt) call(ctx context.Context, action Action, call ActionFunc) (Done, error) {
	if !a.first(action.Entry) {
		return Done{}, busy(action.Entry, action.Until)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, callTime(action.Until.Sub(a.now())), ErrTimeUp)
	defer cancel()
	if err := a.mayCall(ctx, action.Until); err != nil {
		a.hold(gate.ActionReport{Entry: action.Entry, Outcome: gate.ActionFailed, Reason: "not called: " + err.Error()})
		a.forget(action.Entry)
		return Done{}, Transient("%s was not called: %w", action.Entry, err)
	}
	result, err := call(bounded, action)
	if err != nil {
		if certainlyNotDone(err) {
			a.hold(gate.ActionReport{Entry: action.Entry, Outcome: gate.ActionFailed, Reason: cut(err.Error(), messageLimit)})
			a.forget(action.Entry)
		}
		return Done{}, err
	}
	body, err := json.Marshal(result)
	if err != nil { // the effect exists: it is recorded as done all the same
		body = json.RawMessage("null")
		err = Fatal("encoding the result of %s: %w", action.Entry, err)
	}
	a.hold(gate.ActionReport{Entry: action.Entry, Outcome: gate.ActionDone, Result: body})
	return Done{action.Entry, action.ProviderKey, body, false}, err
}

// callTime keeps a tenth of an action's time, at most a second, for the call's
// own end to come before the limit.
func callTime(left time.Duration) time.Duration { return left - min(left/10, time.Second) }

// first tells whether this attempt has not called the entry before with an
// unknown outcome: the gate would let its own attempt go on.
func (a *attempt) first(entry string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.called[entry] {
		return false
	}
	a.called[entry] = true
	return true
}

func (a *attempt) forget(entry string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.called, entry)
}

// verify asks the worker's verifier about an unknown outcome and reports what
// it found, for the action as it was seen.
func (a *attempt) verify(ctx context.Context, action string, payload []byte, claim gate.BeginAnswer) error {
	if a.inv.Worker.verify == nil {
		return Fatal("the outcome of %s is unknown and worker %s has no verifier", claim.Entry, a.inv.Worker.name)
	}
	found, err := a.inv.Worker.verify(ctx, VerifyRequest{
		Action: action, Entry: claim.Entry, ProviderKey: claim.ProviderKey, Payload: payload, Task: a.task, env: a.inv.Env,
	})
	if err != nil {
		if hasClass(err) {
			return err
		}
		return Transient("verifying %s: %w", claim.Entry, err)
	}
	report := gate.ActionReport{Entry: claim.Entry, Seen: claim.Seen}
	switch found.Finding {
	case Found:
		report.Outcome = gate.ActionDone
		if report.Result, err = json.Marshal(found.Result); err != nil {
			return Fatal("encoding the verified result of %s: %w", claim.Entry, err)
		}
	case NotFound:
		report.Outcome, report.Reason = gate.ActionFailed, "verified: the provider does not know it"
	default:
		return ToolFailed("the provider cannot tell whether %s was done", claim.Entry)
	}
	if _, err := a.report(ctx, report); err != nil {
		return Transient("reporting what became of %s: %w", claim.Entry, err)
	}
	a.forget(claim.Entry)
	return nil
}

func busy(entry string, until time.Time) error {
	return &Error{
		Class:      outerloop.ClassTransient,
		RetryAfter: until,
		err:        fmt.Errorf("%s is being executed until %s", entry, until.UTC().Format(time.RFC3339)),
	}
}

func refusedClaim(claim gate.BeginAnswer) error {
	class := claim.Class
	if class == "" {
		class = outerloop.ClassRefused
	}
	return &Error{Class: class, RetryAfter: claim.Until, err: fmt.Errorf("%s was refused: %s", claim.Entry, claim.Reason)}
}
