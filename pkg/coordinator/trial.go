package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Trial is recorded work of an agent that may be done again without acting: to
// see what another prompt or model makes of the same inputs.
type Trial struct {
	// Path names the step as people read it.
	Path string
	// Task is the recorded task of the last attempt, feedback included, with the
	// facts as they are now.
	Task gate.Task
	// Lost says why the recorded input is there no more, as when it held a fact
	// that has changed since; the other fields but Path and Recorded are empty then.
	Lost string
	// Recorded is what became of the step.
	Recorded TrialResult
	// Calls are the tool calls that were made, with what they gave.
	Calls []TrialCall

	at record.Address
}

// TrialResult is what recorded work came to.
type TrialResult struct {
	Outcome  outerloop.Outcome `json:"outcome"`
	Output   json.RawMessage   `json:"output"`
	Reason   string            `json:"reason,omitempty"`
	Attempts int               `json:"attempts"`
	Tokens   gate.Tokens       `json:"tokens"`
	// Cost is in the budget's currency.
	Cost float64 `json:"cost"`
}

// TrialCall is a recorded tool call.
type TrialCall struct {
	Worker string
	Input  json.RawMessage
	// Output is null where the call did not end completed; Says is why.
	Output json.RawMessage
	Says   string
}

// ErrNoAgent says that a worker asked no model in a run.
var ErrNoAgent = errors.New("the worker asks no model")

