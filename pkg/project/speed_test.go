package project

import (
	"fmt"
	"testing"
)

// twentySteps is a loop of twenty steps, each with a rule and an input that read the step before.
func twentySteps(name string) string {
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
		text += fmt.Sprintf("  s%d: {worker: writer, when: s%d.discount < 0.1, input: {name: \"${s%d.text}\"}}\n", i, i-1, i-1)
	}
	return text + "output: {text: \"${s19.text}\"}\n"
}

func BenchmarkLoad(b *testing.B) {
	files := texts{}
	for path, text := range baseFiles(b) {
		files[path] = text
	}
	for i := range 100 {
		name := fmt.Sprintf("many-%d", i)
		files[LoopDir+"/"+name+LoopSuffix] = twentySteps(name)
	}
	for b.Loop() {
		if _, ps := Load(files); ps.Err() != nil {
			b.Fatal(ps)
		}
	}
}
