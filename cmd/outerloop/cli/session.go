package cli

import (
	"context"
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
	cfg.Workers = p.localWorkers(a.withCrew(*p), filepath.Dir(cfg.State))
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
	s, err := local.Join(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := a.refuseMoved(ctx, s.Owner()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// acting joins the state file to do one thing for a person and drives on what
// it set free. act answers the run that it is about.
func (a *app) acting(ctx context.Context, act func(*local.Session) (string, error)) (run string, err error) {
	if err := local.State(a.stateFile()); err != nil {
		if errors.Is(err, local.ErrNoState) {
			return "", a.noRuns()
		}
		return "", err
	}
	p, err := a.someProject()
	if err != nil {
		return "", err
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return "", err
	}
	shown := a.newProgress()
	cfg.Progress = shown.tell
	s, err := a.join(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if run, err = act(s); err != nil {
		return run, err
	}
	_, err = drive(ctx, s, run)
	shown.end()
	if err != nil {
		err = fmt.Errorf("it is recorded; driving the run on: %w", err)
	}
	return run, err
}

// actOn is acting for commands that then say how the run stands. Recorded is
// exit 0, whatever became of the run.
func (a *app) actOn(ctx context.Context, act func(*local.Session) (string, error)) error {
	run, err := a.acting(ctx, act)
	if err != nil {
		return err
	}
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

// waitList is the command that lists what waits.
func waitList(waiting []coordinator.WaitView) string {
	for _, w := range waiting {
		if w.Kind == "approval" {
			return "approvals"
		}
	}
	return "exceptions"
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
	if n := len(view.Waiting); n > 0 {
		a.say("  %s for a person: %s", count(n, "more thing waits", "more things wait"), a.command("%s", waitList(view.Waiting)))
	}
	pages, err := a.writePages(ctx)
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
