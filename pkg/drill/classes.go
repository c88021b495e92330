package drill

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

func missing() error { return worker.MissingInput("the record has no amount (a drill)") }
func refused() error {
	return worker.Refused("it is told to pay and not to pay (a drill)")
}
func noTool() error { return worker.ToolFailed("the tool is not there (a drill)") }
func tooLong() error {
	return fmt.Errorf("no answer in time (a drill): %w", context.DeadlineExceeded)
}

// at breaks the calls of one step's worker; its backup is left alone.
type at struct {
	path, worker string
	answer       func() (worker.Result[json.RawMessage], error)
}

func of(p place, answer func() (worker.Result[json.RawMessage], error)) at {
	return at{path: p.node.Path, worker: p.node.Worker.Charter.Worker, answer: answer}
}

func failing(err func() error) func() (worker.Result[json.RawMessage], error) {
	return func() (worker.Result[json.RawMessage], error) { return worker.Result[json.RawMessage]{}, err() }
}

func (a at) hits(t call) bool { return t.Step == a.path && t.worker == a.worker }

func (a at) before(_ context.Context, t call) (worker.Result[json.RawMessage], error, bool) {
	if !a.hits(t) {
		return worker.Result[json.RawMessage]{}, nil, false
	}
	out, err := a.answer()
	return out, err, true
}

func (a at) result(call, *worker.Result[json.RawMessage]) {}

func (a at) after(context.Context, call) error { return nil }

// broken is a worker that fails with a class whenever it is called.
func broken(class outerloop.Class, err func() error) func(context.Context, *driller, place) (outcome, error) {
	return func(ctx context.Context, d *driller, p place) (outcome, error) {
		return d.breaks(ctx, p, of(p, failing(err)), expect(p.node, class, always))
	}
}

// breaks drives a world with a meddled worker to where it rests.
func (d *driller) breaks(ctx context.Context, p place, m meddling, e expectation) (outcome, error) {
	return d.in(ctx, m, func(w *world) (outcome, error) {
		if err := w.start(ctx); err != nil {
			return outcome{expected: e.text}, err
		}
		if err := w.settle(ctx); err != nil {
			return outcome{expected: e.text}, err
		}
		return w.verdict(ctx, p, e)
	})
}

// nonsenses are values that hardly any schema takes.
var nonsenses = []string{`"nonsense"`, `[["nonsense"]]`, `{"nonsense": true}`, `-1.5`}

func wrong(n *loop.Node) (json.RawMessage, bool) {
	if n.Worker == nil || n.Worker.Output == nil {
		return nil, false
	}
	for _, text := range nonsenses {
		if _, faults := n.Worker.Output.Check(json.RawMessage(text)); len(faults) > 0 {
			return json.RawMessage(text), true
		}
	}
	return nil, false
}

func canBeWrong(n *loop.Node) bool {
	_, ok := wrong(n)
	return ok && n.Action == nil
}

func nonsense(ctx context.Context, d *driller, p place) (outcome, error) {
	raw, _ := wrong(p.node)
	m := of(p, func() (worker.Result[json.RawMessage], error) {
		return worker.Result[json.RawMessage]{Output: raw, Confidence: worker.High, Reason: "a drill"}, nil
	})
	return d.breaks(ctx, p, m, expect(p.node, outerloop.ClassInvalidOutput, always))
}

// pair breaks two workers.
type pair struct{ one, two at }

func (m pair) before(ctx context.Context, t call) (worker.Result[json.RawMessage], error, bool) {
	if m.one.hits(t) {
		return m.one.before(ctx, t)
	}
	return m.two.before(ctx, t)
}

func (pair) result(call, *worker.Result[json.RawMessage]) {}

func (pair) after(context.Context, call) error { return nil }

// twoDown breaks two workers for good: each step ends by its own rule, or is not
// reached because the other's has ended the run or left it without input.
func twoDown(ctx context.Context, d *driller, p place) (outcome, error) {
	name := p.node.Worker.Charter.Worker
	var other *place
	for i, q := range d.reached {
		if q.node.Worker.Charter.Worker != name && !backs(q.node, name) && !backs(p.node, q.node.Worker.Charter.Worker) {
			other = &d.reached[i]
			break
		}
	}
	if other == nil {
		return outcome{}, &skip{"the drill reaches one worker only"}
	}
	down := failing(func() error { return worker.Transient("it is down (a drill)") })
	first, second := expect(p.node, outerloop.ClassTransient, always), expect(other.node, outerloop.ClassTransient, always)
	text := fmt.Sprintf("%s; %s: %s; or not reached because of the other", first.text, other.node.Path, second.text)
	return d.in(ctx, pair{of(p, down), of(*other, down)}, func(w *world) (outcome, error) {
		if err := w.start(ctx); err != nil {
			return outcome{expected: text}, err
		}
		if err := w.settle(ctx); err != nil {
			return outcome{expected: text}, err
		}
		got, err := w.look(ctx, p)
		if err != nil {
			return outcome{}, err
		}
		beside, err := w.look(ctx, *other)
		if err != nil {
			return outcome{}, err
		}
		says, held := first.beside(got)
		more, also := second.beside(beside)
		out := outcome{expected: text, happened: says + "; " + other.node.Path + ": " + more}
		out.held = held && also && (says != notReached || more != notReached)
		return out, w.sound(ctx, &out)
	})
}

// notReached is what is said of a step that another's failure kept from its end.
const notReached = "not reached"

// beside is holds for a step that another's failure may have kept from running,
// or whose run that has blocked.
func (e expectation) beside(got seen) (string, bool) {
	if says, held := e.holds(got); held {
		return says, true
	}
	ran := seen{status: got.status, blocked: got.blocked, halted: got.halted, exceptions: got.exceptions}
	for _, s := range got.steps {
		if s.Attempts > 0 {
			ran.steps = append(ran.steps, s)
		}
	}
	if len(ran.steps) == 0 || got.blocked && len(got.exceptions) == 0 {
		return notReached, true
	}
	return e.holds(ran)
}

func backs(n *loop.Node, name string) bool {
	return n.Backup != nil && n.Backup.Charter.Worker == name
}
