package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/alert"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

// alerts are the project's groups with their channels. What goes to the log for
// want of a channel is named in the faults; nil log: nobody reads it.
func (a *app) alerts(p *opened, log *slog.Logger) (*alert.Config, []error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	channels, faults := alert.Channels(p.Registry, alert.With{Secret: a.Secret, Log: log})
	return &alert.Config{Project: p.Registry, Channels: channels, Log: log}, faults
}

// alertFlags are doctor's flags for the way an alert goes.
type alertFlags struct{ test, confirm, group, by string }

// given tells whether doctor is asked about alerts.
func (f alertFlags) given() bool { return f.test != "" || f.confirm != "" }

// testAlert sends a group a test alert over its own channels, or records that a
// person has received it.
func (a *app) testAlert(ctx context.Context, f alertFlags) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	name := f.test + f.group
	group, known := p.Registry.Group(name)
	if !known {
		var names []string
		for _, g := range p.Registry.Groups {
			names = append(names, g.Name)
		}
		return usage(fmt.Sprintf("the project has no group %q", name), "groups here: "+strings.Join(names, ", "))
	}
	cfg, err := a.engineConfig(&p)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(a.Err, nil))
	var faults []error
	cfg.Alerts, faults = a.alerts(&p, log)
	e, err := local.Open(ctx, cfg)
	var owned *local.OwnedError
	if errors.As(err, &owned) {
		return &exit{code: ExitFailed, err: err, remedies: []string{"stop it first: a test alert is sent by the process that owns the state file"}}
	}
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	if f.confirm != "" {
		return a.confirmAlert(ctx, e, f)
	}
	a.warnOf(faults, group.Alert)
	return a.sendTest(ctx, e, group)
}

// warnOf says which of some channels could not be made.
func (a *app) warnOf(faults []error, channels []string) {
	for _, fault := range faults {
		if slices.ContainsFunc(channels, func(channel string) bool { return strings.Contains(fault.Error(), "over "+channel+" ") }) {
			fmt.Fprintf(a.Err, "warning: %s\n", plainLines(fault.Error()))
		}
	}
}

func (a *app) sendTest(ctx context.Context, e *local.Engine, group registry.Group) error {
	if err := e.Alerts().Test(ctx, group.Name); err != nil {
		return err
	}
	sent, err := e.Alerts().Deliver(ctx)
	if err != nil {
		return err
	}
	if sent.Failed > 0 {
		return &exit{code: ExitFailed, err: fmt.Errorf("the test alert for %s could not be sent over %s; it is tried again by %s dev", group.Name, strings.Join(group.Alert, ", "), a.Program)}
	}
	a.say("a test alert went to %s over %s", group.Name, strings.Join(group.Alert, ", "))
	a.say("  whoever reads it confirms it: the message says how")
	return nil
}

func (a *app) confirmAlert(ctx context.Context, e *local.Engine, f alertFlags) error {
	if f.by == "" {
		return usage("--confirm needs to know who read the alert", "add --by YOUR-ADDRESS")
	}
	proof, err := e.Alerts().Confirm(ctx, f.group, f.confirm, f.by)
	if errors.Is(err, alert.ErrNoTest) {
		return usage(fmt.Sprintf("no test alert of the code %s was sent to %s", f.confirm, f.group), "outerloop doctor --alert "+f.group+"   sends one")
	}
	if err != nil {
		return err
	}
	a.say("confirmed: an alert reached %s, %s read it at %s", f.group, proof.By, proof.At.Format("2006-01-02 15:04 MST"))
	return nil
}
