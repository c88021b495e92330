package drill

import (
	"context"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// fault is one way to break a loop.
type fault struct {
	id, says string
	// fits tells which steps it can be put into; nil: any. none says why it cannot where none fits.
	fits func(*loop.Node) bool
	none string
	do   func(ctx context.Context, d *driller, p place) (outcome, error)
}

// outcome is what a fault came to.
type outcome struct {
	expected, happened string
	held               bool
}

// faults are those of R40, in the order of the report.
func faults() []fault {
	queued := func(n *loop.Node) bool {
		return n.Mode == charter.ModeQueue && n.Action == nil || n.Mode == charter.ModeQueue
	}
	noQueue := "no step that the drill reaches is fed by a queue"
	return []fault{
		{id: "missing_data", says: "a worker misses what it needs", do: broken(outerloop.ClassMissingInput, missing)},
		{id: "contradiction", says: "a worker is told to do two things that exclude each other", do: broken(outerloop.ClassRefused, refused)},
		{id: "tool_unavailable", says: "a worker's tool cannot be used", do: broken(outerloop.ClassToolFailed, noTool)},
		{id: "timeout", says: "a worker takes too long", do: broken(outerloop.ClassTimeout, tooLong)},
		{id: "invalid_output", says: "a worker answers what its schema forbids", fits: canBeWrong, none: "every output schema takes anything", do: nonsense},
		{id: "crash", says: "the process dies while a worker is at it", do: crash},
		{id: "duplicate_trigger", says: "the trigger comes twice", do: duplicate},
		{id: "expensive", says: "one call costs ten times the budget", do: expensive},
		{id: "lost_message", says: "a message is lost on its way to a worker", fits: queued, none: noQueue, do: lostMessage},
		{id: "doubled_message", says: "a message comes twice", do: doubled},
		{id: "dead_queue", says: "nobody reads a worker's queue", fits: queued, none: noQueue, do: deadQueue},
		{id: "two_workers_down", says: "two workers are down at once", do: twoDown},
	}
}

// run puts one fault into the place that fits.
func (d *driller) run(ctx context.Context, f fault) (Row, error) {
	row := Row{ID: f.id, Fault: f.says}
	p, found := d.pick(f.fits)
	if acting, ok := d.pick(func(n *loop.Node) bool { return n.Action != nil && (f.fits == nil || f.fits(n)) }); ok && f.id == "crash" {
		p, found = acting, true // an effect is what can happen twice
	}
	if !found {
		row.Skipped, row.Happened, row.Expected = true, f.none, "does not apply"
		return row, nil
	}
	row.Step = p.node.Path
	out, err := f.do(ctx, d, p)
	var no *skip
	if errors.As(err, &no) {
		row.Skipped, row.Happened, row.Expected = true, no.why, "does not apply"
		return row, nil
	}
	if errors.Is(err, errRestless) {
		out, err = outcome{out.expected, err.Error(), false}, nil
	}
	row.Expected, row.Happened, row.Held = out.expected, out.happened, out.held
	return row, err
}

// skip says that a fault does not apply.
type skip struct{ why string }

// Error is why.
func (s *skip) Error() string { return s.why }

// in does something in a world of its own, which it leaves closed.
func (d *driller) in(ctx context.Context, m meddling, do func(w *world) (outcome, error)) (out outcome, err error) {
	w, err := d.newWorld(ctx, d.script, m)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	return do(w)
}

// verdict joins what was expected of a step with what holds in every world: no
// effect exists twice, one alert for each exception, and nothing waits for
// what nobody can see.
func (w *world) verdict(ctx context.Context, p place, e expectation) (outcome, error) {
	got, err := w.look(ctx, p)
	if err != nil {
		return outcome{}, err
	}
	says, held := e.holds(got)
	out := outcome{expected: e.text, happened: says, held: held}
	return out, w.sound(ctx, &out)
}

// sound adds what must hold whatever was broken.
func (w *world) sound(ctx context.Context, out *outcome) error {
	add := func(format string, args ...any) {
		out.held = false
		out.happened += "; " + fmt.Sprintf(format, args...)
	}
	if n := w.ledger.twice(); n > 0 {
		add("%s exist twice", plural(n, "effect"))
	}
	view, err := w.engine.Coordinator().Show(ctx, w.run)
	if err != nil {
		return err
	}
	ok := listed(view)
	for _, l := range w.d.loops()[1:] { // what a sub-loop waits for, its parent waits for
		runs, err := w.engine.Coordinator().Runs(ctx, coordinator.RunsQuery{Loop: l.Definition.Loop.Name, Open: true, Limit: 100})
		if err != nil {
			return err
		}
		for _, run := range runs {
			ok = ok || len(run.Waiting) > 0 || run.Status == outerloop.StatusBlocked
		}
	}
	if !ok {
		add("the run is %s and waits for nothing that is listed", view.Status)
	}
	return nil
}
