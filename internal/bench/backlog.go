package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// w4 is the loop of the runs that wait: a step, a month, a step.
const w4 = "w4"

func loopW4() string {
	head := strings.Replace(fmt.Sprintf(loopHead, w4), "deadline: 1h", "deadline: 60d", 1)
	return head + "  " + step("first", document("input"), "  ") +
		"\n  pause:\n    wait: {for: 30d}\n    after: [first]\n  " + step("last", document("first"), "  ") + "  after: [pause]\n"
}

// backlog are the figures of an engine with many waiting runs in its store
// beside those of one without.
type backlog struct {
	Waiting int `json:"backlog_runs"`
	// P50 and Startup, to the first completed run, are in milliseconds.
	P50          float64 `json:"backlog_w1_p50_ms"`
	Startup      float64 `json:"backlog_startup_ms"`
	EmptyP50     float64 `json:"backlog_empty_w1_p50_ms"`
	EmptyStartup float64 `json:"backlog_empty_startup_ms"`
}

// withBacklog measures lone W1 runs and the start-up with many waiting runs in
// the state file, and without.
func withBacklog(ctx context.Context, dir string, o options) (f backlog, err error) {
	empty, full := filepath.Join(dir, "empty"), filepath.Join(dir, "full")
	for _, d := range []string{empty, full} {
		if err := write(d, map[string]string{"statemachines/" + w4 + ".loop.yaml": loopW4()}); err != nil {
			return f, err
		}
	}
	if err := populate(ctx, full, o.backlog); err != nil {
		return f, err
	}
	f.Waiting = o.backlog
	without, took, err := started(ctx, empty)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, without.engine.Close()) }()
	f.EmptyStartup = took
	with, took, err := started(ctx, full)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, with.engine.Close()) }()
	f.Startup = took
	f.EmptyP50, f.P50, err = inTurn(ctx, without, with, o.lone)
	return f, err
}

// started opens an engine and does one run; answers how long that took.
func started(ctx context.Context, dir string) (*bench, float64, error) {
	began := time.Now()
	b, err := open(ctx, dir)
	if err != nil {
		return nil, 0, err
	}
	_, err = b.alone(ctx, w1, 1)
	return b, ms(time.Since(began)), err
}

// inTurn measures lone runs of two engines in turn, so that whatever else the
// machine does slows both.
func inTurn(ctx context.Context, a, b *bench, runs int) (p50a, p50b float64, err error) {
	var took [2][]time.Duration
	for range runs {
		for i, engine := range []*bench{a, b} {
			one, err := engine.alone(ctx, w1, 1)
			if err != nil {
				return 0, 0, err
			}
			took[i] = append(took[i], one...)
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	return percentile(took[0], 50), percentile(took[1], 50), nil
}

// populate lets one run come to its wait and puts as many like it into the file.
func populate(ctx context.Context, dir string, n int) (err error) {
	b, err := open(ctx, dir)
	if err != nil {
		return err
	}
	started, err := b.start(ctx, w4, 0)
	if err == nil {
		_, err = b.engine.RunUntilIdle(ctx)
	}
	if err == nil {
		view, showErr := b.engine.Coordinator().Show(ctx, started.Run)
		if err = showErr; err == nil && view.Status != outerloop.StatusInProgress {
			err = fmt.Errorf("the run that should wait is %s", view.Status)
		}
	}
	if err = errors.Join(err, b.engine.Close()); err != nil {
		return err
	}
	db, err := sqlitestore.Open(filepath.Join(dir, "state.db"), sqlitestore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return multiply(ctx, db, started.Run, n-1)
}

// multiply copies everything that names a run, n times under other names.
func multiply(ctx context.Context, db *sqlitestore.Store, run string, n int) error {
	items, err := db.Scan(ctx, store.Key{}, store.MaxPage)
	if err != nil {
		return err
	}
	var like []store.Item
	for _, item := range items {
		if strings.Contains(item.Part+item.Sort+string(item.Body), run) {
			like = append(like, item)
		}
	}
	for i := range n {
		sum := sha256.Sum256(fmt.Append(nil, i))
		other := strings.NewReplacer(run, w4+"-"+hex.EncodeToString(sum[:16]))
		ops := make([]store.Op, len(like))
		for j, item := range like {
			ops[j] = store.Create(renamed(item, other))
		}
		if err := db.Apply(ctx, "", ops...); err != nil {
			return err
		}
	}
	return db.Sync(ctx)
}

func renamed(item store.Item, names *strings.Replacer) store.Item {
	out := store.Item{
		Key:     store.Key{Part: names.Replace(item.Part), Sort: names.Replace(item.Sort)},
		Body:    []byte(names.Replace(string(item.Body))),
		Numbers: item.Numbers, Expires: item.Expires,
	}
	for from, to := range map[*store.IndexKey]**store.IndexKey{item.List: &out.List, item.Due: &out.Due} {
		if from != nil {
			*to = &store.IndexKey{Part: names.Replace(from.Part), Sort: names.Replace(from.Sort)}
		}
	}
	return out
}

func (f backlog) show() {
	fmt.Printf("with %d waiting runs: W1 p50 %.2f ms (without %.2f: %+.1f %%), start-up to the first completed run %.0f ms (without %.0f)\n",
		f.Waiting, f.P50, f.EmptyP50, 100*(f.P50-f.EmptyP50)/f.EmptyP50, f.Startup, f.EmptyStartup)
}

// part measures something in a process of its own, so that its memory is its
// own, and reads its figures.
func part(ctx context.Context, dir string, into any, args ...string) error {
	path := filepath.Join(dir, "part.json")
	if err := self(ctx, append(args, "-o", path)...); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
