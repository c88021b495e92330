package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/exposure"
	"github.com/outerloop-dev/outerloop/pkg/readiness"
)

func (a *app) readyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ready LOOP",
		Short: "Check what should hold before a loop works for real",
		Long: `Prints one list: schemas, order, failure rules, fallbacks, resumability, approvals, access,
baseline, owner and deputy, breakers, drill and alert, each line with its proof or what is
missing. What only operation can show is unknown until it is on record.

Exit code 0 when every line holds, 1 otherwise.`,
		Example: "  outerloop ready crm-followup\n  outerloop ready crm-followup -o json | jq -r '.[] | select(.status != \"held\").says'",
		Args:    one("a loop", "outerloop validate   names the project's files"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.ready(cmd.Context(), args[0]) },
	}
}

func (a *app) ready(ctx context.Context, name string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	def, err := p.loop(name)
	if err != nil {
		return err
	}
	fresh, err := compile.Compile(def)
	if err != nil {
		return &exit{code: ExitUsage, err: err}
	}
	machine, err := os.ReadFile(p.machinePath(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the machine of %s: %w", name, err)
	}
	lines, err := readiness.Check(ctx, readiness.Question{
		Loop: def, Machine: machine, Fresh: fresh, Fields: exposure.Of(p.Registry, p.Loops), Record: shown{a},
	})
	if err != nil {
		return err
	}
	if a.asJSON() {
		err = a.writeJSON(lines)
	} else {
		a.printLines(lines)
	}
	if err == nil && !readiness.Ready(lines) {
		return silent(ExitFailed)
	}
	return err
}

func (a *app) printLines(lines []readiness.Line) {
	held := 0
	for _, line := range lines {
		mark := a.green("held   ")
		switch line.Status {
		case readiness.Held:
			held++
		case readiness.Missing:
			mark = a.red("missing")
		case readiness.Unknown:
			mark = a.yellow("unknown")
		}
		a.say("%s  %s", mark, line.Asks)
		a.say("         %s", a.dim(line.Says))
	}
	a.say("")
	a.say("%d of %d lines hold", held, len(lines))
}
