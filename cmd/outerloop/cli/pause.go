package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// pausedView is what pause and resume print with -o json.
type pausedView struct {
	ID     string `json:"id"`
	Paused bool   `json:"paused"`
}

func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pause LOOP",
		Short: "Let triggers start nothing of a loop until it is resumed",
		Long: `Schedules and events start no run of the loop from now on; runs that are open go on, and
a start by hand is still possible. What is missed meanwhile is made up for within the
loop's catch-up rule when it is resumed.`,
		Example: "  outerloop pause crm-followup",
		Args:    one("a loop", "outerloop validate   checks the project's loops"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.setPaused(cmd.Context(), args[0], true) },
	}
}

func (a *app) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "resume LOOP",
		Short:   "Let triggers start runs of a paused loop again",
		Long:    "Ends a pause. Missed schedules are made up for within the loop's catch-up rule.",
		Example: "  outerloop resume crm-followup",
		Args:    one("a loop", "outerloop validate   checks the project's loops"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.setPaused(cmd.Context(), args[0], false) },
	}
}

func (a *app) setPaused(ctx context.Context, name string, paused bool) (err error) {
	var p *opened
	if !a.far() {
		here, err := a.openProject()
		if err != nil {
			return err
		}
		if _, err := here.loop(name); err != nil {
			return err
		}
		p = &here
	}
	s, err := a.session(ctx, p, a.newProgress())
	if err != nil {
		return err
	}
	defer func() { err = also(err, s.Close()) }()
	set, word := session.Resume, "resumed"
	if paused {
		set, word = session.Pause, "paused"
	}
	if err := set(s, ctx, name); err != nil {
		return err
	}
	if a.asJSON() {
		return a.writeJSON(pausedView{ID: name, Paused: paused})
	}
	a.say("%s  %s", a.bold(name), word)
	return nil
}
