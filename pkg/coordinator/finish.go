package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// finish completes the run when every due step reads as settled, its output can
// be computed and its conditions hold (R48); else the run is blocked.
func (c *Coordinator) finish(ctx context.Context, op operation) (gate.Verdict, error) {
	verdict, err := deciding(ctx, c, "finishing "+op.Run, func(ctx context.Context) (gate.Verdict, error) {
		def, err := c.definitionOf(ctx, op.Run)
		if err != nil {
			return gate.Verdict{}, err
		}
		v, err := c.look(ctx, op.Run, def)
		if err != nil {
			return gate.Verdict{}, err
		}
		d := &delivered{view: v, Delivery: op.delivery()}
		return d.finish(ctx)
	})
	if err != nil || verdict.Error != "" {
		return verdict, err
	}
	run, err := c.runOf(ctx, op.Run)
	if err == nil {
		err = errors.Join(c.releaseSlot(ctx, run), c.tellParent(ctx, run.ID), c.tellCost(ctx, run))
	}
	if err != nil {
		c.cfg.Log.Warn("what follows a run's end is left to the watch", "run", op.Run, "err", err)
	}
	return verdict, nil
}

func (d *delivered) finish(ctx context.Context) (gate.Verdict, error) {
	completed := outerloop.OutcomeCompleted
	if d.run.Status == outerloop.StatusCompleted && d.Gen == d.run.Gen {
		return gate.Verdict{Note: gate.Note{Outcome: &completed}}, nil
	}
	if !d.run.Open() || d.Gen != d.run.Gen {
		return d.stop(d.c.now()), nil
	}
	output, err := d.result(ctx)
	if verdict, early := notDueVerdict(err); early {
		return verdict, nil
	}
	var short *joinError
	var said *ruleError
	switch {
	case errors.As(err, &said):
		return d.finishBlocked(ctx, said)
	case errors.As(err, &short):
		out, err := d.blockedBy(ctx, err)
		if err != nil {
			return gate.Verdict{}, err
		}
		return *out.Verdict, nil
	case err != nil:
		return gate.Verdict{}, err
	}
	if d.run.Status == outerloop.StatusNew { // whoever started it died before it noted so
		started := *d.run
		started.Status = outerloop.StatusInProgress
		if err := d.c.write(ctx, started.Put()); err != nil {
			return gate.Verdict{}, err
		}
		started.Stored++
		d.run = &started
	}
	run := *d.run
	twice := doneTwice{}
	undone, err := d.counted(ctx, &run, &twice)
	if err != nil {
		return gate.Verdict{}, err
	}
	if undone != "" { // its block had enough, and the engine did not wait for it
		verdict, _ := notDueVerdict(fmt.Errorf("%s %w", undone, errNotSettled))
		return verdict, nil
	}
	run.Output = output
	d.c.closeRun(&run, outerloop.StatusCompleted, "")
	day, err := d.c.aggregate(ctx, &run)
	if err != nil {
		return gate.Verdict{}, err
	}
	ops := append(d.c.records.Closing(&run), day)
	if ops, err = d.followed(ctx, &run, ops); err != nil {
		return gate.Verdict{}, err
	}
	if err := d.c.write(ctx, ops...); err != nil {
		return gate.Verdict{}, err
	}
	twice.tell(ctx, d.c, &run)
	return gate.Verdict{Note: gate.Note{Outcome: &completed}}, nil
}

// followed adds the event of the run's completion, where another loop follows it (R11).
func (d *delivered) followed(ctx context.Context, run *record.Run, ops []store.Op) ([]store.Op, error) {
	if run.Parent != nil {
		return ops, nil // a sub-loop's end is its parent's
	}
	followers, err := d.c.subscribers(ctx, func(t *loop.TriggerRule) bool { return t.Kind == loop.TriggerAfter && t.Name == run.Loop })
	if err != nil || len(followers) == 0 {
		return ops, err
	}
	output, err := d.c.value(ctx, run.Output)
	if err != nil {
		return nil, err
	}
	data, err := canonical(map[string]any{"output": output, "subject": run.Subject})
	if err != nil {
		return nil, err
	}
	e := &record.Event{ID: fmt.Sprintf("%s.g%d", run.ID, run.Gen), Name: record.AfterRun(run.Loop), Data: data, Run: run.ID, At: run.Ended}
	return append(ops, e.Put()), nil
}

