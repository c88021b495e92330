package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

func (a *app) autonomyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "autonomy [WORKER]",
		Short: "Show how far each worker is trusted with its actions, and why",
		Long: `Lists the actions of all charters, or of one, with the stage that holds at the gate now:
observe (proposed, and compared with what people did), recommend (proposed), approval
(every action asks), limited (within its limits) and broad. The authority of the charter
is the ceiling.

What is measured in a stage is how many actions people saw and how many of them they took
as they were; from enough of it the next stage is proposed. Only people apply it, with
promote. A broken limit takes autonomy away at once, and the sample that is needed then
grows. With one worker, its proposals that nobody has compared yet are listed too.`,
		Example: "  outerloop autonomy\n  outerloop autonomy refund\n  outerloop autonomy -o json | jq '.[] | select(.proposed)'",
		Args:    atMostOne,
		RunE:    func(cmd *cobra.Command, args []string) error { return a.autonomy(cmd.Context(), first(args)) },
	}
}

// autonomyDocument is `autonomy WORKER -o json`.
type autonomyDocument struct {
	Actions   []coordinator.AutonomyView `json:"actions"`
	Proposals []coordinator.ProposalView `json:"proposals"`
}

func (a *app) autonomy(ctx context.Context, worker string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	charters, err := p.acting(worker)
	if err != nil {
		return err
	}
	doc, err := a.readAutonomy(ctx, charters, worker)
	if errors.Is(err, local.ErrNoState) {
		return a.noRuns()
	}
	if err != nil {
		return err
	}
	if a.asJSON() && worker == "" {
		return a.writeJSON(doc.Actions)
	}
	if a.asJSON() {
		return a.writeJSON(doc)
	}
	a.printAutonomy(doc, worker)
	return nil
}

// readAutonomy reads what is measured here by this project's charters, or there
// by those that are deployed.
func (a *app) readAutonomy(ctx context.Context, charters []*charter.Charter, worker string) (doc autonomyDocument, err error) {
	doc = autonomyDocument{Actions: []coordinator.AutonomyView{}, Proposals: []coordinator.ProposalView{}}
	read := func(trusted func() ([]coordinator.AutonomyView, error), proposals func(context.Context, string) ([]coordinator.ProposalView, error)) error {
		if doc.Actions, err = trusted(); err != nil || worker == "" {
			return err
		}
		doc.Proposals, err = proposals(ctx, worker)
		return err
	}
	if a.far() {
		c, err := a.console(ctx)
		if err != nil {
			return doc, err
		}
		return doc, read(func() ([]coordinator.AutonomyView, error) { return c.Trusted(ctx, worker) }, c.Proposals)
	}
	err = a.readingFile(ctx, func(r *local.Reader) error {
		c := r.Coordinator()
		return read(func() ([]coordinator.AutonomyView, error) { return c.Autonomy(ctx, charters...) }, c.Proposals)
	})
	return doc, err
}

// acting are the charters with actions: of one worker, or all, by name.
func (o opened) acting(worker string) ([]*charter.Charter, error) {
	var out []*charter.Charter
	for name, w := range o.Workers {
		if w != nil && len(w.Charter.Actions) > 0 && (worker == "" || name == worker) {
			out = append(out, w.Charter)
		}
	}
	if len(out) == 0 && worker != "" {
		return nil, usage(fmt.Sprintf("no worker %q has actions", worker), "outerloop autonomy   lists those that have")
	}
	slices.SortFunc(out, func(x, y *charter.Charter) int { return strings.Compare(x.Worker, y.Worker) })
	return out, nil
}

func (a *app) printAutonomy(doc autonomyDocument, worker string) {
	t := table{head: []string{"WORKER", "ACTION", "STAGE", "UP TO", "REVIEWED", "AS THEY WERE", "BREACHES", "NEXT"}, right: []bool{false, false, false, false, true, true, true}}
	for _, v := range doc.Actions {
		next := v.Why
		if v.Proposed != "" {
			next = fmt.Sprintf("%s is proposed: %s", v.Proposed, v.Why)
		}
		t.add(v.Worker, v.Action, string(v.Stage), string(v.Ceiling), fmt.Sprint(v.Reviewed), fmt.Sprint(v.Accepted), fmt.Sprint(v.Breaches), next)
	}
	t.write(a, a.Out)
	for _, v := range doc.Actions {
		if v.Proposed != "" {
			a.say("\n%s", a.command(fmt.Sprintf(`promote %s --action %s --by you@example.com --reason "…"`, v.Worker, v.Action)))
		}
		for _, c := range v.Changes {
			if worker != "" {
				a.say("%s  %s  %s -> %s by %s: %s", stamp(&c.At), v.Action, c.From, c.To, plain(c.By), plain(c.Reason))
			}
		}
	}
	open := slices.DeleteFunc(doc.Proposals, func(p coordinator.ProposalView) bool { return p.Compared })
	if len(open) == 0 {
		return
	}
	a.say("\nProposed, and not compared with what people did")
	for _, p := range open {
		a.say("  %s  %s  %s", a.bold(plain(p.Entry)), plain(p.Step), cut(plain(string(p.Payload)), 100))
	}
	a.say("%s", a.command(fmt.Sprintf("did %s '%s' --by you@example.com --payload FILE   (or --nothing)", open[0].Loop, plain(open[0].Entry))))
}

