package compile_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// samples are the checked loops of this repository.
func samples(t *testing.T) []*loop.Definition {
	t.Helper()
	p, problems := project.Open("../..")
	if problems.Errors() > 0 {
		t.Fatalf("the repository's own loops have problems: %v", problems)
	}
	var defs []*loop.Definition
	for _, name := range p.Names() {
		def, ok := p.Loop(name)
		if !ok {
			t.Fatalf("loop %s cannot be found", name)
		}
		defs = append(defs, def)
	}
	return defs
}

// What is committed is what the compiler gives, twice the same, and the
// interpreter takes it.
func TestCommittedMachinesAreFresh(t *testing.T) {
	t.Parallel()
	for _, def := range samples(t) {
		t.Run(def.Loop.Name, func(t *testing.T) {
			machine, err := compile.Compile(def)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := compile.Compile(def); !bytes.Equal(machine, again) {
				t.Error("the same loop gave other bytes")
			}
			if _, err := asl.Load(machine); err != nil {
				t.Errorf("refused by the interpreter: %v", err)
			}
			committed, err := os.ReadFile("../../statemachines/" + def.Loop.Name + ".asl.json")
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(machine, committed) {
				t.Error("the committed machine is stale: run `outerloop compile`")
			}
		})
	}
}
