package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the state file while the engine goes on working",
		Long: `Writes a complete, compact copy of the shared state. It may run beside any other
command. An existing file is not replaced.

To go back to a backup, stop what works on the state file, move the file away together with
the -wal and -shm beside it, and copy the backup into its place. What was done in the world
since the backup is not known to it and may be done again.`,
		Example: "  outerloop backup /backup/outerloop-$(date +%F).db",
		Args:    one("a file", "write: outerloop backup FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := a.readingFile(cmd.Context(), func(r *local.Reader) error {
				return r.Store().Backup(cmd.Context(), a.path(args[0]))
			})
			switch {
			case errors.Is(err, local.ErrNoState):
				return a.noRuns()
			case errors.Is(err, fs.ErrExist):
				return usage(args[0]+" exists already", "name a file that does not exist")
			case err != nil:
				return err
			}
			a.say("%s", args[0])
			return nil
		},
	}
}

// finding is one line of `doctor`.
type finding struct {
	ID string `json:"id"`
	OK bool   `json:"ok"`
	// Note: nothing is wrong, and it may not be what was meant.
	Note   bool   `json:"note,omitempty"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

func (a *app) doctorCommand() *cobra.Command {
	var alerts alertFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the project, the machines and the state file from end to end",
		Long: `Looks at everything a run needs: the project is valid, every machine is compiled and
fresh, every worker has code in this program, the state file is whole to the last blob, who
works on it, whether it was moved, and whether its directory and disk have room. Nothing is
changed. Exit code 1 when something is wrong.

--alert sends a group a test alert over its own channels, from end to end; the message says
how whoever reads it confirms it. outerloop ready asks for that.`,
		Example: "  outerloop doctor\n  outerloop doctor -o json | jq '.[] | select(.ok | not)'\n  outerloop doctor --alert sales-ops\n  outerloop doctor --confirm 1f3a9c0d --group sales-ops --by lead@acme.example",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if alerts.given() {
				return a.testAlert(cmd.Context(), alerts)
			}
			return a.doctor(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&alerts.test, "alert", "", "send `GROUP` a test alert")
	cmd.Flags().StringVar(&alerts.confirm, "confirm", "", "the `CODE` of a test alert that was read")
	cmd.Flags().StringVar(&alerts.group, "group", "", "the `GROUP` that --confirm is about")
	cmd.Flags().StringVar(&alerts.by, "by", "", "`WHO` read it")
	cmd.MarkFlagsMutuallyExclusive("alert", "confirm")
	cmd.MarkFlagsMutuallyExclusive("alert", "group")
	return cmd
}

func (a *app) doctor(ctx context.Context) error {
	list := []finding{a.examineProgram()}
	switch _, here := a.projectDir(); {
	case !a.far():
		list = append(append(list, a.examineProject()...), a.examineState(ctx)...)
	case here:
		list = append(append(list, a.examineProject()...), a.examineDeployment(ctx)...)
	default:
		list = append(list, a.examineDeployment(ctx)...)
	}
	code := ExitDone
	for _, f := range list {
		if !f.OK {
			code = ExitFailed
		}
	}
	if a.asJSON() {
		if err := a.writeJSON(list); err != nil {
			return err
		}
		return silent(code)
	}
	for _, f := range list {
		mark := a.green("ok   ")
		switch {
		case !f.OK:
			mark = a.red("wrong")
		case f.Note:
			mark = a.yellow("note ")
		}
		a.say("%s  %s: %s", mark, f.ID, f.Detail)
		if (!f.OK || f.Note) && f.Remedy != "" {
			a.say("         %s", f.Remedy)
		}
	}
	return silent(code)
}

func (a *app) examineProject() []finding {
	p, err := a.openProject()
	if err != nil {
		return []finding{{ID: "project", Detail: err.Error(), Remedy: "name it: --project DIR"}}
	}
	list := []finding{{ID: "project", OK: p.problems.Err() == nil, Detail: fmt.Sprintf("%s: %s", p.root, count(p.problems.Errors(), "error", "errors")), Remedy: "outerloop validate"}}
	known := map[string]bool{}
	for _, code := range a.withCrew(p) {
		known[code.Name()] = true
	}
	for _, name := range p.Names() {
		machine := finding{ID: "machine " + name, Remedy: "outerloop compile " + name}
		def, _ := p.Loop(name)
		compiledMachine, err := compile.Compile(def)
		if err == nil {
			var done compiled
			done, err = a.keepMachine(p, name, compiledMachine, true)
			machine.OK, machine.Detail = done.Status == "fresh", done.Status
		}
		if err != nil {
			machine.Detail = err.Error()
		}
		list = append(list, machine)
		for worker := range def.Workers {
			if !known[worker] {
				list = append(list, finding{ID: "worker " + worker, Detail: "no code in this program", Remedy: "give it to cli.Config.Workers"})
			}
		}
	}
	return list
}

// examineDirectory tells whether the state file and its directory, or the nearest
// directory that exists, can be written.
func examineDirectory(file string) finding {
	dir := filepath.Dir(file)
	f := finding{ID: "directory", Detail: dir}
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		there, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			f.Detail, f.Remedy = err.Error(), "make the state file writable for this user; until then it can only be read"
			return f
		}
		_ = there.Close() // nothing was written
	}
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			f.Detail, f.Remedy = dir+" is a file", "move it, or name another state file: --state FILE"
			return f
		}
		if err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	probe, err := os.CreateTemp(dir, ".outerloop-*")
	if err != nil {
		f.Detail, f.Remedy = err.Error(), "make it writable, or name another state file: --state FILE"
		return f
	}
	f.OK = true
	_ = errors.Join(probe.Close(), os.Remove(probe.Name()))
	return f
}
