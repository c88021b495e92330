package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

func (a *app) logCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "log [RUN]",
		Short: "Print the coordinator's decisions on a run, in order",
		Long: `Prints every decision: when, on which step, what was decided and by which rule,
with references to input and output, and what each worker says it decided. Without a
name it is the newest run's.`,
		Example: "  outerloop log\n  outerloop log crm-followup-3f2a -o json | jq '.[] | select(.kind == \"settled\")'",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.log(cmd.Context(), first(args))
		},
	}
}

func (a *app) log(ctx context.Context, id string) error {
	list := []coordinator.LogView{}
	err := a.reading(ctx, func(r reader) error {
		run, err := findRun(ctx, r, id)
		if err != nil {
			return err
		}
		list, err = r.Log(ctx, run)
		return err
	})
	switch {
	case errors.Is(err, local.ErrNoState):
		return a.noRuns()
	case err != nil:
		return err
	case a.asJSON():
		return a.writeJSON(list)
	}
	a.writeLog(list)
	return nil
}

func (a *app) writeLog(entries []coordinator.LogView) {
	t := table{head: []string{"TIME (UTC)", "STEP", "DECIDED", "OUTCOME", "BY", "RULE OR DECISION"}}
	for _, e := range entries {
		by := e.By
		if by == "" {
			by = e.Worker
		}
		texts := slices.DeleteFunc(append([]string{e.Rule}, e.Decisions...), func(text string) bool { return text == "" })
		if len(texts) == 0 {
			texts = []string{""}
		}
		t.add(e.At.UTC().Format("2006-01-02 15:04:05.000"), plain(e.Step), e.Kind, e.Outcome, plain(by), plain(texts[0]))
		for _, more := range texts[1:] {
			t.add("", "", "", "", "", plain(more))
		}
	}
	t.write(a, a.Out)
}
