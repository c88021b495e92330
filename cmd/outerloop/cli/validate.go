package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/problem"
)

func (a *app) validateCommand() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "validate [PATH…|./...]",
		Short: "Check loops, charters and the project file; report every problem",
		Long: `Reads the whole project and reports all problems, each with file, line and column, the
offending line, a stable code, the rule and the remedy. With paths only what stands in
those files or directories is reported; ./... and no path mean everything. Rules are
type-checked against the schemas: a field that no worker delivers is an error here.

Exit code 0 when nothing is wrong (warnings allowed), 2 when something is.`,
		Example: `  outerloop validate
  outerloop validate statemachines/crm-followup.loop.yaml
  outerloop validate ./... -o json | jq -r '.[].code'
  outerloop explain E117`,
		RunE: func(_ *cobra.Command, args []string) error { return a.validate(args, strict) },
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "warnings are errors")
	return cmd
}

func (a *app) validate(paths []string, strict bool) error {
	p, err := a.openFor(paths)
	if err != nil {
		return err
	}
	p.problems = append(append(p.problems, p.versions(p.Names()...)...), p.tooLarge()...).Sorted()
	problems, err := a.within(p, paths)
	if err != nil {
		return err
	}
	if strict {
		problems = problems.Strict()
	}
	if a.asJSON() {
		if err := a.writeJSON(append(problem.Problems{}, problems...)); err != nil {
			return err
		}
	} else if err := a.printProblems(p, problems); err != nil {
		return err
	}
	if problems.Err() != nil {
		return silent(ExitUsage)
	}
	return nil
}

// tooLarge reports the loops that are too large for one machine.
func (p opened) tooLarge() (found problem.Problems) {
	for _, name := range p.Names() {
		def, _ := p.Loop(name)
		found = append(found, compile.Problems(def)...)
	}
	return found
}

func (a *app) printProblems(p opened, problems problem.Problems) error {
	if err := problems.Print(a.Out); err != nil {
		return fmt.Errorf("printing problems: %w", err)
	}
	wrong := problems.Errors()
	warnings := len(problems) - wrong
	if len(problems) > 0 {
		a.say("")
	}
	summary := fmt.Sprintf("%s, %s", count(len(p.Paths), "loop", "loops"), count(len(p.Workers), "worker", "workers"))
	switch {
	case wrong > 0:
		a.say("%s: %s, %s", summary, a.red(count(wrong, "error", "errors")), count(warnings, "warning", "warnings"))
	case warnings > 0:
		a.say("%s: no errors, %s", summary, a.yellow(count(warnings, "warning", "warnings")))
	default:
		a.say("%s: %s", summary, a.green("no problems"))
	}
	return nil
}

// within keeps the problems of the files and directories that were named.
func (a *app) within(p opened, paths []string) (problem.Problems, error) {
	var kept problem.Problems
	var wanted []string
	for _, path := range paths {
		dir, recursive := strings.CutSuffix(filepath.ToSlash(path), "...")
		if recursive && dir == "" {
			dir = "."
		}
		full, err := filepath.Abs(a.path(filepath.FromSlash(dir)))
		if err != nil {
			return nil, fmt.Errorf("finding %s: %w", path, err)
		}
		if full, err = a.inside(p.root, full, path); err != nil {
			return nil, err
		}
		wanted = append(wanted, full)
	}
	for _, one := range p.problems {
		if len(wanted) == 0 || under(wanted, one.Path) {
			kept = append(kept, one)
		}
	}
	return kept, nil
}

// inside is a path relative to the project's root, which may also have been
// written so; a usage error outside of it.
func (a *app) inside(root, full, asWritten string) (string, error) {
	absRoot, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", root, err)
	}
	if _, err := os.Stat(full); err != nil {
		full = filepath.Join(absRoot, asWritten)
		if _, err := os.Stat(full); err != nil || filepath.IsAbs(asWritten) {
			return "", usage(fmt.Sprintf("there is no %s", asWritten), "paths are relative to the working directory or the project")
		}
	}
	rel, err := filepath.Rel(absRoot, full)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", usage(fmt.Sprintf("%s is outside of the project %s", asWritten, root), "name the other project: --project DIR")
	}
	return filepath.ToSlash(rel), nil
}

func under(wanted []string, path string) bool {
	for _, prefix := range wanted {
		if prefix == "." || path == prefix || strings.HasPrefix(path, strings.TrimSuffix(prefix, "/")+"/") {
			return true
		}
	}
	return false
}
