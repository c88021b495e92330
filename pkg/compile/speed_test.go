package compile_test

import (
	"fmt"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// manyLoops is a project with n generated loops of twenty steps: chains and fans
// with a rule, references and an input each, some of them not series-parallel.
func manyLoops(t testing.TB, n int) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	root := os.DirFS("../project/testdata/base")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(root, path)
		files[path] = &fstest.MapFile{Data: raw}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name := fmt.Sprintf("many-%d", i)
		files[project.LoopDir+"/"+name+project.LoopSuffix] = &fstest.MapFile{Data: []byte(twentySteps(name, i))}
	}
	return files
}

// twentySteps is a loop of twenty steps, another one for every number.
func twentySteps(name string, number int) string {
	text := `loop: ` + name + `
version: 1
owner: ops
objective: Twenty steps.
subject: ${input.name}
input: {type: object, properties: {name: {type: string}}, required: [name], additionalProperties: false}
budget: {cost: 0.10 USD, deadline: 1h}
defaults:
  on_failure: {retry: 2, then: halt}
steps:
  s0: {worker: writer, input: {name: "${input.name}"}}
`
	for i := 1; i < 20; i++ {
		before := (i * (number%3 + 1)) % i // chains, fans and what is not series-parallel
		text += fmt.Sprintf("  s%d: {worker: writer, when: s%d.discount < 0.%d, input: {name: \"${s%d.text} %d\"}}\n", i, i-1, 1+number%9, before, number)
	}
	return text + "output: {text: \"${s19.text}\"}\n"
}

func compileAll(t testing.TB, files fs.FS) (machines, bytes int) {
	t.Helper()
	p, ps := project.Load(files)
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	var defs []*loop.Definition
	for _, name := range p.Names() {
		d, _ := p.Loop(name)
		defs = append(defs, d)
	}
	all, err := compile.All(defs)
	if err != nil {
		t.Fatal(err)
	}
	for _, machine := range all {
		bytes += len(machine)
	}
	return len(all), bytes
}

// Many loops are read, checked and compiled, none for another;
// BenchmarkThousandLoops measures how fast.
func TestManyLoops(t *testing.T) {
	t.Parallel()
	const many = 100
	machines, bytes := compileAll(t, manyLoops(t, many))
	if machines < many || bytes < many*10_000 {
		t.Errorf("%d machines, %d bytes", machines, bytes)
	}
}

func BenchmarkThousandLoops(b *testing.B) {
	files := manyLoops(b, 1000)
	for b.Loop() {
		compileAll(b, files)
	}
}
