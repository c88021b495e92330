// Command bench measures the embedded engine: runs through the whole gate, with
// schemas, a rule, decisions and journal, every effect after its sync. It
// prints a table, writes the figures as JSON, and fails when a run that it
// counted is not whole in the store.
//
//	W1  4 steps one after the other, no work, 1 KB of JSON in and out
//	W2  1 step, 20 at the same time, 1 step
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// figures are the results, under the names that stay.
type figures struct {
	W1P50   float64 `json:"w1_p50_ms"`
	W1P99   float64 `json:"w1_p99_ms"`
	W1Rate  float64 `json:"w1_runs_per_s"`
	W1Syncs float64 `json:"w1_syncs"`
	W2P50   float64 `json:"w2_p50_ms"`
	W2P99   float64 `json:"w2_p99_ms"`
	Startup float64 `json:"startup_ms"`
	RSS     float64 `json:"rss_mb"`
	cpu     float64 // milliseconds of processor time a W1 run, with 64 in flight
	shared  float64 // syncs a W1 run, with 64 in flight
	*listed
	*backlog
}

type options struct {
	out     string
	lone    int
	many    int
	wide    int
	backlog int
	each    int
	all     bool
	once    bool
	profile string
	allocs  string
	dir     string
}

func main() {
	var o options
	flag.StringVar(&o.out, "o", "", "write the figures to this file as JSON")
	flag.IntVar(&o.lone, "lone", 500, "W1 runs one at a time")
	flag.IntVar(&o.many, "many", 4000, "W1 runs with 64 in flight")
	flag.IntVar(&o.wide, "wide", 150, "W2 runs one at a time")
	flag.IntVar(&o.backlog, "backlog", 0, "measure instead what so many waiting executions change, as in -backlog 100000")
	flag.IntVar(&o.each, "each", 0, "measure instead one run with a step for each of so many items, as in -each 10000")
	flag.BoolVar(&o.all, "all", false, "measure the workloads as well as -backlog and -each")
	flag.BoolVar(&o.once, "once", false, "do one W1 run and exit: what start-up is measured by")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the measured runs")
	flag.StringVar(&o.allocs, "memprofile", "", "write a profile of what was allocated")
	flag.StringVar(&o.dir, "dir", "", "where the state file is made; empty: a temporary directory")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp(o.dir, "outerloop-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.once {
		return once(ctx, dir)
	}
	if o.backlog > 0 && !o.all {
		f, err := withBacklog(ctx, dir, o)
		return report(o.out, f, f.show, err)
	}
	if o.each > 0 && !o.all {
		stop, err := profile(o.profile)
		if err != nil {
			return err
		}
		defer stop()
		f, err := each(ctx, dir, o.each)
		return report(o.out, f, f.show, err)
	}
	f, err := everything(ctx, dir, o)
	return report(o.out, f, f.show, err)
}

// report prints figures and writes them to a file, where one is named.
func report(path string, f any, show func(), err error) error {
	if err != nil {
		return err
	}
	show()
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// everything measures the workloads, and what is asked for beside them in
// processes of their own, which print their lines first.
func everything(ctx context.Context, dir string, o options) (f figures, err error) {
	best, err := startup(ctx)
	if err != nil {
		return f, err
	}
	if f, err = measure(ctx, dir, o); err != nil {
		return f, err
	}
	f.Startup = best
	if o.each > 0 {
		f.listed = &listed{}
		if err := part(ctx, dir, f.listed, "-each", strconv.Itoa(o.each)); err != nil {
			return f, err
		}
	}
	if o.backlog > 0 {
		f.backlog = &backlog{}
		err = part(ctx, dir, f.backlog, "-backlog", strconv.Itoa(o.backlog), "-lone", strconv.Itoa(o.lone))
	}
	return f, err
}

// profile writes a CPU profile, where a path is given, until it is stopped.
func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close() // a profile that is cut short shows it when it is read
	}, nil
}

// allocations writes what was allocated up to now, where a path is given.
func allocations(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
}

// measure does the workloads in one process, as a busy owner would.
func measure(ctx context.Context, dir string, o options) (f figures, err error) {
	b, err := open(ctx, dir)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, b.engine.Close()) }()
	if _, err := b.alone(ctx, w1, 20); err != nil { // warm
		return f, err
	}
	stop, err := profile(o.profile)
	if err != nil {
		return f, err
	}
	before := b.engine.Store().Stats().Syncs
	lone, err := b.alone(ctx, w1, o.lone)
	if err != nil {
		return f, err
	}
	f.W1Syncs = round(float64(b.engine.Store().Stats().Syncs-before) / float64(o.lone))
	f.W1P50, f.W1P99 = percentile(lone, 50), percentile(lone, 99)
	began, used, synced := time.Now(), cpu(), b.engine.Store().Stats().Syncs
	if err := b.together(ctx, w1, o.many, 64); err != nil {
		return f, err
	}
	f.cpu = ms((cpu() - used) / time.Duration(max(o.many, 1)))
	f.W1Rate = round(float64(o.many) / time.Since(began).Seconds())
	f.shared = round(float64(b.engine.Store().Stats().Syncs-synced) / float64(max(o.many, 1)))
	wide, err := b.alone(ctx, w2, o.wide)
	if err != nil {
		return f, err
	}
	stop() // what follows is not measured
	if err := allocations(o.allocs); err != nil {
		return f, err
	}
	f.W2P50, f.W2P99 = percentile(wide, 50), percentile(wide, 99)
	if f.RSS, err = peak(); err != nil {
		return f, err
	}
	return f, b.verify(ctx)
}

// self runs this program.
func self(ctx context.Context, args ...string) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// startup is how long a new process takes to its first completed run, the best of five.
func startup(ctx context.Context) (float64, error) {
	best := time.Hour
	for range 5 {
		began := time.Now()
		if err := self(ctx, "-once"); err != nil {
			return 0, fmt.Errorf("measuring start-up: %w", err)
		}
		best = min(best, time.Since(began))
	}
	return ms(best), nil
}

func once(ctx context.Context, dir string) error {
	b, err := open(ctx, dir)
	if err != nil {
		return err
	}
	_, err = b.alone(ctx, w1, 1)
	return errors.Join(err, b.engine.Close())
}

// peak is the largest resident size of this process in MB; 0 where the system does not say.
func peak() (float64, error) {
	status, err := os.ReadFile(filepath.Join("/proc", "self", "status"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return round(kb / 1024), err
		}
	}
	return 0, nil
}

func (f figures) show() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "workload\tp50 ms\tp99 ms\truns/s, 64 in flight\tsyncs a run")
	fmt.Fprintf(w, "W1 (4 steps)\t%.2f\t%.2f\t%.0f\t%.2f\n", f.W1P50, f.W1P99, f.W1Rate, f.W1Syncs)
	fmt.Fprintf(w, "W2 (1 + 20 + 1)\t%.2f\t%.2f\t\t\n", f.W2P50, f.W2P99)
	_ = w.Flush() // to the terminal; the file has the figures
	fmt.Printf("processor time a W1 run %.2f ms, syncs %.2f, with 64 in flight\n", f.cpu, f.shared)
	fmt.Printf("start-up to the first completed run %.1f ms, peak memory %.0f MB\n", f.Startup, f.RSS)
}
