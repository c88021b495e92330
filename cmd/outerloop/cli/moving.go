package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/transfer"
)

func (a *app) exportCommand() *cobra.Command {
	var back bool
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Move everything out of the state file, to go on elsewhere",
		Long: `Writes runs, steps, facts, the action log, quotas, approvals, exceptions, definitions and
the content they refer to into a file that import reads, here or on AWS. From then on
nothing moves here any more, so that no action is done on both sides: open runs are closed
as moved, decisions are refused, and commands that write say where it went. Nothing may
work on the state file meanwhile. Exporting again writes the same again; --take-back lets
everything go on here, if the file was imported nowhere.`,
		Example: "  outerloop export move.jsonl\n  outerloop export --take-back",
		Args: func(cmd *cobra.Command, args []string) error {
			if back {
				return none(cmd, args)
			}
			return one("a file", "write: outerloop export FILE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if back {
				return a.takeBack(cmd.Context())
			}
			return a.export(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVar(&back, "take-back", false, "let everything go on here again: the file was imported nowhere")
	return cmd
}

func (a *app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Go on here with what export wrote elsewhere",
		Long: `Checks the whole file and whether anything here stands in its way, and only then writes
it into the state file, which is created when missing. Open runs go on where they were:
what was done is not done again, requests for approval wait here with their votes. Nothing
is worked on before a command that drives does it (run, approve, dev). Importing the same
file again changes nothing; an import that broke off is finished by the same command.`,
		Example: "  outerloop import move.jsonl\n  outerloop import move.jsonl --state /var/lib/outerloop/state.db",
		Args:    one("a file", "write: outerloop import FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.importFile(cmd.Context(), args[0]) },
	}
}

// owning is the state file for this process alone.
func (a *app) owning(ctx context.Context, cfg local.Config, do func(*local.Engine) error) (err error) {
	e, err := local.Open(ctx, cfg)
	var owned *local.OwnedError
	if errors.As(err, &owned) {
		return &exit{code: ExitFailed, err: err, remedies: []string{"stop that process first: nothing may move while the state is moved"}}
	}
	if err != nil {
		return err
	}
	defer func() { err = also(err, e.Close()) }()
	return errors.Join(do(e), e.Sync(ctx))
}

func (a *app) source(e *local.Engine) transfer.Source {
	relaxed := e.Store().Relaxed()
	return transfer.Source{Store: relaxed, Scan: e.Store(), Blobs: relaxed, Now: a.Now}
}

// exportedView is `export -o json`.
type exportedView struct {
	File string `json:"file"`
	transfer.Header
	Counts transfer.Counts `json:"counts"`
}

func (a *app) export(ctx context.Context, name string) error {
	if err := a.needState(); err != nil {
		return err
	}
	path := a.path(name)
	if _, err := os.Lstat(path); err == nil {
		return usage(name+" exists already", "name a file that does not exist")
	}
	view := exportedView{File: path}
	err := a.owning(ctx, local.Config{State: a.stateFile()}, func(e *local.Engine) error {
		return unfinished(ctx, e, a.writeExport(ctx, e, &view))
	})
	if err != nil {
		return err
	}
	if a.asJSON() {
		return a.writeJSON(view)
	}
	c := view.Counts
	a.say("%s: %s (%d open), %s, %s waiting for a person", name, count(c.Runs, "run", "runs"), c.Open,
		count(c.Actions, "action", "actions"), count(c.Waiting, "thing", "things"))
	a.say("nothing moves here any more; at the other side: %s", a.command("import %s", filepath.Base(name)))
	return nil
}

// unfinished says of an export that failed how the state is left: it may be
// closed already, so that nothing moves at two places.
func unfinished(ctx context.Context, e *local.Engine, err error) error {
	if err == nil {
		return nil
	}
	seal, readErr := transfer.Sealed(context.WithoutCancel(ctx), e.Store())
	if readErr != nil || seal == nil {
		return err
	}
	return &exit{code: ExitFailed, err: err, remedies: append(remediesOf(err),
		"nothing moves here until the same command has written the file, or: outerloop export --take-back")}
}

// writeExport lets the file appear when it is whole and on disk.
func (a *app) writeExport(ctx context.Context, e *local.Engine, view *exportedView) error {
	part := view.File + ".part"
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	view.Header, view.Counts, err = transfer.Export(ctx, transfer.Exporting{
		Source: a.source(e), ID: rand.Text(), From: a.stateFile(), To: filepath.Base(view.File),
	}, file)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, view.File)
}

func (a *app) needState() error {
	err := local.State(a.stateFile())
	if errors.Is(err, local.ErrNoState) {
		return a.noRuns()
	}
	return err
}

func (a *app) importFile(ctx context.Context, name string) (err error) {
	file, err := os.Open(a.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return usage("there is no file "+name, "outerloop export FILE writes one")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, _, err := transfer.Verify(file); err != nil {
		return &exit{code: ExitUsage, err: fmt.Errorf("%s: %w", name, err), remedies: importRemedies(err)}
	}
	p, err := a.someProject()
	if err != nil {
		return err
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	var got transfer.Imported
	err = a.owning(ctx, cfg, func(e *local.Engine) error {
		relaxed := e.Store().Relaxed()
		if got, err = transfer.Import(ctx, transfer.Destination{Store: relaxed, Blobs: relaxed, Now: a.Now}, file); err != nil {
			return err
		}
		return a.goOn(ctx, e, got.Open)
	})
	if err != nil {
		return &exit{code: exitCode(err), err: err, remedies: importRemedies(err)}
	}
	return a.sayImported(name, got)
}

// goOn starts the executions of open runs; they move when a command drives.
func (a *app) goOn(ctx context.Context, e *local.Engine, runs []string) error {
	for _, run := range runs {
		if err := e.Coordinator().Continue(ctx, run); err != nil {
			return fmt.Errorf("going on with %s: %w", run, err)
		}
	}
	return nil
}

func importRemedies(err error) []string {
	switch {
	case errors.Is(err, transfer.ErrNewer):
		return []string{"import it with the program that exported it, or a later one"}
	case errors.Is(err, transfer.ErrFile):
		return []string{"nothing was imported; copy the file again, or export again at its source"}
	case errors.Is(err, transfer.ErrConflict):
		return []string{"name another state file: --state FILE"}
	}
	return remediesOf(err)
}

func (a *app) sayImported(name string, got transfer.Imported) error {
	if a.asJSON() {
		return a.writeJSON(got)
	}
	if got.Already {
		a.say("%s was imported before; nothing to do", name)
		return nil
	}
	c := got.Counts
	a.say("%s, %s, %s waiting for a person", count(c.Runs, "run", "runs"), count(c.Actions, "action", "actions"), count(c.Waiting, "thing", "things"))
	for _, run := range got.Open {
		a.say("  %s goes on here", run)
	}
	if len(got.Open) > 0 {
		a.say("%s works on them; so does every decision", a.command("dev"))
	}
	return nil
}

func (a *app) takeBack(ctx context.Context) error {
	if err := a.needState(); err != nil {
		return err
	}
	p, err := a.someProject()
	if err != nil {
		return err
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	open := []string{}
	err = a.owning(ctx, cfg, func(e *local.Engine) error {
		back, err := transfer.TakeBack(ctx, a.source(e))
		open = append(open, back...)
		return errors.Join(err, a.goOn(ctx, e, back))
	})
	if err != nil {
		return err
	}
	if a.asJSON() {
		return a.writeJSON(struct {
			Open []string `json:"open"`
		}{open})
	}
	a.say("taken back: %s here again", count(len(open), "run goes on", "runs go on"))
	return nil
}

// refuseMoved refuses to work on a state that goes on elsewhere.
func (a *app) refuseMoved(ctx context.Context, e *local.Engine) error {
	if e == nil {
		return nil // a visitor: its owner has looked
	}
	seal, err := transfer.Sealed(ctx, e.Store())
	if err != nil || seal == nil {
		return err
	}
	return &exit{
		code: ExitFailed, err: fmt.Errorf("%w to %s at %s: it goes on where that file was imported", transfer.ErrMoved, seal.To, seal.At.Format("2006-01-02 15:04 MST")),
		remedies: []string{"outerloop export --take-back   if it was imported nowhere"},
	}
}
