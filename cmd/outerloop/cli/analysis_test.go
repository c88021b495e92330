package cli_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// sample is a program in the directory of this repository's own project.
func sample(t *testing.T) *bundle {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return &bundle{t: t, dir: root}
}

// R14: a loop and the map of all loops in every form.
func TestGraphForms(t *testing.T) {
	t.Parallel()
	b := sample(t)
	b.want(0, "graph", "crm-followup").has(t, "flowchart TD", "n_follow_up__draft")
	b.want(0, "graph", "crm-followup", "--format", "dot").has(t, "digraph", "subgraph cluster_n_follow_up")
	b.want(0, "graph", "crm-followup", "--effective").has(t, "steps:", "on_failure:")
	b.want(0, "graph").has(t, "loop_crm_2d_followup", "fact_dashboard_2f_sales")
	for _, args := range [][]string{{"graph", "crm-followup"}, {"graph"}} {
		svg := b.want(0, append(args, "--format", "svg", "--theme", "dark")...).out
		decoder := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v: %v", args, err)
			}
		}
	}
	graph := decode[struct {
		Root  struct{ Vertices []struct{ ID, Kind string } }
		Edges []struct{ From, To, Label string }
	}](t, b.want(0, "graph", "crm-followup", "-o", "json").out)
	if len(graph.Root.Vertices) == 0 || len(graph.Edges) == 0 {
		t.Errorf("the graph as data is empty: %+v", graph)
	}
}

// Cost, advice, data and readiness have a stable form for scripts.
func TestAnalysesAsJSON(t *testing.T) {
	t.Parallel()
	b := sample(t)
	cost := decode[struct {
		ID    string
		Run   map[string]float64
		Month map[string]float64
	}](t, b.want(0, "cost", "crm-followup", "--items", "follow_up=3", "-o", "json").out)
	for _, part := range []string{"transitions", "lambda", "dynamodb", "sqs", "model_tokens", "other", "fixed", "total"} {
		if _, ok := cost.Run[part]; !ok {
			t.Errorf("the split of a run lacks %s: %v", part, cost.Run)
		}
	}
	if cost.ID != "crm-followup" || cost.Month["total"] <= cost.Run["total"] {
		t.Errorf("%+v", cost)
	}
	for _, command := range []string{"advise", "data", "ready crm-followup"} {
		got := b.run(append(strings.Fields(command), "-o", "json")...)
		list := decode[[]struct{ ID string }](t, got.out)
		if len(list) == 0 || list[0].ID == "" {
			t.Errorf("%s -o json is no list of things with an id: %s", command, got.out)
		}
	}
	b.want(0, "cost", "crm-followup").has(t, "a month", "instead would save", "prices of")
	b.want(0, "advise", "crm-followup").has(t, "of 10", "simplest pattern")
	b.want(0, "data").has(t, "stale.email", "sales-leads")
	b.want(cli.ExitFailed, "ready", "crm-followup").has(t, "missing", "lines hold")
}

func TestAnalysisUsage(t *testing.T) {
	t.Parallel()
	b := sample(t)
	for _, c := range []struct {
		line string
		want []string
	}{
		{"graph crm-folowup", []string{"did you mean crm-followup?"}},
		{"graph a b", []string{`"b" is too much`}},
		{"graph --effective", []string{"needs a loop"}},
		{"graph crm-followup --format png", []string{"mermaid, dot or svg"}},
		{"graph crm-followup --theme blue", []string{"auto, light or dark"}},
		{"cost", []string{"needs a loop"}},
		{"cost crm-followup --items scan=3", []string{"blocks over items here: follow_up"}},
		{"cost crm-followup --items follow_up=many", []string{"does not name a block and a number"}},
		{"cost crm-followup --runs 0", []string{"above zero"}},
		{"diff a", []string{"needs OLD and NEW"}},
		{"diff nowhere.yaml nowhere.yaml", []string{"there is no nowhere.yaml"}},
		{"diff go.mod go.mod", []string{"go.mod"}},
		{"diff statemachines/crm-followup.loop.yaml functions/workers/mailer/charter.yaml", []string{"two versions of one declaration"}},
		{"diff statemachines/booking.asl.json statemachines/booking.asl.json", []string{"none of a loop, a charter and a project file"}},
		{"ready", []string{"needs a loop"}},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			b.want(cli.ExitUsage, strings.Fields(c.line)...).has(t, c.want...)
		})
	}
}

