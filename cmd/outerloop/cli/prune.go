package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

func (a *app) pruneCommand() *cobra.Command {
	var before string
	cmd := &cobra.Command{
		Use:   "prune --before TIME",
		Short: "Delete the engine's histories of executions that ended long ago",
		Long: `Deletes executions, and so the event histories that show --history prints, that ended
before a time: an age such as 30d, a date, or an RFC 3339 time. Runs, steps, decisions and
the action log stay.`,
		Example: "  outerloop prune --before 30d\n  outerloop prune --before 2026-11-01",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if before == "" {
				return usage("prune needs a time", "usage: outerloop prune --before 30d")
			}
			at, err := a.ageOrTime(before)
			if err != nil {
				return err
			}
			return a.prune(cmd.Context(), at)
		},
	}
	cmd.Flags().StringVar(&before, "before", "", "an age (30d), a date or a `TIME` (required)")
	return cmd
}

// ageOrTime reads "30d" as so long ago, else a date in UTC or an RFC 3339 time.
func (a *app) ageOrTime(text string) (time.Time, error) {
	if age, err := schedule.ParseDuration(text); err == nil {
		return a.Now().Add(-age), nil
	}
	return parseTime("--before", text, time.UTC)
}

// prunedView is `prune -o json`.
type prunedView struct {
	Before  time.Time `json:"before"`
	Deleted int       `json:"deleted"`
}

func (a *app) prune(ctx context.Context, before time.Time) (err error) {
	if err := local.State(a.stateFile()); err != nil {
		if errors.Is(err, local.ErrNoState) {
			return a.noRuns()
		}
		return err
	}
	s, err := a.join(ctx, local.Config{State: a.stateFile()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	n, err := s.Prune(ctx, before)
	if err != nil {
		return err
	}
	if a.asJSON() {
		return a.writeJSON(prunedView{Before: before.UTC(), Deleted: n})
	}
	a.say("%s deleted", count(n, "execution", "executions"))
	return nil
}
