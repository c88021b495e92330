package revision

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// base is a small project: one loop, one worker.
var base = map[string]string{
	"outerloop.yaml": "project: acme\nzone: UTC\npeople: {lead: {email: lead@acme.example}}\ngroups: {ops: {members: [lead], alert: [email]}}\n",
	"statemachines/tidy.loop.yaml": `loop: tidy
version: 3
owner: ops
objective: Things are tidy.
subject: ${input.name}
input: schemas/in.json
budget: {cost: 0.10 USD, deadline: 1h}
defaults: {on_failure: {retry: 2, then: halt}}
steps:
  first: {worker: writer, input: {name: "${input.name}"}, limits: [{rule: output.share < 0.5, otherwise: refuse, say: Half is too much.}]}
output: {text: "${first.text}"}
`,
	"statemachines/schemas/in.json": `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`,
	"functions/workers/writer/charter.yaml": `worker: writer
version: 2
owner: ops
objective: A text.
kind: go
input: {type: object, properties: {name: {type: string}}, required: [name], additionalProperties: false}
output: {type: object, properties: {text: {type: string}, share: {type: number}}, required: [text, share], additionalProperties: false}
reads: []
writes: []
tools: {}
authority: prepare
risk: low
success: {metric: read, at_least: 90%}
fails_with: [timeout, transient, fatal]
dispatch: {mode: direct, timeout: 30s}
`,
}

const (
	loopFile    = "statemachines/tidy.loop.yaml"
	schemaFile  = "statemachines/schemas/in.json"
	charterFile = "functions/workers/writer/charter.yaml"
)

// load checks the project with one text replaced in one file.
func load(t testing.TB, file, old, new string) *loop.Definition {
	t.Helper()
	texts := maps.Clone(base)
	if old != "" && !strings.Contains(texts[file], old) {
		t.Fatalf("%s does not hold %q", file, old)
	}
	texts[file] = strings.Replace(texts[file], old, new, 1)
	fsys := fstest.MapFS{}
	for path, text := range texts {
		fsys[path] = &fstest.MapFile{Data: []byte(text)}
	}
	p, problems := project.Load(fsys)
	d, ok := p.Loop("tidy")
	if !ok {
		t.Fatal(problems)
	}
	return d
}

// machineOf is a machine that was compiled from a loop, as far as it matters here.
func machineOf(d *loop.Definition) []byte {
	text, _ := json.Marshal(map[string]any{"Comment": "tidy [or so]: Things. " + Comment(Stamps(d))})
	return text
}

