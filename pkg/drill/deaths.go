package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// dying holds the first call of a step's worker until its process is gone: of an
// action after its effect exists, before anybody knows.
type dying struct {
	at
	once sync.Once
	// hit is closed when the call is held, gone when its process is dead.
	hit, gone chan struct{}
}

var errGone = errors.New("the process is gone")

func (m *dying) hold() (held bool) {
	m.once.Do(func() {
		held = true
		close(m.hit)
		<-m.gone
	})
	return held
}

func (m *dying) before(_ context.Context, t call) (worker.Result[json.RawMessage], error, bool) {
	none := worker.Result[json.RawMessage]{}
	if !m.hits(t) || t.Action != "" || !m.hold() {
		return none, nil, false
	}
	return none, errGone, true
}

func (m *dying) after(_ context.Context, t call) error {
	if m.hits(t) && m.hold() {
		return errGone
	}
	return nil
}

// crash lets the process die while a worker is at it, and opens the store anew.
func crash(ctx context.Context, d *driller, p place) (outcome, error) {
	e := afterCrash(p)
	m := &dying{at: of(p, nil), hit: make(chan struct{}), gone: make(chan struct{})}
	return d.in(ctx, m, func(w *world) (outcome, error) {
		out := outcome{expected: e.text}
		if err := w.start(ctx); err != nil {
			return out, err
		}
		if err := w.dies(ctx, m); err != nil {
			return out, err
		}
		if err := w.open(ctx); err != nil {
			return out, err
		}
		if err := w.settle(ctx); err != nil {
			return out, err
		}
		return w.verdict(ctx, p, e)
	})
}

// afterCrash is what the rules say of a step whose worker died (R37, R41).
func afterCrash(p place) expectation {
	e := expectation{outcome: outerloop.OutcomeCompleted, most: 3, text: "found by the next process and done again"}
	if p.node.Action == nil {
		return e
	}
	switch p.node.Action.Declared.Unknown {
	case charter.UnknownVerify:
		e.text = "the provider is asked, the effect is found, nothing is done twice"
	case charter.UnknownRetry:
		e.text = "called again with the same provider key, so that the provider does it once"
	default:
		e.outcome, e.ask, e.text = "", true, "a person is asked what became of it, nothing is done twice"
	}
	return e
}

// dies drives until the call is held, and ends the engine as a kill would.
func (w *world) dies(ctx context.Context, m *dying) error {
	driving, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- w.settle(driving) }()
	select {
	case <-m.hit:
	case err := <-done:
		return errors.Join(fmt.Errorf("%s was not called: %w", m.path, ErrUnreached), err)
	}
	stop()
	<-done //nolint:errcheck // it was told to stop
	err := w.close()
	close(m.gone)
	return err
}

// duplicate starts the run twice more, while it goes and after its end.
func duplicate(ctx context.Context, d *driller, _ place) (outcome, error) {
	return d.in(ctx, nil, func(w *world) (outcome, error) {
		out := outcome{expected: "one run; every other start is told which"}
		if err := w.start(ctx); err != nil {
			return out, err
		}
		first := w.run
		for range 2 {
			if err := w.start(ctx); err != nil {
				return out, err
			}
			if w.run != first {
				out.happened = fmt.Sprintf("runs %s and %s", first, w.run)
				return out, nil
			}
			if err := w.settle(ctx); err != nil {
				return out, err
			}
		}
		got, err := w.runs(ctx)
		out.happened, out.held = fmt.Sprintf("%s, started three times", plural(got, "run")), got == 1
		if err != nil {
			return out, err
		}
		return out, w.sound(ctx, &out)
	})
}
