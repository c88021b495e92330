package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// engineConfig is the embedded engine of this program and project. Without a
// project, runs go on from what the state file keeps of their definitions.
func (a *app) engineConfig(p *opened) (local.Config, error) {
	cfg := local.Config{State: a.stateFile()}
	if p == nil {
		for _, code := range a.Workers {
			cfg.Workers = append(cfg.Workers, local.Worker{Code: code})
		}
		return cfg, nil
	}
	loops, err := p.localLoops()
	if err != nil {
		return cfg, err
	}
	cfg.Loops = loops
	cfg.Workers = a.localWorkers(*p, filepath.Dir(cfg.State))
	cfg.Alerts, _ = a.alerts(p, nil)
	cfg.Files = func(ctx context.Context, of local.Scheduled) (json.RawMessage, error) {
		return a.scheduled(ctx, *p, of)
	}
	return cfg, nil
}

// someProject opens the project if there is one.
func (a *app) someProject() (*opened, error) {
	if _, ok := a.projectDir(); !ok && a.project == "" {
		return nil, nil
	}
	p, err := a.openProject()
	return &p, err
}

// join becomes the owner of the state file or a visitor, and counts the mails
// that were there before.
func (a *app) join(ctx context.Context, cfg local.Config) (*local.Session, error) {
	a.working()
	a.mailsBefore = countMails(a.outbox())
	if err := a.refuseLost(ctx, cfg); err != nil {
		return nil, err
	}
	s, err := local.Join(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := a.refuseMoved(ctx, s.Owner()); err != nil {
		return nil, also(err, s.Close())
	}
	return s, nil
}

// acting opens the place of the runs to do one thing for a person and drives on
// what it set free. act answers the run that it is about.
func (a *app) acting(ctx context.Context, act func(session) (string, error)) (run string, err error) {
	if err := a.needRuns(); err != nil {
		return "", err
	}
	p, err := a.someProject()
	if err != nil {
		return "", err
	}
	shown := a.newProgress()
	s, err := a.session(ctx, p, shown)
	if err != nil {
		return "", err
	}
	defer func() { err = also(err, s.Close()) }()
	var decided *coordinator.DecidedError
	if run, err = act(s); errors.As(err, &decided) {
		return run, decided // it says itself what it is about
	}
	if err != nil {
		return run, err
	}
	_, err = s.drive(ctx, run)
	shown.end()
	if ctx.Err() != nil {
		return run, &exit{code: ExitFailed, err: fmt.Errorf("it is recorded; stopped while driving run %s on, nothing is lost", run),
			remedies: []string{a.goesOn(), "outerloop show " + run}}
	}
	if err != nil {
		err = fmt.Errorf("it is recorded; driving the run on: %w", err)
	}
	return run, err
}

// goesOn says who works on when this command has stopped.
func (a *app) goesOn() string {
	if a.far() {
		return "the deployment goes on by itself"
	}
	return "outerloop dev   goes on, as does the command that started it"
}

// actOn is acting for commands that then say how the run stands. Recorded is
// exit 0, whatever became of the run.
func (a *app) actOn(ctx context.Context, act func(session) (string, error)) error {
	run, err := a.acting(ctx, act)
	if err != nil {
		return err
	}
	return a.recorded(ctx, run)
}

// recorded says that a decision is recorded, and how its run stands.
func (a *app) recorded(ctx context.Context, run string) error {
	state, err := a.readShow(ctx, run, false)
	if err != nil {
		return err
	}
	if a.asJSON() {
		return a.writeJSON(state.ShowView)
	}
	a.say("recorded")
	return a.printStanding(ctx, state.ShowView)
}

// writeOpen says how many things wait for a person in a run, kind by kind, with
// the command that lists each, and names the newest exceptions with their cause.
func (a *app) writeOpen(view coordinator.ShowView, exceptions []coordinator.ExceptionView) {
	approvals := 0
	for _, w := range view.Waiting {
		if w.Kind == "approval" {
			approvals++
		}
	}
	if approvals > 0 {
		a.say("  %s for a person: %s", count(approvals, "approval waits", "approvals wait"), a.command("approvals"))
	}
	if n := len(view.Waiting) - approvals; n > 0 {
		a.say("  %s a decision: %s", count(n, "exception needs", "exceptions need"), a.command("exceptions"))
	}
	const newest = 3
	for _, v := range exceptions[max(len(exceptions)-newest, 0):] {
		a.say("    %s  %s: %s", a.bold(v.ID), plain(v.Step), a.red(plain(v.Cause)))
	}
}

func reasonText(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + plain(reason)
}

// printStanding says how a run stands, what waits next and where the page is.
func (a *app) printStanding(ctx context.Context, view coordinator.ShowView) error {
	a.say("  %s  %s%s", view.ID, a.statusText(string(view.Status)), reasonText(view.Reason))
	exceptions, err := readList(ctx, a, func(ctx context.Context, r reader) ([]coordinator.ExceptionView, error) {
		return r.Exceptions(ctx, coordinator.ExceptionsQuery{Run: view.ID})
	})
	if err != nil {
		return err
	}
	a.writeOpen(view, exceptions)
	pages, err := a.writePages(ctx, view.ID)
	if err != nil {
		return err
	}
	a.writePlaces(pages)
	return nil
}

// completeID completes an abbreviated id from a list of known ones.
func completeID(id, what, list string, known []string) (string, error) {
	if slices.Contains(known, id) {
		return id, nil
	}
	var fits []string
	for _, one := range known {
		if id != "" && strings.HasPrefix(one, id) {
			fits = append(fits, one)
		}
	}
	switch len(fits) {
	case 0:
		return id, nil // perhaps one that is decided: the coordinator says
	case 1:
		return fits[0], nil
	}
	return "", usage(fmt.Sprintf("%q is the beginning of %d %s", id, len(fits), what), list)
}
