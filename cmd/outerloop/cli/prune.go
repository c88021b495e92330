package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

func (a *app) pruneCommand() *cobra.Command {
	var before string
	var req local.CleanRequest
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove runs that ended long ago and shrink the state file",
		Long: `Removes runs that ended more than 90 days ago, with their steps, requests and event
histories, and content that nothing refers to any more; then gives the space back. The
engine does the same little by little. --before takes another time: an age such as 30d, a
date, or an RFC 3339 time. Runs that are open stay, and so do the action log, so that no
action is done twice, facts and figures.`,
		Example: "  outerloop prune\n  outerloop prune --before 30d --loop crm-followup\n  outerloop prune --before 2026-11-01 --histories",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if req.Loop != "" && req.Histories {
				return usage("--loop removes runs, --histories leaves them", "write one of them")
			}
			if before != "" {
				at, err := a.ageOrTime(before)
				if err != nil {
					return err
				}
				req.Before = at
			}
			if req.Loop != "" {
				if err := a.knownLoop(cmd.Context(), req.Loop); err != nil {
					return err
				}
			}
			return a.prune(cmd.Context(), req)
		},
	}
	cmd.Flags().StringVar(&before, "before", "", "an age (30d), a date or a `TIME` (default 90d)")
	cmd.Flags().StringVar(&req.Loop, "loop", "", "only runs of a `LOOP`; histories stay")
	cmd.Flags().BoolVar(&req.Histories, "histories", false, "only the engine's event histories; the runs stay")
	return cmd
}

// ageOrTime reads "30d" as so long ago, else a date in UTC or an RFC 3339 time.
func (a *app) ageOrTime(text string) (time.Time, error) {
	if age, err := schedule.ParseDuration(text); err == nil {
		return a.Now().Add(-age), nil
	}
	return parseTime("--before", text, time.UTC)
}

func (a *app) prune(ctx context.Context, req local.CleanRequest) (err error) {
	if a.far() {
		return a.pruneFar(ctx, coordinator.Retention{Before: req.Before, Loop: req.Loop}, req.Histories)
	}
	if err := a.needRuns(); err != nil {
		return err
	}
	s, err := a.join(ctx, local.Config{State: a.stateFile()})
	if err != nil {
		return err
	}
	defer func() { err = also(err, s.Close()) }()
	done, err := s.Clean(ctx, req)
	if err != nil {
		return err
	}
	if a.asJSON() {
		return a.writeJSON(done)
	}
	a.say("%s, %s deleted; %s given back", count(done.Runs, "run", "runs"), count(done.Executions, "execution", "executions"), bytesText(done.Bytes))
	return nil
}