// Trials are the steps of a run that an agent did, in the order of their paths.
// Nothing is written. Errors: ErrNoRun; ErrNoAgent.
func (c *Coordinator) Trials(ctx context.Context, run, worker string) ([]Trial, error) {
	r, err := c.runOf(ctx, run)
	if err != nil {
		return nil, err
	}
	def, err := c.definitionOf(ctx, run)
	if err != nil {
		return nil, err
	}
	if w := def.Workers[worker]; w == nil || w.Charter.Agent == nil {
		return nil, fmt.Errorf("run %s: %s: %w", run, worker, ErrNoAgent)
	}
	var out []Trial
	err = c.each(ctx, store.Query{Part: record.RunKey(run).Part, Prefix: record.StepsPrefix(""), Limit: 500}, func(item *store.Item) error {
		s, err := record.DecodeStep(item)
		if err != nil || s.Worker != worker || workedOn(s) == "" {
			return err
		}
		t, err := c.trial(ctx, r, s)
		if err == nil {
			out = append(out, t)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the work of %s in %s: %w", worker, run, err)
	}
	return out, nil
}

// workedOn is the beginning of the hash of the input of a step's last attempt; empty: it had none.
func workedOn(s *record.Step) string {
	for _, e := range slices.Backward(s.Log) {
		if e.Kind == "admitted" {
			return e.Input
		}
	}
	return ""
}

func (c *Coordinator) trial(ctx context.Context, r *record.Run, s *record.Step) (Trial, error) {
	t := Trial{Path: s.Name, at: s.Address, Recorded: TrialResult{
		Outcome: s.Outcome, Reason: s.Reason, Attempts: s.Attempts, Tokens: s.Tokens, Cost: float64(s.Cost) / micro,
	}}
	if s.Cause != "" {
		t.Recorded.Reason = s.Cause
	}
	var err error
	if t.Recorded.Output, err = c.raw(ctx, s.Output); err != nil {
		return t, err
	}
	q, p, err := c.tried(ctx, r, s)
	switch f, isFault := faultOf(err); {
	case isFault:
		t.Lost = f.cause
		return t, nil
	case err != nil:
		return t, err
	case !strings.HasPrefix(p.hash, workedOn(s)):
		t.Lost = "its input is not what it was: something that it reads has changed since"
		return t, nil
	}
	step := q.step()
	step.LimitMs, step.LeaseMs = 0, 0
	step.Reserved = q.estimate(len(p.raw)).own
	task, err := q.task(ctx, step, p)
	if err != nil {
		return Trial{}, err
	}
	task.Action, task.Deadline, task.Lease = "", time.Time{}, time.Time{}
	t.Task = *task
	if err := q.fetch(ctx, s.Calls...); err != nil {
		return Trial{}, err
	}
	for _, at := range s.Calls {
		made := q.steps[at]
		if made == nil {
			continue
		}
		_, name, _ := callPath(made.Path)
		call := TrialCall{Worker: name, Says: made.Reason}
		if call.Input, err = c.raw(ctx, made.Override); err != nil {
			return Trial{}, err
		}
		if made.Outcome == outerloop.OutcomeCompleted {
			if call.Output, err = c.raw(ctx, made.Output); err != nil {
				return Trial{}, err
			}
		}
		t.Calls = append(t.Calls, call)
	}
	return t, nil
}

// tried is a gate call on recorded work that writes nothing, with its input
// resolved anew from what is recorded.
func (c *Coordinator) tried(ctx context.Context, r *record.Run, s *record.Step) (*call, *prepared, error) {
	cfg := c.cfg
	cfg.Blobs = &dryBlobs{Blobs: c.cfg.Blobs, kept: map[string][]byte{}}
	dry, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	g := workerGate{c: dry, worker: s.Worker}
	q, err := g.open(ctx, gate.Call{Delivery: gate.Delivery{Run: r.ID, Gen: r.Gen, Step: s.Path, Item: s.Item}, Nonce: "trial/1"})
	if err != nil {
		return nil, nil, err
	}
	step := s.Clone()
	step.Approval = ""
	q.steps[s.Address] = step
	p := &prepared{}
	var f *fault
	if err := q.readFacts(ctx, p); err != nil && !errors.As(err, &f) { // a fact that has gone since is missing for its rules only
		return nil, nil, err
	}
	if err := q.resolve(ctx, p, nil); err != nil || strings.HasPrefix(p.hash, workedOn(s)) {
		return q, p, err
	}
	step.Tries.Failed = nil // its only attempt failed, so that another one would get another input
	return q, p, q.resolve(ctx, p, nil)
}

// Appraisal is what the gate would say of a result.
type Appraisal struct {
	// Accepted: schema, evidence, acceptance rules and limits hold, whether or
	// not a person would have to look.
	Accepted bool `json:"accepted"`
	// Class and Cause are why it is not.
	Class outerloop.Class `json:"class,omitempty"`
	Cause string          `json:"cause,omitempty"`
	// Asks are why a person would have to look.
	Asks []string `json:"asks,omitempty"`
	// Output is the result's, as it would be kept.
	Output json.RawMessage `json:"output"`
}

// Appraise says what the gate would say of another result of a trial: its
// schema, evidence, acceptance rules, limits and confidence. A review is not
// held. Nothing is written.
func (c *Coordinator) Appraise(ctx context.Context, t Trial, result gate.Result) (Appraisal, error) {
	r, err := c.runOf(ctx, t.Task.Run)
	if err != nil {
		return Appraisal{}, err
	}
	s, err := one(ctx, c, record.StepKey(r.ID, t.at), record.DecodeStep)
	if err != nil || s == nil {
		return Appraisal{}, fmt.Errorf("reading %s: %w", t.Path, errors.Join(err, ErrNotAllowed))
	}
	q, _, err := c.tried(ctx, r, s)
	if err != nil {
		return Appraisal{}, err
	}
	step := q.step()
	_, err = q.assess(ctx, step, gate.SettleRequest{Result: &result})
	var need *approvalNeeded
	f, isFault := faultOf(err)
	out := Appraisal{Accepted: err == nil, Asks: step.Reasons, Output: result.Output}
	switch {
	case errors.As(err, &need):
		out.Accepted, out.Asks = true, need.reasons
	case isFault && f.ask: // a limit that goes to a person
		out.Class, out.Cause = f.class, "a person would decide: "+f.cause
	case isFault:
		out.Class, out.Cause = f.class, f.cause
	case err != nil:
		return Appraisal{}, err
	}
	return out, nil
}

// dryBlobs keeps what is put in memory.
type dryBlobs struct {
	store.Blobs
	kept map[string][]byte
}

// PutBlob keeps a content for as long as the trial takes.
func (b *dryBlobs) PutBlob(_ context.Context, content []byte) (string, error) {
	ref := record.HashOf(content)
	b.kept[ref] = content
	return ref, nil
}

// GetBlob reads what was put, else the store's.
func (b *dryBlobs) GetBlob(ctx context.Context, ref string) ([]byte, error) {
	if content, ok := b.kept[ref]; ok {
		return content, nil
	}
	return b.Blobs.GetBlob(ctx, ref)
}
