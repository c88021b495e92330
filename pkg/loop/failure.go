package loop

import (
	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// failure finds the effective failure rule: the step's, completed by the defaults key by key.
func (c *checker) failure(n *Node) {
	effective := n.Step.OnFailure.completed(c.loop.Defaults.OnFailure)
	if n.Kind == KindEach || n.Kind == KindBranches {
		// The join says what happens to the block; its failure rule is for the list and the join alone.
		effective = n.Step.OnFailure.completed(&FailureRule{Then: n.Join.Otherwise})
	}
	if n.Kind == KindSwitch || n.Kind == KindWait {
		effective.Retry = nil
		if n.Step.OnFailure != nil && n.Step.OnFailure.Retry != nil {
			c.fault(n.Step.OnFailure.Source.Key("retry"), "E205", "A %s is not retried: it does no work.", n.Kind)
		}
	}
	if effective.Then == "" && (n.Join == nil || n.Join.Source != nil) && !c.triedThen(n) {
		c.fault(c.labelOf(n), "E213", "%q does not say what happens when it fails. Add on_failure: {then: skip} (or halt, ask, {substitute: value}) to the step or to `defaults`.", n.Name)
	}
	p := place{node: n}
	rules := &FailureRules{Then: effective.Then, Say: c.phrase(p, effective.Say, nil), Substitute: c.tree(p, effective.Substitute, nil)}
	seen := map[outerloop.Class]bool{}
	for _, retry := range effective.Retry {
		if seen[retry.Class] {
			continue
		}
		seen[retry.Class] = true
		compiled := RetryRule{Retry: retry}
		for _, field := range retry.Input {
			compiled.Fields = append(compiled.Fields, NamedTree{Name: field.Name, Tree: c.tree(p, field.Value, nil)})
		}
		rules.Retry = append(rules.Retry, compiled)
	}
	n.Failure = rules
	c.retriesDeclared(n)
}

// triedThen tells whether some `then` stands there, though it could not be read.
func (c *checker) triedThen(n *Node) bool {
	for _, rule := range []*FailureRule{n.Step.OnFailure, c.loop.Defaults.OnFailure} {
		if rule != nil && rule.Source.Get("then") != nil {
			return true
		}
	}
	return false
}

// completed fills in what the rule leaves out; both may be nil.
func (f *FailureRule) completed(by *FailureRule) FailureRule {
	out := FailureRule{}
	if f != nil {
		out = *f
	}
	if by == nil {
		return out
	}
	if out.Retry == nil {
		out.Retry = by.Retry
	}
	if out.Then == "" {
		out.Then, out.Substitute = by.Then, by.Substitute
	}
	if !out.Say.Set() {
		out.Say = by.Say
	}
	return out
}

// retriesDeclared warns of a step's own retries for classes that its worker never fails with.
func (c *checker) retriesDeclared(n *Node) {
	if n.Kind != KindWorker || n.Step.OnFailure == nil {
		return
	}
	w := c.around.Workers[n.Step.Worker]
	if w == nil {
		return
	}
	for _, retry := range n.Step.OnFailure.Retry {
		if retry.Class != outerloop.ClassAny && !w.Charter.Declares(retry.Class) {
			c.fault(n.Step.OnFailure.Source.Get("retry").Key(string(retry.Class)), "W306", "The charter of %s does not list %s under fails_with, so this retry never happens.", w.Charter.Worker, retry.Class)
		}
	}
}

// substitute compares a substitute with what the step would have given.
func (c *checker) substitute(n *Node) {
	if n.Failure == nil || n.Failure.Substitute == nil || n.OutputType == nil {
		return
	}
	at := c.substituteNode(n)
	for _, fault := range schema.Compatible(n.Failure.Substitute.Type(), n.OutputType) {
		c.fault(pointedAt(at, fault.Path), "E120", "The substitute takes the place of the output, but %s", sentence(fault.String()))
	}
}

func (c *checker) substituteNode(n *Node) *source.Node {
	if f := n.Step.OnFailure; f != nil && f.Substitute.Set() {
		return f.Substitute.Node
	}
	return c.loop.Defaults.OnFailure.Substitute.Node
}