// What means the same has the same stamp, and may be changed at will; what
// means something else needs a new version.
func TestChangedMeaningNeedsANewVersion(t *testing.T) {
	t.Parallel()
	committed := machineOf(load(t, loopFile, "", ""))
	for _, c := range []struct{ name, file, old, new, code string }{
		{"nothing", loopFile, "", "", ""},
		{"a comment", loopFile, "version: 3\n", "version: 3 # the third\n", ""},
		{"the order of keys", loopFile, "version: 3\nowner: ops\n", "owner: ops\nversion: 3\n", ""},
		{"quotes", loopFile, "objective: Things are tidy.", `objective: "Things are tidy."`, ""},
		{"an alert", loopFile, "owner: ops\n", "owner: ops\nalert: {stalled: 1h}\n", ""},
		{"a baseline", loopFile, "owner: ops\n", "owner: ops\nbaseline: {minutes: 30, failures: 10%, cleanup: 20}\n", ""},
		{"white space in a schema", schemaFile, `"required":["name"]`, `"required": [ "name" ]`, ""},
		{"a limit", loopFile, "share < 0.5", "share < 0.6", "E260"},
		{"a retry", loopFile, "retry: 2", "retry: 3", "E260"},
		{"a schema's content", schemaFile, `{"type":"string"}`, `{"type":"string","maxLength":5}`, "E260"},
		{"a charter's time limit", charterFile, "timeout: 30s", "timeout: 31s", "E260"},
		{"a new bound under a new version", loopFile, "version: 3\n", "version: 4\nat_once: 2\n", ""},
		{"a lower version", loopFile, "version: 3", "version: 2", "E261"},
		{"a higher version", charterFile, "version: 2", "version: 3", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := Check(load(t, c.file, c.old, c.new), committed, "tidy.asl.json")
			codes := ""
			for _, p := range got {
				codes += p.Code
				if p.Path != c.file && c.file != schemaFile || p.Line == 0 {
					t.Errorf("the problem stands at %s:%d", p.Path, p.Line)
				}
			}
			if codes != c.code {
				t.Errorf("problems %q, want %q: %v", codes, c.code, got)
			}
		})
	}
	for _, text := range []string{"", "{}", "[]", `{"Comment":"tidy, version 3"}`, `{"Comment":"x [tidy 3]"}`} {
		if got := Check(load(t, loopFile, "retry: 2", "retry: 3"), []byte(text), ""); got != nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// Stamps come back from a machine as they went in.
func TestStampsAreReadBack(t *testing.T) {
	t.Parallel()
	d := load(t, loopFile, "", "")
	if diff := cmp.Diff(Stamps(d), Read(machineOf(d))); diff != "" {
		t.Error(diff)
	}
}

// A difference names the place, both values, and whether the version must rise.
func TestCompareNamesPlaces(t *testing.T) {
	t.Parallel()
	old := load(t, loopFile, "", "")
	now := load(t, loopFile, "{rule: output.share < 0.5, otherwise: refuse, say: Half is too much.}",
		"{rule: output.text.size() > 3, otherwise: refuse, say: Too short.}, {rule: output.share < 0.4, otherwise: refuse, say: Half is too much.}")
	side := func(d *loop.Definition) Side { s, _ := SideOf(LoopTree(d)); return s }
	got := Compare(side(old), side(now))
	if got.Bump != BumpNeeded || !got.Meaning || got.ID != "loop tidy" {
		t.Errorf("%+v", got)
	}
	if got := Compare(side(old), side(old)); len(got.Changes) > 0 || got.Bump != BumpNot {
		t.Errorf("the same differs: %+v", got)
	}
	all := CompareAll([]Side{side(old)}, nil)
	if len(all) != 1 || all[0].Changes[0].Kind != Removed {
		t.Errorf("a loop that went: %+v", all)
	}
	wordy := Compare(side(old), side(load(t, loopFile, "owner: ops\n", "owner: ops\nalert: {stalled: 1h}\n")))
	if len(wordy.Changes) != 1 || wordy.Meaning || wordy.Bump != BumpNot {
		t.Errorf("an alert: %+v", wordy)
	}
}

// Any two trees: no change exactly when they are equal, and an entry put into a
// list is one change.
func TestCompareFindsEveryChange(t *testing.T) {
	t.Parallel()
	scalar := rapid.Custom(func(t *rapid.T) any {
		if rapid.Bool().Draw(t, "number") {
			return rapid.Int64Range(0, 3).Draw(t, "n")
		}
		return rapid.SampledFrom([]string{"a", "b"}).Draw(t, "s")
	})
	list := rapid.Custom(func(t *rapid.T) any {
		return append([]any{}, rapid.SliceOfN(scalar, 0, 6).Draw(t, "list")...)
	})
	tree := rapid.Custom(func(t *rapid.T) map[string]any {
		out := map[string]any{}
		for _, key := range []string{"x", "y", "z"} {
			switch rapid.IntRange(0, 3).Draw(t, key) {
			case 0:
				out[key] = scalar.Draw(t, "v")
			case 1:
				out[key] = list.Draw(t, "l")
			case 2:
				out[key] = map[string]any{"in": scalar.Draw(t, "m")}
			}
		}
		return out
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := tree.Draw(t, "a"), tree.Draw(t, "b")
		got := Compare(Side{SortLoop, "l", a}, Side{SortLoop, "l", b})
		if (len(got.Changes) == 0) != cmp.Equal(a, b) {
			t.Fatalf("%v and %v: %+v", a, b, got.Changes)
		}
		entries := list.Draw(t, "entries").([]any)
		at := rapid.IntRange(0, len(entries)).Draw(t, "at")
		longer := append(append(append([]any{}, entries[:at]...), "new"), entries[at:]...)
		one := Compare(Side{SortLoop, "l", map[string]any{"k": entries}}, Side{SortLoop, "l", map[string]any{"k": longer}})
		if len(one.Changes) != 1 || one.Changes[0].Kind != Added {
			t.Fatalf("inserting into %v at %d: %+v", entries, at, one.Changes)
		}
	})
}

// BenchmarkCheck is what validation pays for one loop: about the price of
// hashing its declarations.
func BenchmarkCheck(b *testing.B) {
	d := load(b, loopFile, "", "")
	machine := machineOf(d)
	for b.Loop() {
		if Check(d, machine, "") != nil {
			b.Fatal("an unchanged loop has changed")
		}
	}
}
