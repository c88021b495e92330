package cost

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"
)

// small is a project of a loop with the given steps, a worker in Go that
// writes text, one that classifies, and an agent for each.
func small(steps string) fstest.MapFS {
	charter := func(name, kind, output, more string) string {
		return "worker: " + name + "\nversion: 1\nowner: ops\nobjective: Work.\nkind: " + kind + "\n" +
			"input: {type: object, properties: {text: {type: string}}, additionalProperties: false}\n" +
			"output: {type: object, properties: {" + output + "}, additionalProperties: false}\n" +
			"reads: []\nwrites: []\ntools: {}\nauthority: prepare\nrisk: low\nsuccess: {metric: m, at_least: 90%}\n" +
			"fails_with: [timeout, transient, fatal]\ndispatch: {mode: direct, timeout: 30s}\n" + more
	}
	const (
		text  = "text: {type: string}"
		label = "text: {type: string, enum: [good, bad]}, sure: {type: number}"
		agent = "agent: {model: default, prompt: prompt.md, max_tokens: 100}\n"
	)
	out := fstest.MapFS{}
	for path, content := range map[string]string{
		"outerloop.yaml": "project: acme\nzone: UTC\npeople: {lead: {email: lead@acme.example}}\ngroups: {ops: {members: [lead], alert: [email]}}\n" +
			"models: {default: {connection: bedrock, id: some-model, price: {input: 1.00 USD, output: 2.00 USD, as_of: \"2026-11-01\"}}}\n",
		"functions/workers/writer/charter.yaml": charter("writer", "go", text, ""),
		"functions/workers/author/charter.yaml": charter("author", "agent", text, agent),
		"functions/workers/sorter/charter.yaml": charter("sorter", "agent", label, agent),
		"functions/workers/author/prompt.md":    "Write.",
		"functions/workers/sorter/prompt.md":    "Sort it well.",
		"statemachines/daily.loop.yaml":         "loop: daily\nversion: 1\nowner: ops\nobjective: Work is done.\nsubject: ${input.name}\n" + "input: {type: object, properties: {name: {type: string}}, required: [name], additionalProperties: false}\nbudget: {cost: 0.10 USD, deadline: 4h}\ndefaults: {on_failure: {retry: 1, then: halt}}\nsteps:\n" + steps,
	} {
		out[path] = &fstest.MapFile{Data: []byte(content)}
	}
	return out
}

// R14: advice names the simplest pattern that does the work, says where no
// coordinator is needed, and which steps need no model.
func TestAdviceNamesTheSimplest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, steps string
		pattern     Pattern
		coordinator bool
		verdict     string
	}{
		{"one step", `  a: {worker: writer, input: {text: "${input.name}"}}`, PatternScript, false, "You do not need a coordinator for this: a scheduled function"},
		{"two steps", "  a: {worker: writer, input: {text: \"${input.name}\"}}\n  b: {worker: writer, input: {text: \"${a.text}\"}}", PatternChain, false, "You do not need a coordinator for this: one function that calls the steps"},
		{"side by side", "  a: {worker: writer, input: {text: x}}\n  b: {worker: author, input: {text: y}}\n  c: {worker: writer, input: {text: \"${a.text}${b.text}\"}}", PatternFanOut, true, "worth it"},
		{"a choice", "  a: {worker: sorter, input: {text: \"${input.name}\"}}\n  b:\n    switch:\n      - {when: a.text == \"good\", steps: {c: {worker: author, input: {text: x}}}, output: {text: \"${c.text}\"}}\n      - {otherwise: true, steps: {d: {worker: writer, input: {text: y}}}, output: {text: \"${d.text}\"}}", PatternRouting, false, "You do not need a coordinator"},
		{"a wait", "  a: {wait: {for: 2h}}\n  b: {worker: writer, after: [a], input: {text: x}}", PatternMachine, true, "worth it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, d := open(t, small(c.steps+"\n"), "daily")
			a := Advise(d, nil, 30)
			if a.Pattern != c.pattern || a.Coordinator != c.coordinator || !strings.Contains(a.Verdict, c.verdict) {
				t.Errorf("%s, %v, %q; want %s, %v, %q", a.Pattern, a.Coordinator, a.Verdict, c.pattern, c.coordinator, c.verdict)
			}
			if fed := Advise(d, []string{"feeds other (event told)"}, 30); !fed.Coordinator {
				t.Error("a loop that feeds another needs no coordinator?")
			}
			for _, s := range a.Steps {
				if want := s.Worker == "author"; s.Needed != want {
					t.Errorf("%s needs a model: %v, want %v (%s)", s.Worker, s.Needed, want, s.Why)
				}
			}
		})
	}
}

// Model tokens are the prompt, the input and an answer at its bound.
func TestTokens(t *testing.T) {
	t.Parallel()
	_, d := open(t, small("  a: {worker: author, input: {text: \"${input.name}\"}}\n"), "daily")
	e := estimate(t, Question{Loop: d, Runs: 10})
	input := 2 + 1500.0 // "Write." and what is assumed of the input
	if want := (input*1 + 100*2) / 1e6; math.Abs(e.Run.Tokens-want) > 1e-9 {
		t.Errorf("tokens of a run cost %v, want %v", e.Run.Tokens, want)
	}
	if e.Counts.InputTokens != input || e.Counts.OutputTokens != 100 || e.Counts.ModelCalls != 1 {
		t.Errorf("%+v", e.Counts)
	}
	if e.Runs != 10 || e.Triggers[0].ID != "by hand" {
		t.Errorf("%+v", e.Triggers)
	}
	many := estimate(t, Question{Loop: d, Runs: 1e6})
	if len(many.Warnings) != 0 { // the project has no monthly bound
		t.Errorf("%v", many.Warnings)
	}
}