// result reads every top-level node as settled, computes the run's output and
// checks its conditions.
func (d *delivered) result(ctx context.Context) (record.Value, error) {
	var at []record.Address
	for _, n := range d.def.Body.Nodes {
		at = append(at, addressesOf(n, nil)...)
	}
	if err := d.fetch(ctx, at...); err != nil {
		return record.Value{}, err
	}
	for _, n := range d.def.Body.Nodes {
		out, err := d.outcomeOf(ctx, n, nil)
		if err != nil {
			return record.Value{}, err
		}
		if !out.settled {
			return record.Value{}, fmt.Errorf("%s %w", n.Path, errNotSettled)
		}
	}
	var value any
	if d.def.Output != nil {
		var err error
		if value, err = d.tree(ctx, d.def.Output, nil, nil); err != nil {
			return record.Value{}, err
		}
	}
	for _, rule := range d.def.Accept {
		holds, text, err := d.expect(ctx, true, rule.Rule, nil, &after{output: value})
		if err != nil {
			return record.Value{}, err
		}
		if !holds {
			say, err := d.text(ctx, rule.Say, nil, &after{output: value}, text)
			if err != nil {
				say = text
			}
			return record.Value{}, ruleFault("not accepted: %s (%s)", say, text)
		}
	}
	return d.c.keep(ctx, value)
}

// finishBlocked blocks a run whose output or conditions do not hold, with one exception.
func (d *delivered) finishBlocked(ctx context.Context, said *ruleError) (gate.Verdict, error) {
	ops, exc, err := d.block(ctx, incident{
		name: "the run's end", cause: said.Error(), class: "accept", blocks: true,
		tried: "every step is done", ways: []string{WayRetry, WayClose},
		needed: "retry looks again, after a redrive of what was wrong; close ends the run",
	})
	if err != nil {
		return gate.Verdict{}, err
	}
	if err := d.c.write(ctx, ops...); err != nil {
		return gate.Verdict{}, err
	}
	d.c.alert(ctx, exc, d.def)
	return gate.Verdict{Error: outerloop.ErrorHalt, Cause: cut(exc.Cause, causeLimit)}, nil
}

// aggregate is the write that folds a run's figures into its loop's day (R55).
func (c *Coordinator) aggregate(ctx context.Context, run *record.Run) (store.Op, error) {
	key := store.Key{Part: "DAY#" + run.Loop, Sort: fmt.Sprintf("%s#v%d", run.Ended.Format("2006-01-02"), run.Version)}
	figures := map[string]int64{
		"runs": 1, string(run.Status): 1, "spent": run.Numbers[record.RunSpent], "ms": run.Ended.Sub(run.Started).Milliseconds(),
	}
	for outcome, n := range run.Counts {
		figures["steps."+outcome] = int64(n)
	}
	items, err := c.cfg.Store.Get(ctx, key)
	if err != nil {
		return store.Op{}, fmt.Errorf("reading the day's figures: %w", err)
	}
	if items[0] == nil {
		return store.Create(store.Item{Key: key, Numbers: figures}), nil
	}
	return store.Add(key, figures), nil
}

// countSteps counts a run's steps by outcome, those under way by state.
// look is shown each of them; nil: nobody looks.
func (c *Coordinator) countSteps(ctx context.Context, id string, look func(*record.Step)) (map[string]int, error) {
	counts := map[string]int{}
	err := c.each(ctx, store.Query{Part: record.RunKey(id).Part, Prefix: record.StepsPrefix(""), Limit: 500}, func(item *store.Item) error {
		step, err := c.records.Step(item)
		if err == nil {
			counts[countName(step)]++
		}
		if err == nil && look != nil {
			look(step)
		}
		return err
	})
	return counts, err
}

// leftUndone tells whether a step of a worker still has work to come: tool calls
// end with their caller, and reviews with what they review.
func leftUndone(s *record.Step) bool {
	if s.State == outerloop.StepSettled || s.Block != nil || strings.HasSuffix(string(s.Address), reviewSuffix) {
		return false
	}
	_, _, call := callPath(string(s.Address))
	return !call
}

// countName is what a step counts as.
func countName(s *record.Step) string {
	if s.State == outerloop.StepSettled {
		return string(s.Outcome)
	}
	return string(s.State)
}
