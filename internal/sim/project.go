package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// Project is the loops that the simulation runs, compiled.
type Project struct {
	names    []string
	defs     map[string]*loop.Definition
	latest   map[string]string
	machines map[string]*asl.Machine
}

// Loops compiles the simulation's own project, once.
var Loops = sync.OnceValue(func() *Project {
	fsys := fstest.MapFS{}
	for name, text := range files() {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	loaded, problems := project.Load(fsys)
	if err := problems.Err(); err != nil {
		panic(fmt.Sprintf("the simulation's project: %v", err))
	}
	p := &Project{defs: map[string]*loop.Definition{}, latest: map[string]string{}, machines: map[string]*asl.Machine{}}
	p.names = slices.Sorted(maps.Keys(loaded.Loops))
	for name, def := range loaded.Loops {
		bundle, err := loaded.Bundle(name)
		if err != nil {
			panic(err)
		}
		hash := project.Hash(bundle)
		p.defs[hash], p.latest[name] = def, hash
		text, err := compile.Compile(def)
		if err != nil {
			panic(fmt.Sprintf("compiling %s: %v", name, err))
		}
		text = compile.Substitute(text, compile.Substitutions(def), func(tok compile.Token) string { return string(tok.Kind) + ":" + tok.Name })
		if p.machines[hash], err = asl.Load(text); err != nil {
			panic(fmt.Sprintf("the machine of %s: %v", name, err))
		}
	}
	return p
})

const projectFile = `
project: simulated
zone: Europe/Berlin
budget: {per_month: 9.00 USD}
people: {ann: {email: ann@example.com}, bob: {email: bob@example.com}, eve: {email: eve@example.com}}
groups:
  ops: {members: [ann, bob], alert: [email]}
  leads: {members: [ann, bob], alert: [email]}
connections:
  mail: {kind: outbox, may: [send]}
  slow: {kind: outbox, may: [send], rate: {calls: 4, per: 1m, at_once: 2, reserve: 25%}}
models:
  default: {connection: bedrock, id: m, price: {input: 1.00 USD, output: 20.00 USD, as_of: "2026-11-01"}}
facts:
  board/state: {schema: {type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}}
events:
  session.closed: {type: object, properties: {key: {type: string}, n: {type: integer}}, required: [key], additionalProperties: false}
`

const (
	anyIn  = "{type: object, properties: {n: {type: integer}, text: {type: string}}, additionalProperties: false}"
	listed = "{type: object, properties: {items: {type: array, items: {type: object, properties: {id: {type: string}, n: {type: integer}}, required: [id, n], additionalProperties: false}}}, required: [items], additionalProperties: false}"
	texted = "{type: object, properties: {text: {type: string}, n: {type: integer}}, required: [text], additionalProperties: false}"
	sentID = "{type: object, properties: {id: {type: string}}, required: [id], additionalProperties: false}"
)

// charter is a charter with the usual fields; more replaces or adds lines.
func charter(name, input, output string, more ...string) string {
	fields := map[string]string{
		"kind": "go", "reads": "[]", "writes": "[]", "tools": "{}", "authority": "execute", "risk": "low",
		"success": "{metric: done, at_least: 90%}", "fails_with": "[timeout, transient, rate_limited, invalid_output, refused, fatal]",
		"dispatch": "{mode: queue, timeout: 30s, longest_wait: 2h}",
	}
	for _, line := range more {
		key, value, _ := strings.Cut(line, ": ")
		fields[key] = value
	}
	out := fmt.Sprintf("worker: %s\nversion: 1\nowner: ops\nobjective: Simulated.\ninput: %s\noutput: %s\n", name, input, output)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		out += key + ": " + fields[key] + "\n"
	}
	return out
}

const direct = "dispatch: {mode: direct, timeout: 30s}"

func action(name, unknown string) string {
	return "actions: {" + name + ": {effect: none, undo: none, unknown: " + unknown + ", start: limited}}"
}

func files() map[string]string {
	charters := map[string]string{
		"lister":  charter("lister", anyIn, listed, direct),
		"writer":  charter("writer", anyIn, texted),
		"backup":  charter("backup", anyIn, texted),
		"shaky":   charter("shaky", anyIn, texted),
		"rated":   charter("rated", anyIn, texted, "tools: {slow: [send]}"),
		"checker": charter("checker", "{type: object, properties: {text: {type: string}}, additionalProperties: false}", "{type: object, properties: {faults: {type: array, items: {type: string}}}, required: [faults], additionalProperties: false}"),
		"sender":  charter("sender", anyIn, sentID, "tools: {mail: [send]}", action("send", "verify")),
		"ledger":  charter("ledger", anyIn, sentID, "tools: {mail: [send]}", action("book", "retry")),
		"caller":  charter("caller", anyIn, sentID, "tools: {mail: [send]}", action("call", "ask"), direct),
		"rooms": charter("rooms", anyIn, texted, "tools: {mail: [send]}",
			"actions: {open: {effect: none, undo: shut, unknown: verify, start: limited}, shut: {effect: none, undo: open, unknown: verify, start: limited}}"),
		"board": charter("board", anyIn, "{type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}",
			"writes: [board/state]", "reads: [board/state]", direct),
		"clerk": charter("clerk", anyIn, texted, "kind: agent", "agent: {model: default, prompt: prompt.md, calls: [refund, poem], max_calls: 4, max_tokens: 2000}", "fails_with: [timeout, transient, invalid_output, fatal]"),
		"poem":  charter("poem", anyIn, texted, "kind: agent", "agent: {model: default, prompt: prompt.md, max_calls: 1, max_tokens: 1000}", "fails_with: [timeout, transient, invalid_output, fatal]", direct),
		"refund": charter("refund", anyIn, sentID, "tools: {mail: [send]}", direct,
			"actions: {refund: {key: \"${input.text}/${input.n}\", resource: \"order/${input.text}\", effect: financial, undo: none, unknown: verify, start: limited, at_most: {count: 2, per: 30d, by: \"${input.text}\"}}}",
			"limits: [{rule: 'input.n <= 2', otherwise: approve, say: A person decides.}]"),
		"poet": charter("poet", anyIn, texted, "kind: agent", "agent: {model: default, prompt: prompt.md, max_calls: 1, max_tokens: 10000}", "fails_with: [timeout, transient, invalid_output, fatal]"),
	}
	out := map[string]string{"outerloop.yaml": projectFile, "functions/workers/poet/prompt.md": "Write.",
		"functions/workers/clerk/prompt.md": "Help.", "functions/workers/poem/prompt.md": "Write."}
	for name, text := range charters {
		out["functions/workers/"+name+"/charter.yaml"] = text
	}
	for name, text := range loops {
		out["statemachines/"+name+".loop.yaml"] = text
	}
	for i := range generatedLoops {
		name := fmt.Sprintf("gen%02d", i)
		out["statemachines/"+name+".loop.yaml"] = generate(name, uint64(i))
	}
	return out
}
