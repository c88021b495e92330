package project

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

func codes(ps problem.Problems) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Code)
	}
	return out
}

// The repository's own loops have no problems, warnings included.
func TestTheRepositoryIsRight(t *testing.T) {
	t.Parallel()
	p, ps := Open("../..")
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if _, ok := p.Loop("crm-followup"); !ok {
		t.Error("crm-followup is missing")
	}
}

// What a run has pinned is the same loop, by the same parser; the same content has the same hash.
func TestBundlesAreWholeAndStable(t *testing.T) {
	t.Parallel()
	base := baseFiles(t)
	p, _ := Load(base)
	for _, name := range p.Names() {
		data, err := p.Bundle(name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := FromBundle(data)
		if err != nil {
			t.Fatal(err)
		}
		if d.Hash != Hash(data) || d.Loop.Name != name || len(d.Nodes) != len(p.Loops[name].Nodes) {
			t.Errorf("%s came back as another loop", name)
		}
		more := maps.Clone(base)
		more[WorkerDir+"/extra/"+CharterFile] = strings.Replace(base[WorkerDir+"/counter/"+CharterFile], "worker: counter", "worker: extra", 1)
		other, _ := Load(more)
		if again, _ := other.Bundle(name); string(again) != string(data) {
			t.Errorf("the bundle of %s holds what it does not need", name)
		}
	}
	if _, err := p.Bundle("none"); !errors.Is(err, ErrUnknownLoop) {
		t.Errorf("got %v", err)
	}
}

// A changed schema or prompt is another bundle.
func TestABundleChangesWithEverythingItNames(t *testing.T) {
	t.Parallel()
	base := baseFiles(t)
	p, _ := Load(base)
	before, _ := p.Bundle("forms")
	for _, path := range []string{File, LoopDir + "/good" + LoopSuffix, WorkerDir + "/helper/prompts/helper.md", WorkerDir + "/checker/" + CharterFile} {
		changed := maps.Clone(base)
		changed[path] += "# changed\n"
		q, _ := Load(changed)
		if after, err := q.Bundle("forms"); err != nil || string(after) == string(before) {
			t.Errorf("a change of %s is not seen (%v)", path, err)
		}
	}
}

// JSON Schemas for editors accept every right file and refuse misspelt keys.
func TestEditorSchemasAgreeWithTheReader(t *testing.T) {
	t.Parallel()
	schemas := map[string]*schema.Schema{}
	for _, kind := range SchemaKinds {
		raw, err := EditorSchema(kind)
		if err != nil {
			t.Fatal(err)
		}
		if schemas[kind], err = schema.Compile(kind, raw); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range baseFiles(t) {
		kind := "project"
		switch {
		case strings.HasSuffix(path, LoopSuffix):
			kind = "loop"
		case strings.HasSuffix(path, CharterFile):
			kind = "charter"
		case path != File:
			continue
		}
		n, ps := source.Read(path, []byte(text))
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		if faults := schemas[kind].CheckValue(n.Plain()); len(faults) > 0 {
			t.Errorf("%s: %v", path, faults)
		}
		wrong := n.Plain().(map[string]any)
		wrong["onwer"] = "x"
		if faults := schemas[kind].CheckValue(wrong); len(faults) == 0 {
			t.Errorf("the schema of %s takes a misspelt key", kind)
		}
	}
	if _, err := EditorSchema("worker"); err == nil {
		t.Error("a schema of nothing")
	}
}

// chain makes loops that call each other: a calls b calls c …
func chain(files texts, names ...string) texts {
	out := maps.Clone(files)
	for i, name := range names {
		step := `{worker: writer, input: {name: "${input.name}"}}`
		if i+1 < len(names) {
			step = `{loop: ` + names[i+1] + `, input: {name: "${input.name}"}}`
		}
		out[LoopDir+"/"+name+LoopSuffix] = "loop: " + name + `
version: 1
owner: ops
objective: A link of a chain.
subject: ${input.name}
input: {type: object, properties: {name: {type: string}}, required: [name], additionalProperties: false}
budget: {cost: 0.10 USD, deadline: 1h}
defaults: {on_failure: {then: halt}}
steps:
  link: ` + step + `
output: {text: "${link.text}"}
`
	}
	return out
}

// R10: two levels are normal, three get a warning, more are an error that says how to flatten.
func TestLevelsOfLoops(t *testing.T) {
	t.Parallel()
	base := baseFiles(t)
	for _, test := range []struct {
		names []string
		want  []string
	}{
		{[]string{"top", "low"}, nil},
		{[]string{"top", "mid", "low"}, []string{"W301"}},
		{[]string{"top", "mid", "deep", "low"}, []string{"W301", "E207"}},
	} {
		_, ps := Load(chain(base, test.names...))
		if diff := cmp.Diff(test.want, codes(ps)); diff != "" {
			t.Errorf("%v: %s\n%v", test.names, diff, ps)
		}
		for _, p := range ps {
			if !strings.Contains(p.Message, "Flatten") {
				t.Errorf("%v does not say how to flatten", p)
			}
		}
	}
}

// R10: more than 15 workers get a warning.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	files := baseFiles(t)
	steps := ""
	for i := range 16 {
		name := "w" + strings.Repeat("x", i)
		files[WorkerDir+"/"+name+"/"+CharterFile] = strings.Replace(files[WorkerDir+"/counter/"+CharterFile], "worker: counter", "worker: "+name, 1)
		steps += "  s" + strings.Repeat("x", i) + ": {worker: " + name + ", accept: [{rule: output.count > 0, say: Some.}]}\n"
	}
	other := files[LoopDir+"/other"+LoopSuffix]
	files[LoopDir+"/other"+LoopSuffix] = strings.Replace(strings.Replace(other, "steps:\n", "steps:\n"+steps, 1), "budget:", "defaults: {on_failure: {then: skip}}\nbudget:", 1)
	_, ps := Load(files)
	if diff := cmp.Diff([]string{"W302"}, codes(ps)); diff != "" {
		t.Errorf("%s\n%v", diff, ps)
	}
}

func TestWithoutAProjectFile(t *testing.T) {
	t.Parallel()
	files := baseFiles(t)
	delete(files, File)
	if _, ps := Load(files); len(ps) != 1 || ps[0].Code != "E130" {
		t.Errorf("got %v", ps)
	}
	if _, err := FindRoot(t.TempDir()); !errors.Is(err, ErrNoProject) {
		t.Errorf("got %v", err)
	}
	deep, _ := filepath.Abs("testdata/base/functions/workers")
	want, _ := filepath.Abs("testdata/base")
	if root, err := FindRoot(deep); err != nil || root != want {
		t.Errorf("got %s, %v", root, err)
	}
}

// Whatever a file says, checking ends with problems or a definition: no panic, no second lost.
func FuzzLoad(f *testing.F) {
	base := baseFiles(f)
	for _, path := range []string{"/good", "/forms", "/other"} {
		f.Add(base[LoopDir+path+LoopSuffix])
	}
	broken, _ := filepath.Glob("testdata/broken/*.loop.yaml")
	for _, path := range broken {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := maps.Clone(base)
		files[LoopDir+"/good"+LoopSuffix] = text
		started := time.Now()
		p, ps := Load(files)
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("checking took %s", took)
		}
		wrong := false
		for _, found := range ps {
			wrong = wrong || found.Path == LoopDir+"/good"+LoopSuffix && !found.Warning()
		}
		if _, right := p.Loop("good"); right == wrong {
			t.Errorf("right: %t, problems: %v", right, ps)
		}
	})
}

// The names in a plan of a body, to compare: a sequence in ( ), parallel parts in [ ].
func shape(p *loop.Plan) string {
	switch {
	case p == nil:
		return "-"
	case p.Node != nil:
		return p.Node.Name
	case p.Sequence != nil:
		text := "(" + shapes(p.Sequence) + ")"
		if p.Levelled {
			text = "levels" + text
		}
		return text
	}
	return "[" + shapes(p.Parallel) + "]"
}

func shapes(parts []*loop.Plan) string {
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = shape(part)
	}
	return strings.Join(words, " ")
}
