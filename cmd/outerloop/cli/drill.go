package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/drill"
)

func (a *app) drillCommand() *cobra.Command {
	var step, by string
	var keep bool
	cmd := &cobra.Command{
		Use:   "drill LOOP",
		Short: "Break a loop on purpose and see what holds",
		Long: `Runs the loop again and again on the embedded engine, each time with another fault: missing
data, contradictory orders, no tool, a timeout, invalid output, a crash, a trigger that comes
twice, a call that costs far too much, a lost and a doubled message, a queue that nobody reads,
two workers down at once. Prints what the declared rules let expect, what happened, and
whether it held.

The committed machine is what runs; the workers are scripted from their schemas, in virtual
time. Nothing outside is touched, no state is needed and none is left. --record keeps the
result of a passed drill beside the state file, for: outerloop ready LOOP.

Exit code 0 when everything held, 1 otherwise.`,
		Example: "  outerloop drill crm-followup\n  outerloop drill crm-followup --step follow_up/draft\n  outerloop drill crm-followup --record --by lead@acme.example\n  outerloop drill booking -o json | jq -r '.rows[] | select(.held | not).happened'",
		Args:    one("a loop", "outerloop validate   names the project's files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if keep && by == "" {
				return usage("--record needs to know who held the drill", "add --by NAME")
			}
			return a.drill(cmd.Context(), args[0], drillFlags{step, by, keep})
		},
	}
	cmd.Flags().StringVar(&step, "step", "", "break the step with this `PATH`, as show prints it without items")
	cmd.Flags().BoolVar(&keep, "record", false, "keep the result of a passed drill")
	cmd.Flags().StringVar(&by, "by", "", "`WHO` held it, for the record")
	return cmd
}

type drillFlags struct {
	step, by string
	keep     bool
}

func (a *app) drill(ctx context.Context, name string, f drillFlags) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	cfg := drill.Config{Step: f.step}
	if cfg.Loop, err = p.localLoop(name); err != nil {
		return err
	}
	if cfg.Others, err = p.localLoops(); err != nil {
		return err
	}
	a.working()
	if !a.asJSON() {
		a.say("%s, version %d", a.bold(name), cfg.Loop.Definition.Loop.Version)
		cfg.Tell = a.tellRow
	}
	report, err := drill.Run(ctx, cfg)
	switch {
	case errors.Is(err, drill.ErrUnreached):
		return &exit{code: ExitFailed, err: err, remedies: []string{"outerloop graph " + name + "   shows the steps and what they need"}}
	case err != nil:
		return err
	}
	if a.asJSON() {
		if err := a.writeJSON(report); err != nil {
			return err
		}
	} else {
		a.sumUp(report)
	}
	if !report.Held() {
		return silent(ExitFailed)
	}
	if f.keep {
		return a.keepDrill(report, f.by)
	}
	return nil
}

// tellRow prints a fault as soon as it is known what came of it.
func (a *app) tellRow(row drill.Row) {
	mark := a.green("held   ")
	switch {
	case row.Skipped:
		mark = a.dim("skipped")
	case !row.Held:
		mark = a.red("BROKEN ")
	}
	where := ""
	if row.Step != "" {
		where = " (" + row.Step + ")"
	}
	a.say("%s  %s%s", mark, row.Fault, a.dim(where))
	if row.Skipped {
		a.say("         %s  %s", a.dim("because"), plain(row.Happened))
		return
	}
	a.say("         %s %s", a.dim("expected"), row.Expected)
	a.say("         %s %s", a.dim("happened"), plain(row.Happened))
}

func (a *app) sumUp(r drill.Report) {
	held, applies := 0, 0
	for _, row := range r.Rows {
		if row.Held {
			held++
		}
		if !row.Skipped {
			applies++
		}
	}
	a.say("")
	skipped := ""
	if n := len(r.Rows) - applies; n > 0 {
		skipped = fmt.Sprintf(", %d skipped", n)
	}
	a.say("%d of %d held%s; scripted values reach %d of %d steps", held, applies, skipped, r.Reached, r.Steps)
}

// drilled is the last drill of a loop that passed, as it is kept.
type drilled struct {
	Loop    string    `json:"loop"`
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Held    int       `json:"held"`
}

func (a *app) drillFile(name string) string {
	return filepath.Join(filepath.Dir(a.stateFile()), "drills", name+".json")
}

func (a *app) keepDrill(r drill.Report, by string) error {
	d := drilled{Loop: r.Loop, Version: r.Version, At: a.Now().UTC().Truncate(time.Second), By: by}
	for _, row := range r.Rows {
		if row.Held {
			d.Held++
		}
	}
	raw, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	file := a.drillFile(r.Loop)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keeping the drill: %w", err)
	}
	if err := os.WriteFile(file, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("keeping the drill: %w", err)
	}
	if !a.asJSON() {
		a.say("recorded in %s", a.here(file))
	}
	return nil
}
