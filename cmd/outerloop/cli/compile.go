package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// compiled is one loop's line of `compile -o json`.
type compiled struct {
	ID   string `json:"id"`
	File string `json:"file"`
	// Status is written, fresh or stale.
	Status string `json:"status"`
	Bytes  int    `json:"bytes"`
}

func (a *app) compileCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "compile [LOOP…]",
		Short: "Write each loop's state machine beside it",
		Long: `Writes statemachines/NAME.asl.json, one state machine in the Amazon States Language for
each loop: the same loop gives the same bytes. The engine runs what stands in that file,
so commit it. --check writes nothing and fails when a file is stale.`,
		Example: "  outerloop compile\n  outerloop compile crm-followup\n  outerloop compile --check      # in CI",
		RunE:    func(_ *cobra.Command, args []string) error { return a.compile(args, check) },
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 1 when a machine is stale or missing")
	return cmd
}

func (a *app) compile(names []string, check bool) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if err := p.problems.Err(); err != nil {
			if perr := a.printProblems(p, p.problems); perr != nil {
				return perr
			}
			return silent(ExitUsage)
		}
		names = p.Names()
	}
	defs := make([]*loop.Definition, len(names))
	for i, name := range names {
		if defs[i], err = p.loop(name); err != nil {
			return err
		}
	}
	machines, err := compile.All(defs)
	if err != nil {
		return &exit{code: ExitUsage, err: err}
	}
	list := make([]compiled, 0, len(names))
	stale := false
	for i, name := range names {
		done, err := a.keepMachine(p, name, machines[i], check)
		if err != nil {
			return err
		}
		stale = stale || done.Status == "stale"
		list = append(list, done)
	}
	if err := a.printCompiled(list); err != nil {
		return err
	}
	if stale {
		return &exit{code: ExitFailed, err: errors.New("machines are stale"), remedies: []string{"outerloop compile   writes them"}}
	}
	return nil
}

// keepMachine compares a compiled machine with the committed one, and writes it
// where that is stale and check does not hold it back.
func (a *app) keepMachine(p opened, name string, machine []byte, check bool) (compiled, error) {
	path := p.machinePath(name)
	done := compiled{ID: name, File: a.here(path), Status: "fresh", Bytes: len(machine)}
	have, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(have, machine):
		return done, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return done, fmt.Errorf("reading %s: %w", path, err)
	case check:
		done.Status = "stale"
		return done, nil
	}
	if changed := p.versions(name); changed.Err() != nil {
		return done, &exit{code: ExitUsage, err: changed}
	}
	done.Status = "written"
	return done, writeWhole(path, machine)
}

func (a *app) printCompiled(list []compiled) error {
	if a.asJSON() {
		return a.writeJSON(list)
	}
	t := table{head: []string{"LOOP", "STATUS", "BYTES", "FILE"}, right: []bool{false, false, true}}
	for _, c := range list {
		t.add(c.ID, c.Status, fmt.Sprint(c.Bytes), c.File)
	}
	t.write(a, a.Out)
	return nil
}

// writeWhole replaces a file so that readers see the old one or the new one.
func writeWhole(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(draft.Name())
	_, err = draft.Write(content)
	if err := errors.Join(err, draft.Chmod(0o644), draft.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(draft.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