// A changed limit needs a version and costs exit 1; a comment needs none.
func TestDiff(t *testing.T) {
	t.Parallel()
	b := sample(t)
	const path = "statemachines/crm-followup.loop.yaml"
	text, err := os.ReadFile(filepath.Join(b.dir, path))
	if err != nil {
		t.Fatal(err)
	}
	changed := func(pairs ...string) string {
		file := filepath.Join(t.TempDir(), "new.yaml")
		now := strings.NewReplacer(pairs...).Replace(string(text))
		if now == string(text) {
			t.Fatalf("%q is not in the loop", pairs)
		}
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	b.want(0, "diff", path, path).has(t, "nothing has changed")
	b.want(0, "diff", path, changed("overlap: skip", "overlap: skip # as ever")).has(t, "nothing has changed")
	b.want(cli.ExitFailed, "diff", path, changed("discount <= 0.10", "discount <= 0.20")).has(t, "the meaning changed", "steps.follow_up.steps.draft.limits[0].rule", "0.20")
	b.want(0, "diff", path, changed("discount <= 0.10", "discount <= 0.20", "version: 1", "version: 2")).has(t, "version 1 to 2")
	b.want(0, "diff", path, changed("overlap: skip", "overlap: skip\nalert: {stalled: 1h}")).has(t, "wording")
	b.want(cli.ExitFailed, "diff", path, changed("overlap: skip", "overlap: skip\nkeep: 30d")).has(t, "the meaning changed", `+ keep: "30d"`)
	list := decode[[]struct {
		ID, Bump string
		Changes  []struct{ ID string }
	}](t, b.want(cli.ExitFailed, "diff", path, changed("max_items: 50000", "max_items: 40"), "-o", "json").out)
	if len(list) != 1 || list[0].ID != "loop crm-followup" || list[0].Bump != "needed" || len(list[0].Changes) != 1 {
		t.Errorf("%+v", list)
	}
	b.want(0, "diff", ".", ".").has(t, "nothing has changed")

	if text, err = os.ReadFile(filepath.Join(b.dir, "outerloop.yaml")); err != nil {
		t.Fatal(err)
	}
	b.want(0, "diff", "outerloop.yaml", changed("\nfacts:\n", "\nkeep: 60d\nfacts:\n  board/kept: {schema: {type: object}, keep: 30d}\n")).
		has(t, "project acme  the project file, which has no version", `+ keep: "60d"`, "board/kept")
	b.want(0, "diff", changed("\nfacts:\n", "\nfacts:\n  board/kept: {schema: {type: object}, keep: 30d}\n"),
		changed("\nfacts:\n", "\nfacts:\n  board/kept: {schema: {type: object}, keep: 45d}\n")).has(t, `~ facts.board/kept.keep: "30d" -> "45d"`)
}

// What a compiled version means stays what it means: validate and compile
// refuse another meaning under the same number.
func TestVersionsMeanOneThing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("outerloop.yaml", "project: acme\nzone: UTC\npeople: {lead: {email: lead@acme.example}}\ngroups: {ops: {members: [lead], alert: [email]}}\n")
	charter := func(version, timeout string) {
		b.write("functions/workers/writer/charter.yaml", "worker: writer\nversion: "+version+"\nowner: ops\nobjective: A text.\nkind: go\n"+
			"input: {type: object, properties: {name: {type: string}}, required: [name], additionalProperties: false}\n"+
			"output: {type: object, properties: {text: {type: string}}, required: [text], additionalProperties: false}\n"+
			"reads: []\nwrites: []\ntools: {}\nauthority: prepare\nrisk: low\nsuccess: {metric: read, at_least: 90%}\n"+
			"fails_with: [timeout, transient, fatal]\ndispatch: {mode: direct, timeout: "+timeout+"}\n")
	}
	charter("1", "30s")
	b.write("statemachines/tidy.loop.yaml", "loop: tidy\nversion: 1\nowner: ops\nobjective: Things are tidy.\nsubject: ${input.name}\n"+
		"input: {type: object, properties: {name: {type: string}}, required: [name], additionalProperties: false}\n"+
		"budget: {cost: 0.10 USD, deadline: 1h}\ndefaults: {on_failure: {retry: 1, then: halt}}\n"+
		"steps:\n  first: {worker: writer, input: {name: \"${input.name}\"}}\noutput: {text: \"${first.text}\"}\n")
	b.want(0, "validate")
	b.want(0, "compile")
	b.want(0, "validate")
	charter("1", "40s")
	b.want(cli.ExitUsage, "validate").has(t, "functions/workers/writer/charter.yaml:2:10", "E260", "Write version 2")
	b.want(cli.ExitUsage, "compile").has(t, "E260")
	charter("2", "40s")
	b.want(0, "validate")
	b.want(0, "compile")
	charter("1", "30s")
	b.want(cli.ExitUsage, "validate").has(t, "E261", "above 2")
}
