package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/local"
)

func (a *app) devCommand() *cobra.Command {
	var flags modelFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Keep the engine working: schedules, queues, waits, the watch",
		Long: `Owns the state file until Ctrl-C: fires the schedules of all loops (with their catch-up
rules), moves runs as soon as they can move, and lets the watch look every minute. Other
commands work as usual meanwhile; those that write are sent to this process.`,
		Example: "  outerloop dev\n  outerloop dev --state /var/lib/outerloop/state.db",
		Args:    none,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.dev(cmd.Context(), flags) },
	}
	flags.add(cmd)
	return cmd
}

func (a *app) dev(ctx context.Context, flags modelFlags) (err error) {
	p, err := a.openChosen(flags)
	if err != nil {
		return err
	}
	if err := p.problems.Err(); err != nil {
		if perr := a.printProblems(p, p.problems); perr != nil {
			return perr
		}
		return silent(ExitUsage)
	}
	if err := p.allCurrent(); err != nil {
		return err
	}
	cfg, err := a.engineConfig(&p)
	if err != nil {
		return err
	}
	if err := a.refuseLost(ctx, cfg); err != nil {
		return err
	}
	cfg.Log = slog.New(slog.NewTextHandler(a.Err, nil))
	var faults []error
	cfg.Alerts, faults = a.alerts(&p, cfg.Log)
	for _, fault := range faults {
		fmt.Fprintf(a.Err, "warning: %s\n", plainLines(fault.Error()))
	}
	cfg.Scheduled = func(ctx context.Context, fire local.Scheduled) (json.RawMessage, error) {
		return a.scheduled(ctx, p, fire)
	}
	cfg.Progress = a.tellRuns()
	a.working()
	e, err := local.Open(ctx, cfg)
	var owned *local.OwnedError
	if errors.As(err, &owned) {
		return &exit{code: ExitFailed, err: err, remedies: []string{"one process works on a state file; the others are its visitors"}}
	}
	if err != nil {
		return err
	}
	defer func() { err = also(err, e.Close()) }()
	if err := a.refuseMoved(ctx, e); err != nil {
		return err
	}
	a.sayDev(cfg)
	return e.Serve(ctx)
}

func (a *app) sayDev(cfg local.Config) {
	a.say("working on %s; Ctrl-C stops, nothing is lost", a.here(cfg.State))
	for _, l := range cfg.Loops {
		name := l.Definition.Loop.Name
		scheduled := false
		for _, trigger := range l.Definition.Triggers {
			if trigger.Schedule == nil {
				continue
			}
			scheduled = true
			if next, ok := trigger.Schedule.Next(a.Now()); ok {
				a.say("  %s  next %s %s  %s", name, next.At.Format("Mon 2006-01-02 15:04"), trigger.Schedule.Zone(), trigger.Schedule)
			}
		}
		if !scheduled {
			a.say("  %s  has no schedule", name)
		}
	}
}

// tellRuns prints a line when a run's machine starts and when it ends.
func (a *app) tellRuns() func(local.Progress) {
	return func(e local.Progress) {
		switch e.Event {
		case "ExecutionStarted", "ExecutionSucceeded", "ExecutionFailed", "ExecutionAborted", "ExecutionTimedOut":
			word := strings.ToLower(strings.TrimPrefix(e.Event, "Execution"))
			fmt.Fprintf(a.Err, "%s  %s  %s  %s\n", e.At.UTC().Format("2006-01-02 15:04:05"), e.Run, word, e.Error)
		}
	}
}

// scheduled gives the input of a run that a trigger starts, with files
// (relative to the project's root, and inside it) checked and kept.
func (a *app) scheduled(ctx context.Context, p opened, fire local.Scheduled) (json.RawMessage, error) {
	in := runInput{document: map[string]json.RawMessage{}}
	if len(fire.Input) > 0 {
		if err := json.Unmarshal(fire.Input, &in.document); err != nil {
			return nil, fmt.Errorf("the input of %s is no object: %w", fire.Definition.Loop.Name, err)
		}
	}
	in.findFiles(fire.Definition, func(text string) string { return filepath.Join(p.root, filepath.FromSlash(text)) })
	for _, f := range in.files {
		if !filepath.IsLocal(filepath.FromSlash(f.name)) {
			return nil, fmt.Errorf("file %s is no path inside the project", f.name)
		}
	}
	if err := in.check(ctx, fire.Definition, a.Workers); err != nil {
		return nil, err
	}
	return in.put(ctx, fire.PutBlob)
}
