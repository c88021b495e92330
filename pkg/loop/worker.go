package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// CheckWorker checks a charter against the project file and its schemas.
// Around.Workers is not read. The worker lacks what could not be compiled.
func CheckWorker(declared *charter.Charter, around Surroundings) (*Worker, problem.Problems) {
	c := newChecker(around)
	c.work = declared
	w := &Worker{Charter: declared, Document: declared.Source.JSON(), Actions: map[string]*ActionRule{}}
	var ps problem.Problems
	w.Input, ps = around.Files.Schema(declared.Input)
	c.add(ps)
	w.Output, ps = around.Files.Schema(declared.Output)
	c.add(ps)
	output := anything
	if w.Input != nil {
		c.inputType = w.Input.Type()
	}
	if w.Output != nil {
		output = w.Output.Type()
	}
	c.group(declared.Owner, declared.Source.Get("owner"))
	after := afterWork(output)
	p := place{}
	for _, limit := range declared.Limits {
		compiled := LimitRule{Rule: c.rule(p, limit.Rule, after), Otherwise: limit.Otherwise, Say: c.phrase(p, limit.Say, after), FromCharter: true}
		compiled.Before = compiled.Rule != nil && !compiled.Rule.Uses.AfterWork()
		w.Limits = append(w.Limits, compiled)
	}
	for _, escalation := range declared.Escalate {
		w.Escalate = append(w.Escalate, EscalationRule{Rule: c.rule(p, escalation.Rule, after), To: escalation.To, Say: c.phrase(p, escalation.Say, after)})
		c.group(escalation.To, escalation.Source.Find("to"))
	}
	for _, action := range declared.Actions {
		w.Actions[action.Name] = c.charterAction(declared, action)
	}
	c.charterFacts(declared)
	c.charterTools(declared)
	c.charterAgent(w)
	w.faulty = declared.Faulty || c.problems.Errors() > 0
	return w, c.problems
}

func (c *checker) charterAction(declared *charter.Charter, action charter.Action) *ActionRule {
	p := place{}
	compiled := &ActionRule{Declared: action, Key: c.phrase(p, action.Key, nil), Resource: c.phrase(p, action.Resource, nil), Stage: declared.Stage(action)}
	if action.AtMost != nil {
		compiled.QuotaBy = c.phrase(p, action.AtMost.By, nil)
	}
	if action.Key.Set() && len(expressionsIn(action.Key)) == 0 {
		c.fault(action.Key.Node, "E218", "This key is the same for ever: the action would happen once and never again. Name what it is done for, such as ${input.order}.")
	}
	return compiled
}

func (c *checker) charterFacts(declared *charter.Charter) {
	for _, list := range []struct {
		key   string
		facts []string
	}{{"reads", declared.Reads}, {"writes", declared.Writes}} {
		node := declared.Source.Get(list.key)
		for i, name := range list.facts {
			if _, found := c.around.Project.Fact(name); found || c.someFact(name) {
				continue
			}
			names := []string{}
			for _, f := range c.around.Project.Facts {
				names = append(names, f.Name)
			}
			at := node
			if i < len(node.Items) {
				at = node.Items[i]
			}
			c.fault(at, "E231", "%s", c.notDeclared("fact", name, "facts", names))
		}
	}
}

// someFact tells whether a name that ends in * covers a declared fact.
func (c *checker) someFact(name string) bool {
	return slices.ContainsFunc(c.around.Project.Facts, func(f registry.Fact) bool { return registry.Fits(name, f.Name) })
}

func (c *checker) charterTools(declared *charter.Charter) {
	node := declared.Source.Get("tools")
	for _, tool := range declared.Tools {
		connection, found := c.around.Project.Connection(tool.Connection)
		if !found {
			names := []string{}
			for _, other := range c.around.Project.Connections {
				names = append(names, other.Name)
			}
			c.fault(node.Key(tool.Connection), "E229", "%s", c.notDeclared("connection", tool.Connection, "connections", names))
			continue
		}
		for _, item := range node.Get(tool.Connection).Items {
			if !slices.Contains(tool.May, item.Text) || slices.Contains(connection.May, item.Text) {
				continue // it is no name, which was reported, or it is allowed
			}
			message := fmt.Sprintf("The connection %q does not allow %q.", tool.Connection, item.Text)
			if nearest := schema.Nearest(item.Text, connection.May); nearest != "" {
				message += fmt.Sprintf(" Did you mean %q?", nearest)
			}
			c.faultSee(item, connection.Source, "E229", message+fmt.Sprintf(" It allows: %s.", strings.Join(connection.May, ", ")))
		}
	}
	if h := declared.HTTP; h != nil && h.Connection != "" {
		if _, found := c.around.Project.Connection(h.Connection); !found {
			c.fault(declared.Source.Find("http", "connection"), "E229", "%s", c.notDeclared("connection", h.Connection, "connections", nil))
		}
	}
}

