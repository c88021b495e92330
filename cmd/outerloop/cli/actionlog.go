package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

func (a *app) actionsCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "actions [LOOP]",
		Short: "List the action log: what was done outside, once each",
		Long: `Lists business actions with their entry (KEY:ACTION), state and result. An action that
is done is never done again, whatever starts a run; one of unknown outcome is verified or
asked about, as its charter says.`,
		Example: "  outerloop actions\n  outerloop actions crm-followup --key D-1042/",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := readList(cmd.Context(), a, func(ctx context.Context, r reader) ([]coordinator.ActionView, error) {
				return r.Actions(ctx, coordinator.ActionsQuery{Loop: first(args), Key: key})
			})
			if err != nil {
				return err
			}
			if len(list) == 0 && len(args) == 1 {
				if err := a.knownLoop(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			return a.printActions(list)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "only entries that begin with `KEY`")
	return cmd
}

func (a *app) printActions(list []coordinator.ActionView) error {
	if a.asJSON() {
		return a.writeJSON(list)
	}
	if len(list) == 0 {
		a.say("no actions")
		return nil
	}
	t := table{head: []string{"ENTRY", "STATE", "CALLS", "ENDED (UTC)", "RUN", "RESULT"}, right: []bool{false, false, true}}
	for _, v := range list {
		result := jsonText(v.Result)
		if v.Reason != "" {
			result = v.Reason
		}
		t.add(plain(v.ID), v.State, fmt.Sprint(v.Calls), stamp(v.EndedAt), v.Run, plain(result))
	}
	t.write(a, a.Out)
	return nil
}
