package loop

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

var faultCodes = map[rule.FaultKind]string{
	rule.Syntax: "E116", rule.UnknownName: "E118", rule.UnknownField: "E117", rule.UnknownCall: "E124",
	rule.Mismatch: "E119", rule.BadLiteral: "E125",
}

// ruleFaults turns what the rule compiler found into problems at the places of the file.
func (c *checker) ruleFaults(p place, root *source.Node, faults rule.Faults) {
	for _, f := range faults {
		n := pointedAt(root, f.Path)
		text := n.Text[min(f.Offset, len(n.Text)):]
		width := utf8.RuneCountInString(text[:min(f.Length, len(text))])
		found := n.File.Problem(faultCodes[f.Kind], n.PositionOf(f.Offset), width, c.words(p, f))
		if f.Kind == rule.UnknownField {
			found.See = c.schemaOf(p, f.Of)
		}
		c.problems = append(c.problems, found)
	}
}

// words is what is wrong and what to write instead.
func (c *checker) words(p place, f rule.Fault) string {
	if f.Kind != rule.UnknownField || f.Of == "" || len(f.Available) == 0 {
		return sentence(upperFirst(f.Message))
	}
	message := fmt.Sprintf("%s has no field %q.", c.possessor(p, f.Of), f.Name)
	if f.Suggestion != "" {
		return message + fmt.Sprintf(" Did you mean %q?", f.Suggestion)
	}
	return message + " Its fields: " + strings.Join(f.Available, ", ") + "."
}

// possessor names what lacks a field: "lead-qualifier's output" for a worker's step.
func (c *checker) possessor(p place, of string) string {
	root, rest, deeper := strings.Cut(of, ".")
	if c.work != nil && !deeper {
		return c.work.Worker + "'s " + of
	}
	w := c.producer(p, root)
	if w == nil || c.isItem(p, root) {
		return of
	}
	subject := w.Charter.Worker + "'s output"
	if deeper {
		return subject + ", in " + rest + ","
	}
	return subject
}

// producer is the worker whose output a name stands for or is a part of; nil
// where it is none's.
func (c *checker) producer(p place, root string) *Worker {
	root, _, _ = strings.Cut(root, "[")
	if p.node != nil && root == "output" {
		return p.node.Worker
	}
	if p.node != nil && root == "verdict" && p.node.Step != nil && p.node.Step.Review != nil {
		return c.around.Workers[p.node.Step.Review.Worker]
	}
	for _, block := range visibleItems(p) {
		if block.Step.Each.As == root && block.Each.List != nil && len(block.Each.List.Uses.Outputs) == 1 {
			return block.Each.List.Uses.Outputs[0].Worker
		}
	}
	if n := byName(c.visibleSteps(p), root); n != nil {
		return n.Worker
	}
	return nil
}

// isItem tells whether a name is that of an item.
func (c *checker) isItem(p place, root string) bool {
	return slices.ContainsFunc(visibleItems(p), func(block *Node) bool { return block.Step.Each.As == root })
}

// schemaOf is the file of the schema that says which fields there are; "" for one in place.
func (c *checker) schemaOf(p place, of string) string {
	root, _, _ := strings.Cut(of, ".")
	root, _, _ = strings.Cut(root, "[")
	if c.work != nil {
		return map[string]string{"input": c.work.Input.Path, "output": c.work.Output.Path}[root]
	}
	if w := c.producer(p, root); w != nil {
		return w.Charter.Output.Path
	}
	if root == "input" {
		return c.loop.Input.Path
	}
	return ""
}

// pointedAt follows a JSON pointer into a value; as far as it leads.
func pointedAt(n *source.Node, pointer string) *source.Node {
	if pointer == "" {
		return n
	}
	for _, token := range strings.Split(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		var next *source.Node
		if n.Kind == source.Sequence {
			for i, item := range n.Items {
				if fmt.Sprint(i) == token {
					next = item
				}
			}
		} else {
			next = n.Get(token)
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// fits reports where a value does not fit a schema.
func (c *checker) fits(v source.Value, produced *schema.Type, wanted *schema.Schema, whose string) {
	if produced == nil || wanted == nil {
		return
	}
	for _, fault := range schema.Compatible(produced, wanted.Type()) {
		if unknown(produced, fault) {
			continue // the value itself is checked when it is there
		}
		n := v.Node
		if n != nil {
			n = pointedAt(n, fault.Path)
		}
		found := n.Problem("E120", fmt.Sprintf("%s does not take this: %s", whose, sentence(fault.String())))
		found.See = wanted.Name()
		c.problems = append(c.problems, found)
	}
}

// unknown tells whether a fault is only that a value of an unknown type may be absent.
func unknown(produced *schema.Type, fault schema.Fault) bool {
	if fault.Keyword != "required" || fault.Path == "" {
		return false
	}
	t, _, err := produced.Lookup(strings.Split(fault.Path[1:], "/")...)
	return err == nil && t.Kind == schema.Any
}

func upperFirst(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