func (c *checker) charterAgent(w *Worker) {
	a := w.Charter.Agent
	if a == nil {
		if a = w.Charter.Variant; a == nil {
			return
		}
	}
	if _, found := c.around.Project.Model(a.Model); a.Model != "" && !found {
		names := []string{}
		for _, m := range c.around.Project.Models {
			names = append(names, m.Name)
		}
		c.fault(a.Source.Find("model"), "E229", "%s", c.notDeclared("model", a.Model, "models", names))
	}
	if a.Prompt != "" {
		text, ps := c.around.Files.Text(a.Prompt, a.Source.Find("prompt"))
		c.add(ps)
		w.Prompt = text
	}
}

// CheckCalls checks that the workers which agents call exist and do not call in
// circles: an exchange without an end (R50).
func CheckCalls(workers map[string]*Worker) problem.Problems {
	var ps problem.Problems
	names := make([]string, 0, len(workers))
	for name := range workers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w := workers[name]
		if w == nil || w.Charter.Agent == nil {
			continue
		}
		list := w.Charter.Agent.Source.Get("calls")
		for i, called := range w.Charter.Agent.Calls {
			at := list
			if i < len(list.Items) {
				at = list.Items[i]
			}
			if workers[called] == nil {
				if _, exists := workers[called]; !exists {
					ps = append(ps, at.Problem("E223", "There is no worker "+fmt.Sprintf("%q", called)+didYouMean(called, names)))
				}
				continue
			}
			ps = append(ps, toolKeys(workers[called], at)...)
			if called == name {
				ps = append(ps, at.Problem("E222", fmt.Sprintf("%s calls itself, so nothing ends the exchange.", name)))
				continue
			}
			if reaches(workers, called, name, map[string]bool{}) {
				ps = append(ps, at.Problem("E222", fmt.Sprintf("%s and %s call each other, so nothing ends the exchange. Let one of them return instead.", name, called)))
			}
		}
	}
	return ps
}

// ToolAction is the action that a call of the worker as a tool does: its only
// one, apart from those that undo; nil: it does none.
func (w *Worker) ToolAction() *ActionRule {
	if names := w.ownActions(); len(names) == 1 {
		return w.Actions[names[0]]
	}
	return nil
}

// ownActions are the names of the actions that are not the undo of one before them.
func (w *Worker) ownActions() []string {
	var names []string
	for i, action := range w.Charter.Actions {
		undoes := slices.ContainsFunc(w.Charter.Actions[:i], func(a charter.Action) bool { return a.Undo == action.Name })
		if !undoes {
			names = append(names, action.Name)
		}
	}
	return names
}

// toolKeys demands keys in the charter of a worker that is used as a tool: no
// step gives any, and without one the action would happen once a run.
func toolKeys(tool *Worker, at *source.Node) problem.Problems {
	var ps problem.Problems
	if names := tool.ownActions(); len(names) > 1 {
		p := at.Problem("E219", fmt.Sprintf("%s is called as a tool, and a call does not say which of its actions it means: %s. Make workers of their own of them.", tool.Charter.Worker, strings.Join(names, ", ")))
		p.See = tool.Charter.Source.Find("actions").Where()
		ps = append(ps, p)
	}
	for _, action := range tool.Charter.Actions {
		if !action.Key.Set() {
			p := at.Problem("E218", fmt.Sprintf("%s is called as a tool, so no step gives a key to its action %s. Add `key` to the action in its charter.", tool.Charter.Worker, action.Name))
			p.See = action.Source.Where()
			ps = append(ps, p)
		}
	}
	return ps
}

func didYouMean(name string, names []string) string {
	if nearest := schema.Nearest(name, names); nearest != "" {
		return fmt.Sprintf(". Did you mean %q?", nearest)
	}
	return "."
}

// reaches tells whether calls lead from one worker to another.
func reaches(workers map[string]*Worker, from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	if seen[from] || workers[from] == nil || workers[from].Charter.Agent == nil {
		return false
	}
	seen[from] = true
	return slices.ContainsFunc(workers[from].Charter.Agent.Calls, func(next string) bool { return reaches(workers, next, to, seen) })
}
