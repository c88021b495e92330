package project

import (
	"strings"
	"testing"
	"testing/fstest"
)

// The tools of an agent ask people by the rules of its step; a step without any
// is refused, once, and with them its machine waits for the decision (R44, R46).
func TestToolsThatMayAskNeedSomebodyToAsk(t *testing.T) {
	t.Parallel()
	load := func(defaults string) (*Project, string) {
		fsys := fstest.MapFS{}
		for name, text := range baseFiles(t) {
			switch name {
			case WorkerDir + "/checker/" + CharterFile:
				text = strings.Replace(text, "authority:", "limits: [{rule: 'input.text != \"\"', otherwise: approve, say: A person looks.}]\nauthority:", 1)
			case LoopDir + "/good" + LoopSuffix:
				text = "loop: good\nversion: 1\nowner: ops\nobjective: A fixture.\nsubject: ${input.customer}\n" +
					"input: {type: object, properties: {customer: {type: string}}, required: [customer], additionalProperties: false}\n" +
					"budget: {cost: 1.00 USD, deadline: 1d}\n" + defaults +
					"steps:\n  talk: {worker: helper, input: {text: \"${input.customer}\"}, on_failure: {then: skip}}\noutput: {text: \"${talk.text}\"}\n"
			}
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		p, problems := Load(fsys)
		var found []string
		for _, problem := range problems {
			if strings.Contains(problem.Path, "good") && !problem.Warning() {
				found = append(found, problem.Code+" "+problem.Message)
			}
		}
		return p, strings.Join(found, "\n")
	}
	if _, found := load(""); strings.Count(found, "E216") != 1 || !strings.Contains(found, "helper calls checker as a tool") {
		t.Errorf("without anybody to ask: %s", found)
	}
	p, found := load("defaults: {approval: {approvers: [leads], within: 2h, expired: skip, rejected: skip}}\n")
	if found != "" {
		t.Fatalf("with approvers: %s", found)
	}
	if n, ok := p.Loops["good"].Node("talk"); !ok || n.Approval == nil || n.Approval.Declared {
		t.Errorf("the step's approval is %+v", n.Approval)
	}
}
