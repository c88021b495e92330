package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// maxReruns bounds the numbers that a subject's further runs get.
const maxReruns = 1000

// Start creates the run of a subject and starts its execution. A subject that
// has a run with the same input is a duplicate: the answer names that run, and
// its execution is started if it was not (R38). Errors: ErrNoLoop, *InputError,
// *OtherInputError, *OverlapError, *BudgetError.
func (c *Coordinator) Start(ctx context.Context, req StartRequest) (Started, error) {
	out, err := deciding(ctx, c, "starting "+req.Loop, func(ctx context.Context) (Started, error) {
		run, err := c.newRun(ctx, req)
		if err != nil {
			return Started{}, err
		}
		return c.create(ctx, run, req)
	})
	if err != nil {
		return Started{}, err
	}
	if !out.Status.Closed() {
		if err := c.startExecution(ctx, out.Run); err != nil {
			return out, err
		}
	}
	return out, nil
}

// starting is a run that may be created, with what its first record holds.
type starting struct {
	def   *loop.Definition
	run   *record.Run
	input any
}

func (c *Coordinator) newRun(ctx context.Context, req StartRequest) (*starting, error) {
	hash, err := c.cfg.Definitions.Latest(ctx, req.Loop)
	if err != nil {
		return nil, err
	}
	def, err := c.cfg.Definitions.Definition(ctx, hash)
	if err != nil {
		return nil, err
	}
	now := c.now()
	run := &record.Run{
		Loop: def.Loop.Name, Version: def.Loop.Version, Definition: hash, Status: outerloop.StatusNew,
		AsOf: req.AsOf.UTC(), Started: now, Trigger: req.Trigger, Gen: 1,
	}
	if req.AsOf.IsZero() {
		run.AsOf = now
	}
	s := &starting{def: def, run: run}
	if err := c.takeInput(ctx, s, req.Input); err != nil {
		return nil, err
	}
	if err := s.subject(ctx); err != nil {
		return nil, err
	}
	if run.Deadline, err = s.deadline(ctx, now); err != nil {
		return nil, err
	}
	if run.Subs, err = c.pinSubs(ctx, def, nil); err != nil {
		return nil, err
	}
	run.Numbers = budgetNumbers(def.Loop.Budget)
	run.Note(record.Entry{At: now, Kind: "started", Rule: req.Trigger, By: req.By, Input: run.InputHash})
	return s, nil
}

// pinSubs notes which definitions of its sub-loops a run keeps from its start.
func (c *Coordinator) pinSubs(ctx context.Context, def *loop.Definition, pinned map[string]string) (map[string]string, error) {
	for _, n := range def.Nodes {
		if n.Sub == nil || pinned[n.Step.Loop] != "" {
			continue
		}
		sub, hash, err := c.latest(ctx, n.Step.Loop)
		if err != nil {
			return nil, err
		}
		if pinned == nil {
			pinned = map[string]string{}
		}
		pinned[n.Step.Loop] = hash
		if pinned, err = c.pinSubs(ctx, sub, pinned); err != nil {
			return nil, err
		}
	}
	return pinned, nil
}

// takeInput checks the input against the loop's schema and keeps it.
func (c *Coordinator) takeInput(ctx context.Context, s *starting, raw json.RawMessage) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	value, faults := s.def.Input.Check(raw)
	if len(faults) > 0 {
		return &InputError{What: "input of " + s.def.Loop.Name, Faults: faultTexts(faults)}
	}
	kept, err := c.keep(ctx, value)
	if err != nil {
		return err
	}
	s.input, s.run.Input, s.run.InputHash = value, kept, kept.Hash
	return nil
}

func (s *starting) vars(uses loop.Uses) rule.Vars {
	vars := rule.Vars{}
	if uses.Input || uses.Work {
		vars["input"] = s.input
	}
	if uses.Run {
		vars["run"] = map[string]any{
			"id": s.run.ID, "subject": s.run.Subject, "as_of": s.run.AsOf, "started_at": s.run.Started,
			"deadline": s.run.Deadline, "spent": float64(0),
		}
	}
	return vars
}

func (s *starting) subject(ctx context.Context) error {
	text, err := s.def.Subject.Eval(ctx, s.vars(s.def.Subject.Uses))
	if err != nil {
		return &InputError{What: "subject of " + s.def.Loop.Name, Faults: []string{err.Error()}}
	}
	if text == "" {
		return &InputError{What: "subject of " + s.def.Loop.Name, Faults: []string{"is empty"}}
	}
	if why := notKey("it", text); why != "" { // it stands in the keys of actions
		return &InputError{What: "subject of " + s.def.Loop.Name, Faults: []string{cut(why, causeLimit)}}
	}
	s.named(text)
	return nil
}

