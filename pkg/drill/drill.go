package drill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// Config says which loop is drilled. Loop is required.
type Config struct {
	// Loop is the loop with its bundle and committed machine. Its Definition has
	// its hash.
	Loop local.Loop
	// Others are the loops that it starts as steps, and those that they start;
	// loops that it does not start may be among them.
	Others []local.Loop
	// Step is the static path of the step that is broken; empty: the first that
	// the drill reaches, and for faults of actions the first that acts.
	Step string
	// Now is the drill's time at its start; zero: 2026-01-05 09:00 UTC, a Monday.
	Now time.Time
	// Tell is told of each row as soon as it stands; nil: nobody.
	Tell func(Row)
}

// Row is one fault with what came of it.
type Row struct {
	// ID is stable: missing_data, contradiction, tool_unavailable, timeout,
	// invalid_output, crash, duplicate_trigger, expensive, lost_message,
	// doubled_message, dead_queue, two_workers_down.
	ID string `json:"id"`
	// Fault is it in words, Step where it was; empty: the loop as a whole.
	Fault    string `json:"fault"`
	Step     string `json:"step,omitempty"`
	Expected string `json:"expected"`
	Happened string `json:"happened"`
	// Held: what was expected is what happened.
	Held bool `json:"held"`
	// Skipped: the loop has no place where this can happen; Happened says why.
	Skipped bool `json:"skipped,omitempty"`
}

// Report is the outcome of a drill.
type Report struct {
	Loop    string `json:"loop"`
	Version int    `json:"version"`
	Rows    []Row  `json:"rows"`
	// Reached and Steps count the steps of workers, of the loop and those it starts.
	Reached int `json:"reached"`
	Steps   int `json:"steps"`
}

// Held tells whether everything held.
func (r Report) Held() bool {
	return !slices.ContainsFunc(r.Rows, func(row Row) bool { return !row.Held && !row.Skipped })
}

// ErrUnreached says that scripted values brought the loop nowhere, or not to the step that is to be broken.
var ErrUnreached = errors.New("the drill does not reach it")

// Run drills a loop: every fault in a world of its own, one after the other.
// The error is that the drill itself could not be held; what did not hold is in
// the report.
func Run(ctx context.Context, cfg Config) (Report, error) {
	if cfg.Loop.Definition == nil {
		return Report{}, errors.New("drill: Loop is required")
	}
	if cfg.Now.IsZero() {
		cfg.Now = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	}
	dir, err := os.MkdirTemp("", "outerloop-drill-*")
	if err != nil {
		return Report{}, fmt.Errorf("drilling: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is temporary
	d := &driller{cfg: cfg, dir: dir, report: Report{Loop: cfg.Loop.Definition.Loop.Name, Version: cfg.Loop.Definition.Loop.Version}}
	if err := d.rehearse(ctx); err != nil {
		return d.report, err
	}
	for _, f := range faults() {
		row, err := d.run(ctx, f)
		if err != nil {
			return d.report, fmt.Errorf("drilling %s: %w", f.id, err)
		}
		d.report.Rows = append(d.report.Rows, row)
		if cfg.Tell != nil {
			cfg.Tell(row)
		}
	}
	return d.report, nil
}

// driller holds what all faults of a drill share.
type driller struct {
	cfg    Config
	dir    string
	report Report
	worlds int
	all    []local.Loop
	// script is what the workers answer; reached are the steps that it gets done,
	// in the order of the loop.
	script  script
	reached []place
	answers answers
	// done are the steps, items by their keys, that are done when nothing is
	// broken; nil while that is being found out.
	done map[string]bool
}

// place is a step of a loop.
type place struct {
	loop *loop.Definition
	node *loop.Node
}

func (p place) String() string { return p.node.Path }

// loops are the loop and those it starts, each once.
func (d *driller) loops() []local.Loop {
	if d.all != nil {
		return d.all
	}
	wanted := map[string]bool{}
	var visit func(def *loop.Definition)
	visit = func(def *loop.Definition) {
		for _, n := range def.Nodes {
			if n.Sub != nil && !wanted[n.Sub.Loop.Name] {
				wanted[n.Sub.Loop.Name] = true
				visit(n.Sub)
			}
		}
	}
	visit(d.cfg.Loop.Definition)
	d.all = []local.Loop{d.cfg.Loop}
	for _, other := range d.cfg.Others {
		if wanted[other.Definition.Loop.Name] {
			d.all = append(d.all, other)
		}
	}
	return d.all
}

// pick is the place that a fault is put into: the first reached that fits, of
// the loop itself if there is one.
func (d *driller) pick(fits func(*loop.Node) bool) (place, bool) {
	for _, p := range d.reached { // the loop's own stand first
		if d.cfg.Step != "" && p.node.Path != d.cfg.Step {
			continue
		}
		if fits == nil || fits(p.node) {
			return p, true
		}
	}
	return place{}, false
}