func (a *app) stageCommand(up bool) *cobra.Command {
	var who person
	var action string
	var unmeasured bool
	use, short, long := "demote", "Trust a worker's action less, from now on",
		"Lowers the stage of an action by one, at once: also open runs obey it."
	if up {
		use, short, long = "promote", "Trust a worker's action more, as the measured results propose",
			"Raises the stage of an action by one, if the measured results propose it (outerloop autonomy)\nor, with --unmeasured, without them. The authority of the charter stays the ceiling. Only a\nperson of the group that owns the worker may; who, when and why is recorded."
	}
	cmd := &cobra.Command{
		Use: use + " WORKER --by ADDRESS --reason TEXT", Short: short, Long: long,
		Example: "  outerloop " + use + ` refund --by me@example.com --reason "50 reviewed, none changed"`,
		Args:    one("a worker", "outerloop autonomy   lists the workers with actions"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := who.check(cmd); err != nil {
				return err
			}
			return a.setStage(cmd.Context(), coordinator.StageRequest{
				Worker: args[0], Action: action, Up: up, By: who.by, Reason: who.reason, Unmeasured: unmeasured,
			})
		},
	}
	who.flags(cmd)
	cmd.Flags().StringVar(&action, "action", "", "the `ACTION` (default the charter's only one)")
	if up {
		cmd.Flags().BoolVar(&unmeasured, "unmeasured", false, "although the measured results do not propose it")
	}
	return cmd
}

func (a *app) setStage(ctx context.Context, req coordinator.StageRequest) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	charters, err := p.acting(req.Worker)
	if err != nil {
		return err
	}
	if actions := charters[0].Actions; req.Action == "" && len(actions) == 1 {
		req.Action = actions[0].Name
	}
	if req.Action == "" {
		return usage(req.Worker+" has several actions: name one", "--action NAME", "outerloop autonomy "+req.Worker+"   lists them")
	}
	if _, known := charters[0].Action(req.Action); !known {
		return usage(fmt.Sprintf("%s has no action %q", req.Worker, req.Action), "outerloop autonomy "+req.Worker+"   lists them")
	}
	if req.Loop, err = a.loopWith(ctx, &p, req.Worker); err != nil {
		return err
	}
	view, err := owning(ctx, a, &p, func(s trusting) (coordinator.AutonomyView, error) { return s.SetStage(ctx, req) })
	if err != nil {
		return err
	}
	if a.asJSON() {
		return a.writeJSON(view)
	}
	a.say("%s of %s is in stage %s from now on", view.Action, a.bold(view.Worker), a.bold(string(view.Stage)))
	return nil
}

// loopWith is a loop that a worker works in: in a deployment, one that is deployed.
func (a *app) loopWith(ctx context.Context, p *opened, worker string) (string, error) {
	there := map[string]bool{}
	if a.far() {
		c, err := a.console(ctx)
		if err != nil {
			return "", err
		}
		loops, err := c.Loops(ctx)
		if err != nil {
			return "", err
		}
		for _, l := range loops {
			there[l.ID] = l.Definition != ""
		}
	}
	for _, name := range p.Names() {
		if p.Loops[name].Workers[worker] != nil && (there[name] || !a.far()) {
			return name, nil
		}
	}
	return "", usage("no loop there has the worker "+worker, a.command("autonomy")+"   lists the workers that are there")
}

// trusting changes how far workers are trusted. *local.Session and the client of
// a deployment do.
type trusting interface {
	SetStage(ctx context.Context, req coordinator.StageRequest) (coordinator.AutonomyView, error)
	Did(ctx context.Context, req coordinator.DidRequest) (coordinator.ProposalView, error)
}

// owning does one thing on the state file of this machine, or on a deployment.
func owning[T any](ctx context.Context, a *app, p *opened, do func(trusting) (T, error)) (out T, err error) {
	if a.far() {
		c, err := a.console(ctx)
		if err != nil {
			return out, err
		}
		return do(c)
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return out, err
	}
	s, err := a.join(ctx, cfg)
	if err != nil {
		return out, err
	}
	defer func() { err = also(err, s.Close()) }()
	return do(s)
}

func (a *app) didCommand() *cobra.Command {
	var by, payload string
	var nothing bool
	cmd := &cobra.Command{
		Use:   "did LOOP ENTRY --by ADDRESS",
		Short: "Say what people did where a worker only proposed",
		Long: `Compares an action that was proposed in the stages observe and recommend with what people
did, once. Agreement is the measured result from which the next stage is proposed.`,
		Example: "  outerloop did support-agent A-1007:refund --payload refund.json --by me@example.com\n  outerloop did support-agent A-1007:refund --nothing --by me@example.com",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if by == "" || nothing == (payload != "") {
				return usage("say who, and either --payload FILE or --nothing", "usage: "+cmd.UseLine())
			}
			return a.did(cmd.Context(), coordinator.DidRequest{Loop: args[0], Entry: args[1], By: by}, payload)
		},
	}
	cmd.Flags().StringVar(&by, "by", "", "who did it: an `ADDRESS` such as me@example.com (required)")
	cmd.Flags().StringVar(&payload, "payload", "", "what was done: a JSON `FILE` in the form of the proposal")
	cmd.Flags().BoolVar(&nothing, "nothing", false, "nothing was done")
	return cmd
}

func (a *app) did(ctx context.Context, req coordinator.DidRequest, payload string) error {
	if payload != "" {
		raw, err := os.ReadFile(a.path(payload))
		if err != nil {
			return usage("reading what was done: "+err.Error(), "--payload FILE is a JSON document")
		}
		req.Payload = raw
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	view, err := owning(ctx, a, &p, func(s trusting) (coordinator.ProposalView, error) { return s.Did(ctx, req) })
	if err != nil {
		return err
	}
	if a.asJSON() {
		return a.writeJSON(view)
	}
	word := "people did something else"
	if view.Agrees {
		word = "people did the same"
	}
	a.say("%s  %s", a.bold(plain(view.Entry)), word)
	return nil
}