func (s *starting) named(subject string) {
	s.run.Subject, s.run.ID = subject, outerloop.RunID(s.def.Loop.Name, subject)
}

// deadline is a duration from the start, the next weekday and time in the
// loop's zone, or a time from the input.
func (s *starting) deadline(ctx context.Context, now time.Time) (time.Time, error) {
	moment := s.def.Loop.Budget.Deadline.Moment
	switch {
	case moment != nil:
		return moment.At(now, s.def.Zone).UTC().Truncate(time.Millisecond), nil
	case s.def.Deadline == nil:
		return time.Time{}, fmt.Errorf("loop %s has no deadline: %w", s.def.Loop.Name, ErrNotPossible)
	}
	value, err := s.def.Deadline.Eval(ctx, s.vars(s.def.Deadline.Uses))
	if err != nil {
		return time.Time{}, &InputError{What: "deadline", Faults: []string{err.Error()}}
	}
	text, _ := value.(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, &InputError{What: "deadline", Faults: []string{fmt.Sprintf("%v is no time", value)}}
	}
	return at.UTC().Truncate(time.Millisecond), nil
}

func budgetNumbers(b loop.Budget) map[string]int64 {
	numbers := map[string]int64{record.RunLeft: b.Cost.Micro, record.RunSpent: 0, record.RunAwaiting: 0, record.RunQuestions: 0}
	if b.Approvals != nil {
		numbers[record.RunApprovalsLeft] = int64(*b.Approvals)
	}
	if b.Reviews != nil {
		numbers[record.RunReviewsLeft] = int64(*b.Reviews)
	}
	return numbers
}

// create writes the run where its subject has none yet. Its id is made of loop
// and subject, so that creating it is the deduplication of triggers.
func (c *Coordinator) create(ctx context.Context, s *starting, req StartRequest) (Started, error) {
	subject := s.run.Subject
	for n := 1; n <= maxReruns; n++ {
		if n > 1 {
			s.named(subject + "#" + strconv.Itoa(n))
		}
		items, err := c.cfg.Store.Get(ctx, record.RunKey(s.run.ID), record.LoopKey(s.run.Loop))
		if err != nil {
			return Started{}, fmt.Errorf("reading run: %w", err)
		}
		have, err := record.DecodeRun(items[0])
		if err != nil {
			return Started{}, err
		}
		if have == nil {
			return c.createNew(ctx, s, items[1], req)
		}
		if !req.Rerun {
			return duplicateOf(have, s.run)
		}
	}
	return Started{}, fmt.Errorf("%q has %d runs: %w", subject, maxReruns, ErrNotPossible)
}

func duplicateOf(have, want *record.Run) (Started, error) {
	if have.InputHash != want.InputHash {
		return Started{}, &OtherInputError{Run: have.ID, Subject: have.Subject, HaveHash: have.InputHash, WantHash: want.InputHash}
	}
	return Started{Run: have.ID, Subject: have.Subject, Duplicate: true, Status: statusOf(have)}, nil
}

// startable asks whether the definitions that a new run pins can be run.
func (c *Coordinator) startable(ctx context.Context, run *record.Run) error {
	if c.cfg.Startable == nil {
		return nil
	}
	if err := c.cfg.Startable(ctx, run.Definition); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(run.Subs)) {
		if err := c.cfg.Startable(ctx, run.Subs[name]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Coordinator) createNew(ctx context.Context, s *starting, slotItem *store.Item, req StartRequest) (Started, error) {
	if err := c.startable(ctx, s.run); err != nil {
		return Started{}, err
	}
	if req.Check != nil {
		raw, err := c.raw(ctx, s.run.Input)
		if err != nil {
			return Started{}, err
		}
		if err := req.Check(raw); err != nil {
			return Started{}, err
		}
	}
	slot, err := record.DecodeLoop(slotItem)
	if err != nil {
		return Started{}, err
	}
	draws, err := c.drawAtStart(ctx, s) // it, too, may put the run into the line
	if err != nil {
		return Started{}, err
	}
	slotOp, err := c.takeSlot(ctx, s, slot) // it may put the run into the line
	if err != nil {
		return Started{}, err
	}
	if s.run.Queued { // it draws when its turn comes
		draws, s.run.Drawn = nil, nil
	}
	ops := append([]store.Op{c.records.PutRun(s.run)}, draws...)
	if slotOp != nil {
		ops = append(ops, *slotOp)
	}
	if err := c.write(ctx, ops...); err != nil {
		return Started{}, err
	}
	c.pins.put(s.run.ID, s.run.Definition)
	return Started{Run: s.run.ID, Subject: s.run.Subject, Status: outerloop.StatusNew}, nil
}
