package exposure

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

var update = flag.Bool("update", false, "write the golden lists anew")

func golden(t *testing.T, name string, got any) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s has changed (-want +got):\n%s", name, diff)
	}
}

// R25: who receives what in S1 is what was looked at last.
func TestSample(t *testing.T) {
	t.Parallel()
	p, problems := project.Open("../..")
	if p.Loops["crm-followup"] == nil {
		t.Fatal(problems)
	}
	loops := map[string]*loop.Definition{"crm-followup": p.Loops["crm-followup"]}
	fields := slices.DeleteFunc(Of(p.Registry, loops), func(f Field) bool { return f.Loop != "crm-followup" })
	golden(t, "crm-followup.json", fields)
}

// charterOf writes a charter whose input and output are a text or an open object.
func charterOf(name, kind, more string) string {
	return "worker: " + name + "\nversion: 1\nowner: ops\nobjective: Work.\nkind: " + kind + "\n" +
		"input: {type: object, properties: {to: {type: string}, text: {type: string}}, additionalProperties: false}\n" +
		"output: {type: object, properties: {text: {type: string}}, required: [text], additionalProperties: false}\n" +
		"authority: execute\nrisk: low\nsuccess: {metric: m, at_least: 90%}\nfails_with: [timeout, transient, fatal]\ndispatch: {mode: direct, timeout: 30s}\n" + more
}

const orderSchema = "{type: object, properties: {email: {type: string}, total: {type: number}}, required: [email, total], additionalProperties: false}"

func fixture(steps string) fstest.MapFS {
	texts := map[string]string{
		"outerloop.yaml": "project: acme\nzone: UTC\npeople: {lead: {email: lead@acme.example}, aide: {email: aide@acme.example}}\n" +
			"groups: {ops: {members: [lead], alert: [email]}, desk: {members: [lead, aide], alert: [email]}}\n" +
			"connections: {mail: {kind: outbox, may: [send]}, models: {kind: bedrock}}\n" +
			"models: {default: {connection: models, id: some-model, price: {input: 1.00 USD, output: 2.00 USD, as_of: \"2026-11-01\"}}}\n" +
			"facts: {order/*: {schema: " + orderSchema + ", sensitive: [email]}, note/*: {schema: {type: object, properties: {text: {type: string}}, additionalProperties: false}}}\n" +
			"events: {told: {type: object, properties: {text: {type: string}}, additionalProperties: false}}\n",
		"functions/workers/sender/charter.yaml":    charterOf("sender", "go", "reads: [order/*]\nwrites: [note/*]\ntools: {mail: [send]}\n"),
		"functions/workers/writer/charter.yaml":    charterOf("writer", "agent", "reads: [order/*]\nwrites: []\ntools: {}\nagent: {model: default, prompt: prompt.md, max_tokens: 100}\n"),
		"functions/workers/writer/prompt.md":       "Write.",
		"functions/workers/listener/charter.yaml":  charterOf("listener", "go", "reads: [note/*]\nwrites: []\ntools: {}\n"),
		"statemachines/first.loop.yaml":            loopOf("first", "", steps),
		"statemachines/second.loop.yaml":           loopOf("second", "triggers: [{event: told, input: {name: '${default(event.text, \"\")}'}}]\noverlap: allow\n", "  hear: {worker: listener, input: {text: \"${input.name}\"}}\n"),
		"functions/workers/bystander/charter.yaml": charterOf("bystander", "go", "reads: [order/*]\nwrites: []\ntools: {}\n"),
	}
	out := fstest.MapFS{}
	for path, text := range texts {
		out[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func loopOf(name, triggers, steps string) string {
	return "loop: " + name + "\nversion: 1\nowner: ops\nobjective: Things are told.\nsubject: ${input.name}\n" + triggers +
		"input: {type: object, properties: {name: {type: string}}, required: [name], additionalProperties: false}\n" +
		"budget: {cost: 0.10 USD, deadline: 4h}\ndefaults:\n  on_failure: {retry: 2, then: halt}\n" +
		"  approval: {approvers: [desk], within: 1h, expired: skip, rejected: skip}\nsteps:\n" + steps
}

// R25: a value is followed through inputs, approvals, outputs, events and other
// loops; what does not touch the field is not listed.
func TestFieldsAreFollowed(t *testing.T) {
	t.Parallel()
	const reads = `reads: {order: "order/${input.name}"}`
	for _, c := range []struct{ name, steps, want string }{
		{"another field of the fact", `  a: {worker: sender, ` + reads + `, input: {text: "${string(facts.order.total)}"}}` + "\n", ""},
		{"its own field", `  a: {worker: sender, ` + reads + `, input: {to: "${facts.order.email}"}}` + "\n", "worker sender!, tool mail"},
		{"a model", `  a: {worker: writer, ` + reads + `, input: {text: "${facts.order.email}"}}` + "\n", "worker writer!, model default!, people desk"},
		{"a rule of the coordinator", `  a: {worker: sender, ` + reads + `, when: facts.order.email != "", input: {text: x}}` + "\n", ""},
		{"a worker's answer", `  a: {worker: writer, ` + reads + `, input: {text: "${facts.order.email}"}}` + "\n" + `  b: {worker: bystander, input: {text: "${a.text}"}}` + "\n",
			"worker bystander, worker writer!, model default!, people desk"},
		{"an approval", `  a: {worker: writer, ` + reads + `, input: {text: "${facts.order.email}"}, approval: {ask: Is it right?}}` + "\n", "worker writer!, model default!, people desk"},
		{"what is asked", `  a: {worker: bystander, ` + reads + `, input: {text: x}, approval: {ask: "Tell ${facts.order.email}?"}}` + "\n", "people desk!"},
		{"an event and another loop", `  a: {worker: writer, ` + reads + `, input: {text: "${facts.order.email}"}, emit: {event: told, data: {text: "${output.text}"}}}` + "\n",
			"worker listener, worker writer!, model default!, people desk, event told"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, problems := project.Load(fixture(c.steps))
			if problems.Errors() > 0 {
				t.Fatal(problems)
			}
			fields := Of(p.Registry, p.Loops)
			i := slices.IndexFunc(fields, func(f Field) bool { return f.ID == "fact order/*: email" })
			if i < 0 {
				t.Fatalf("the marked field is not listed: %+v", fields)
			}
			var got []string
			for _, r := range fields[i].Receivers {
				mark := ""
				if r.Certain {
					mark = "!"
				}
				got = append(got, r.ID+mark)
			}
			if all := strings.Join(got, ", "); all != c.want {
				t.Errorf("receivers are %q, want %q", all, c.want)
			}
		})
	}
}
