package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// bench is an engine over the bench project, and the runs that it counted.
type bench struct {
	engine *local.Engine
	number int

	mu    sync.Mutex
	ended map[string]chan struct{}
	runs  map[string]string // run to its loop
}

type paper struct {
	ID    string   `json:"id"`
	Count int      `json:"count"`
	Tags  []string `json:"tags"`
	Text  string   `json:"text"`
}

func noop(_ context.Context, t worker.Task[paper]) (worker.Result[paper], error) {
	return worker.Result[paper]{
		Output: t.Input, Confidence: worker.High, Reason: "nothing was done",
		Decisions: []string{"took the document as it is", "changed nothing"},
	}, nil
}

func open(ctx context.Context, dir string) (*bench, error) {
	if err := write(dir, files()); err != nil {
		return nil, err
	}
	read, problems := project.Open(dir)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	b := &bench{ended: make(map[string]chan struct{}), runs: make(map[string]string)}
	cfg := local.Config{
		State: filepath.Join(dir, "state.db"), Progress: b.progress,
		Workers: []local.Worker{{Code: worker.New("noop", 1, noop)}, {Code: worker.New("lister", 1, lister)}},
	}
	for _, name := range read.Names() {
		loop, err := compiled(read, name)
		if err != nil {
			return nil, err
		}
		cfg.Loops = append(cfg.Loops, loop)
	}
	var err error
	b.engine, err = local.Open(ctx, cfg)
	return b, err
}

func compiled(p *project.Project, name string) (local.Loop, error) {
	def, _ := p.Loop(name)
	bundle, err := p.Bundle(name)
	if err != nil {
		return local.Loop{}, err
	}
	def.Hash = project.Hash(bundle)
	machine, err := compile.Compile(def)
	return local.Loop{Definition: def, Bundle: bundle, Machine: machine}, err
}

// progress wakes who waits for a run.
func (b *bench) progress(p local.Progress) {
	if !strings.HasPrefix(p.Event, "Execution") || p.Event == "ExecutionStarted" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	ended := b.waiter(p.Run)
	select {
	case <-ended: // one of the executions of a list
	default:
		close(ended)
	}
}

// waiter is closed when the run's execution has ended. The lock is held.
func (b *bench) waiter(run string) chan struct{} {
	if b.ended[run] == nil {
		b.ended[run] = make(chan struct{})
	}
	return b.ended[run]
}

// start starts one run.
func (b *bench) start(ctx context.Context, loop string, number int) (coordinator.Started, error) {
	input, err := json.Marshal(paper{
		ID: fmt.Sprintf("%s-%06d", loop, number), Count: number, Tags: []string{"bench", "one"},
		Text: strings.Repeat("All work and no play. ", 42),
	})
	if err != nil {
		return coordinator.Started{}, err
	}
	return b.engine.Coordinator().Start(ctx, coordinator.StartRequest{Loop: loop, Input: input, Trigger: "manual"})
}

// one does one run: it is over when its end is durable.
func (b *bench) one(ctx context.Context, loop string, number int) error {
	started, err := b.start(ctx, loop, number)
	if err != nil {
		return err
	}
	b.mu.Lock()
	ended := b.waiter(started.Run)
	b.runs[started.Run] = loop
	b.mu.Unlock()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		return fmt.Errorf("run %s does not end", started.Run)
	}
	return b.engine.Sync(ctx)
}

// alone does runs one after the other and answers how long each took, sorted.
func (b *bench) alone(ctx context.Context, loop string, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		b.number++
		began := time.Now()
		if err := b.one(ctx, loop, b.number); err != nil {
			return nil, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took, nil
}

// together does runs with some of them in flight at all times.
func (b *bench) together(ctx context.Context, loop string, n, inFlight int) error {
	numbers := make(chan int)
	errs := make(chan error, inFlight)
	for range inFlight {
		go func() {
			var failed error
			for number := range numbers {
				if failed == nil {
					failed = b.one(ctx, loop, number)
				}
			}
			errs <- failed
		}()
	}
	for range n {
		b.number++
		numbers <- b.number
	}
	close(numbers)
	var first error
	for range inFlight {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// verify reads every counted run back: its steps are settled, with their
// decisions, and its history is whole.
func (b *bench) verify(ctx context.Context) error {
	want := map[string]int{w1: 4, w2: 22}
	reader := durable.Reader{Store: b.engine.Store()}
	for run, loop := range b.runs {
		view, err := b.engine.Coordinator().Show(ctx, run)
		if err != nil {
			return err
		}
		settled := 0
		for _, s := range view.Steps {
			if s.Worker != "" && s.Status == outerloop.StepSettled && s.Outcome == outerloop.OutcomeCompleted {
				settled++
			}
		}
		if view.Status != outerloop.StatusCompleted || settled != want[loop] {
			return fmt.Errorf("run %s is %s with %d settled steps, not %d", run, view.Status, settled, want[loop])
		}
		if err := b.decisions(ctx, run, want[loop]); err != nil {
			return err
		}
		history, err := reader.History(ctx, run+"-g1")
		if err != nil {
			return err
		}
		if last := history[len(history)-1]; last.Type != "ExecutionSucceeded" || int(last.ID) != len(history) || entered(history) != wantStates[loop] {
			return fmt.Errorf("the history of %s is not whole: %d events, %d states entered", run, len(history), entered(history))
		}
	}
	return nil
}

// wantStates is how many states a run enters: its steps, finish, and the Parallel.
var wantStates = map[string]int{w1: 5, w2: 24}

func entered(history []asl.HistoryEvent) (n int) {
	for _, e := range history {
		if strings.HasSuffix(string(e.Type), "StateEntered") {
			n++
		}
	}
	return n
}

func (b *bench) decisions(ctx context.Context, run string, steps int) error {
	log, err := b.engine.Coordinator().Log(ctx, run)
	if err != nil {
		return err
	}
	admitted, settled := 0, 0
	for _, entry := range log {
		switch entry.Kind {
		case "admitted":
			admitted++
		case "settled":
			settled++
		}
	}
	if admitted < steps || settled < steps {
		return fmt.Errorf("the log of %s has %d admitted and %d settled decisions, not %d", run, admitted, settled, steps)
	}
	return nil
}

func ms(d time.Duration) float64 { return round(float64(d) / float64(time.Millisecond)) }

func round(v float64) float64 { return math.Round(v*100) / 100 }

// percentile is of sorted times, in milliseconds; 0 of none.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return ms(sorted[min(len(sorted)-1, len(sorted)*p/100)])
}
