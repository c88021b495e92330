// Package drilltest drills the loops of a project in its tests (R40). Only
// tests import it.
package drilltest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/drill"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// Holds drills one loop of the project in a directory, and fails the test with
// a line for each fault under which it did not hold. It takes about a second
// and touches nothing outside: workers are scripted, see package drill. A loop
// whose machine is not compiled is drilled as it would be.
func Holds(t testing.TB, root, name string) drill.Report {
	t.Helper()
	cfg, err := Config(root, name)
	if err != nil {
		t.Fatal(err)
	}
	report, err := drill.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range report.Rows {
		if !row.Held && !row.Skipped {
			t.Errorf("%s: %s (%s): expected: %s; happened: %s", name, row.Fault, row.Step, row.Expected, row.Happened)
		}
	}
	return report
}

// Config reads what a drill of a loop needs from a project's directory. Its
// errors are those of validation.
func Config(root, name string) (drill.Config, error) {
	var cfg drill.Config
	p, problems := project.Open(root)
	if _, known := p.Loop(name); !known {
		return cfg, fmt.Errorf("%s has no right loop %s: %w", root, name, problems.Err())
	}
	for _, other := range p.Names() {
		l, err := loopOf(p, root, other)
		if err != nil {
			return cfg, err
		}
		if other == name {
			cfg.Loop = l
		} else {
			cfg.Others = append(cfg.Others, l)
		}
	}
	return cfg, nil
}

func loopOf(p *project.Project, root, name string) (local.Loop, error) {
	def, _ := p.Loop(name)
	bundle, err := p.Bundle(name)
	if err != nil {
		return local.Loop{}, err
	}
	pinned := *def
	pinned.Hash = project.Hash(bundle)
	machine, err := os.ReadFile(filepath.Join(root, project.LoopDir, name+".asl.json"))
	if os.IsNotExist(err) {
		machine, err = compile.Compile(def)
	}
	return local.Loop{Definition: &pinned, Bundle: bundle, Machine: machine}, err
}
