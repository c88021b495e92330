package project

import (
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// planned checks a loop of steps "name: before before" and gives its definition.
func planned(t *testing.T, steps ...string) *loop.Definition {
	t.Helper()
	text := `loop: other
version: 1
owner: ops
objective: Steps in some order.
subject: ${input.name}
input: {type: object, properties: {name: {type: string}}, required: [name], additionalProperties: false}
budget: {cost: 0.10 USD, deadline: 1h}
defaults: {on_failure: {then: halt}}
steps:
`
	for _, step := range steps {
		name, before, _ := strings.Cut(step, ":")
		text += "  " + name + ": {worker: writer, input: {name: x}, after: [" + strings.Join(strings.Fields(before), ", ") + "], accept: [{rule: output.text != \"\", say: Some.}]}\n"
	}
	files := baseFiles(t)
	files[LoopDir+"/other"+LoopSuffix] = text + "output: {text: x}\n"
	p, ps := Load(files)
	d, ok := p.Loop("other")
	if !ok {
		t.Fatal(ps)
	}
	return d
}

// R13: the graph and a deterministic order are computed; what does not depend on each other runs in parallel.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want  string
		steps []string
	}{
		{"a", []string{"a:"}},
		{"(a b c)", []string{"c:b", "b:a", "a:"}},
		{"[a b]", []string{"a:", "b:"}},
		{"(a [b c] d)", []string{"a:", "b:a", "c:a", "d:b c"}},
		{"[(a b) (c d)]", []string{"a:", "b:a", "c:", "d:c"}},
		{"(a [(b c) d] e)", []string{"a:", "b:a", "c:b", "d:a", "e:c d"}},
		{"(a b c)", []string{"a:", "b:a", "c:a b"}},
		// not series-parallel: d waits for a and c, b only for a
		{"levels([a c] [b d])", []string{"a:", "b:a", "c:", "d:a c"}},
		{"(s levels([a c] [b d]) z)", []string{"s:", "a:s", "b:a", "c:s", "d:a c", "z:b d"}},
		// of two that may come next, the first in the file does
		{"[y x]", []string{"y:", "x:"}},
	} {
		if got := shape(planned(t, test.steps...).Body.Plan); got != test.want {
			t.Errorf("%v: got %s, want %s", test.steps, got, test.want)
		}
	}
}

// What a definition tells those who compile and run it.
func TestADefinitionIsResolved(t *testing.T) {
	t.Parallel()
	p, ps := Open("../..")
	d, ok := p.Loop("crm-followup")
	if !ok {
		t.Fatal(ps)
	}
	if got := shape(d.Body.Plan); got != "(scan follow_up dashboard)" {
		t.Errorf("plan %s", got)
	}
	block, _ := d.Node("follow_up")
	if block.Decider == nil || block.Decider.Path != "scan" || block.Decider.Decides != block {
		t.Error("scan's settle answers the items of follow_up")
	}
	send, _ := d.Node("follow_up/send")
	if len(send.Needs) != 1 || send.Needs[0].Node.Path != "follow_up/draft" || send.Needs[0].Waits {
		t.Errorf("send needs %+v", send.Needs)
	}
	if send.Depth != 1 || send.Mode != "queue" || !send.Limits[0].Before {
		t.Errorf("depth %d, mode %s", send.Depth, send.Mode)
	}
	uses := send.Approval.When.Uses
	if len(uses.Items) != 1 || uses.Items[0] != block || len(uses.About) != 1 || uses.About[0].Name != "draft" {
		t.Errorf("the approval's rule uses %+v", uses)
	}
	draft, _ := d.Node("follow_up/draft")
	if draft.Approval == nil || draft.Approval.Declared || draft.Approval.Within.Hours() != 20 {
		t.Errorf("draft's approval is completed by defaults: %+v", draft.Approval)
	}
	if draft.Failure.Then != loop.EndingSkip || len(draft.Failure.Retry) != 4 || draft.Failure.Say == nil {
		t.Errorf("draft's failure rule is completed key by key: %+v", draft.Failure)
	}
	if draft.Limits[0].Before {
		t.Error("a limit that reads the output is checked after the work")
	}
}

// default() and about only wait for a step; a firm reference beside them makes the need firm.
func TestWaitingIsNotNeeding(t *testing.T) {
	t.Parallel()
	p, ps := Load(baseFiles(t))
	d, ok := p.Loop("forms")
	if !ok {
		t.Fatal(ps)
	}
	last, _ := d.Node("last")
	got := map[string]bool{}
	for _, need := range last.Needs {
		got[need.Node.Path] = need.Waits
	}
	want := map[string]bool{"shipped": false, "sources": true, "reply/1/call": true, "sources/papers/tell": true}
	for path, waits := range want {
		if has, exists := got[path]; !exists || has != waits {
			t.Errorf("%s: waits %t (there: %t), want %t", path, has, exists, waits)
		}
	}
	if len(got) != len(want) {
		t.Errorf("needs %v", got)
	}
}
