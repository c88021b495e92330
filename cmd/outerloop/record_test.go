package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	"github.com/outerloop-dev/outerloop/functions/workers/agent"
	"github.com/outerloop-dev/outerloop/functions/workers/agent/crew"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/catalog"
	"github.com/outerloop-dev/outerloop/pkg/agent/scripted"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

var recording = flag.Bool("record", false, "write the scripts of samples/recorded anew, from the authors in this package")

// author answers in a model's place while a script is recorded.
type author func(asked data) llm.Answer

// authors by the script that they write, with what asks for all of it.
var authors = map[string]struct {
	author author
	play   func(b *bundle)
}{
	"market-research": {researcher, func(b *bundle) { b.want(0, marketResearch...) }},
	"support-agent":   {supporter, func(b *bundle) { b.conversations() }},
}

// TestScripts records the scripts with -record; without, it holds that they can
// be read.
func TestScripts(t *testing.T) {
	t.Parallel()
	for name, a := range authors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("../../samples/recorded", name+".json")
			if *recording {
				record(t, name, a.author, file, a.play)
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := scripted.Load(raw); err != nil {
				t.Error(err)
			}
		})
	}
}

func record(t *testing.T, name string, write author, file string, play func(*bundle)) {
	t.Helper()
	r := scripted.Record(name, scripted.Func(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		answer := write(read(t, req))
		answer.Usage = gate.Tokens{Input: int64(len(req.System)+len(req.Messages[0].Text)) / 4, Output: int64(max(len(answer.Text)/4, 20))}
		return answer, nil
	}))
	b := setup(t)
	b.crew = func(p *project.Project, _ string) ([]cli.Worker, error) {
		return crew.Of(p, catalog.With{Instead: r}, agent.Options{})
	}
	play(b)
	raw, err := r.Script().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

// data is what a request brings, by the name of its block.
type data struct {
	t      *testing.T
	blocks map[string]json.RawMessage
	asked  llm.Request
}

var dataBlock = regexp.MustCompile(`(?s)=== data (\S+) \S+ ===\n(.*?)\n=== end \S+ ===`)

func read(t *testing.T, req llm.Request) data {
	d := data{t, map[string]json.RawMessage{}, req}
	for _, found := range dataBlock.FindAllStringSubmatch(req.Messages[0].Text, -1) {
		d.blocks[found[1]] = json.RawMessage(found[2])
	}
	return d
}

// get decodes a block; one that is not there leaves the zero value.
func get[T any](d data, name string) T {
	var v T
	if raw, ok := d.blocks[name]; ok {
		if err := json.Unmarshal(raw, &v); err != nil {
			d.t.Errorf("block %s: %v", name, err)
		}
	}
	return v
}

// said is a whole answer in the agents' form.
func said(d data, answer document) llm.Answer {
	whole := document{"confidence": "high", "reason": "", "evidence": []document{}, "decisions": []string{}, "unresolved": []string{}}
	for key, value := range answer {
		whole[key] = value
	}
	raw, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		d.t.Error(err)
	}
	return llm.Answer{Text: string(raw), Stop: llm.StopEnd}
}
