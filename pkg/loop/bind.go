package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// bind resolves the names that expressions read and makes the environment that
// has just these. False: some name is wrong and was reported.
func (c *checker) bind(p place, expressions []expression, more extras) (*rule.Env, Uses, bool) {
	b := &binding{c: c, place: p, more: more, names: map[string]*schema.Type{}}
	for _, e := range expressions {
		parsed := c.references(e.text)
		if faults := slices.Clone(parsed.faults); len(faults) > 0 {
			for i := range faults {
				faults[i].Offset += e.offset
			}
			c.ruleFaults(p, e.node, faults)
			b.failed = true
			continue
		}
		for _, ref := range parsed.refs {
			b.resolve(e, ref)
		}
	}
	if b.failed {
		return nil, Uses{}, false
	}
	if b.about != nil {
		b.names["about"] = rule.AboutType(b.about...)
	}
	env, err := c.env(b.names)
	if err != nil {
		c.fault(expressions[0].node, "E116", "%s", sentence(err.Error()))
		return nil, Uses{}, false
	}
	return env, b.uses, true
}

// binding collects what a group of expressions reads.
type binding struct {
	c      *checker
	place  place
	more   extras
	names  map[string]*schema.Type
	about  []string
	uses   Uses
	failed bool
}

func (b *binding) resolve(e expression, ref rule.Ref) {
	if t, known := b.more[ref.Root]; known {
		b.names[ref.Root] = t
		b.uses.mark(ref.Root)
		return
	}
	switch ref.Root {
	case "input":
		if b.c.inputType == nil {
			b.fault(read{e, ref}, "E122", "A trigger makes the run's input; there is none yet to read. Use `event`, or write the value.", nil)
			return
		}
		b.names["input"] = b.c.inputType
		b.uses.Work, b.uses.Input = b.c.work != nil, b.c.work == nil
		return
	case "run":
		b.names["run"] = rule.RunType()
		b.uses.Run = true
		return
	case "facts":
		b.facts(e, ref)
		return
	case "about":
		b.record(e, ref)
		return
	}
	for _, block := range visibleItems(b.place) {
		if block.Step.Each.As == ref.Root {
			b.names[ref.Root] = known(b.c.items[block])
			b.uses.Items = appendNew(b.uses.Items, block)
			return
		}
	}
	if n := byName(b.c.visibleSteps(b.place), ref.Root); n != nil && b.c.work == nil {
		b.names[ref.Root] = known(n.OutputType)
		b.uses.Outputs = appendNew(b.uses.Outputs, n)
		return
	}
	b.unknown(e, ref)
}

// known is the type, or anything where an error kept it from being known.
func known(t *schema.Type) *schema.Type {
	if t == nil {
		return anything
	}
	return t
}

// mark notes that a name of a point of time is read.
func (u *Uses) mark(name string) {
	switch name {
	case "output":
		u.Output = true
	case "confidence":
		u.Confidence = true
	case "evidence":
		u.Evidence = true
	case "unresolved":
		u.Unresolved = true
	case "verdict":
		u.Verdict = true
	case "event":
		u.Event = true
	}
}

// AfterWork tells whether something is read that is known only after the work.
func (u Uses) AfterWork() bool { return u.Output || u.Confidence || u.Evidence || u.Unresolved }

func appendNew[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

func (b *binding) facts(e expression, ref rule.Ref) {
	n := b.place.node
	if n == nil || len(n.Reads) == 0 || b.c.work != nil {
		b.fault(read{e, ref}, "E122", "facts are what the step `reads`, and this reads none. Add `reads: {name: fact}` to the step.", nil)
		return
	}
	fields := make([]schema.Field, len(n.Reads))
	for i, read := range n.Reads {
		t := anything
		if read.Schema != nil {
			t = read.Schema.Type()
		}
		fields[i] = schema.Field{Name: read.Name, Type: t, Required: true}
		if len(ref.Path) == 0 || ref.Path[0] == read.Name {
			b.uses.Facts = appendNew(b.uses.Facts, read.Name)
		}
	}
	b.names["facts"] = schema.ObjectOf(fields...)
}

func (b *binding) record(e expression, ref rule.Ref) {
	visible := b.c.aboutSteps(b.place)
	if b.c.work != nil {
		visible = nil
	}
	if len(ref.Path) == 0 {
		b.fault(read{e, ref}, "E118", "`about` is no value: write about.STEP.status and the like.", nil)
		return
	}
	n := byName(visible, ref.Path[0])
	if n == nil {
		ref.Root, ref.Path = ref.Path[0], nil
		ref.Offset += len("about.")
		ref.Length = len(ref.Root)
		b.unknown(e, ref)
		return
	}
	b.about = appendNew(b.about, n.Name)
	b.uses.About = appendNew(b.uses.About, n)
}

// later says when the names of a point of time are known.
var later = map[string]string{
	"output": "`output` is known after the step's own work only", "confidence": "`confidence` is known after the step's own work only",
	"evidence": "`evidence` is known after the step's own work only", "unresolved": "`unresolved` is known after the step's own work only",
	"verdict": "`verdict` is the reviewer's output and known in a review's rule `pass` only", "event": "`event` is known in triggers and waits only",
}

// unknown words why a name is not known here.
func (b *binding) unknown(e expression, ref rule.Ref) {
	name := ref.Root
	if when, language := later[name]; language {
		b.fault(read{e, ref}, "E122", when+", not here.", nil)
		return
	}
	if found, exists := b.c.names[name]; exists {
		b.outOfScope(e, ref, found)
		return
	}
	available := b.available()
	message := fmt.Sprintf("There is no %q here.", name)
	if nearest := schema.Nearest(name, available); nearest != "" {
		message += fmt.Sprintf(" Did you mean %q?", nearest)
	} else {
		message += " Known are: " + strings.Join(available, ", ") + "."
	}
	b.fault(read{e, ref}, "E118", message, nil)
}

func (b *binding) outOfScope(e expression, ref rule.Ref, found named) {
	n := found.node
	switch {
	case found.item:
		b.fault(read{e, ref}, "E121", fmt.Sprintf("%q is an item of the block %q and known inside it only.", ref.Root, n.Name), found.label)
	case n == b.place.node:
		b.fault(read{e, ref}, "E201", fmt.Sprintf("A step cannot read itself. After the work its own output is `output`; before it there is none. %q is this step.", ref.Root), found.label)
	case within(b.place.node, n):
		b.fault(read{e, ref}, "E201", fmt.Sprintf("%q contains this step, so its output does not exist yet.", ref.Root), found.label)
	default:
		outer := n.Parent
		for outer != nil && outer.Kind == KindCase {
			outer = outer.Parent
		}
		message := fmt.Sprintf("%q stands inside the block %q, which is closed: outside, only the block's own output is seen. Add what you need to the output of %q.", ref.Root, outer.Name, outer.Name)
		b.fault(read{e, ref}, "E121", message, found.label)
	}
}

// within tells whether n stands inside block.
func within(n, block *Node) bool {
	for ; n != nil; n = n.Parent {
		if n == block {
			return true
		}
	}
	return false
}

// available are the names that are known here, sorted.
func (b *binding) available() []string {
	names := []string{"input", "run"}
	for name := range b.more {
		names = append(names, name)
	}
	if b.c.work == nil {
		for _, n := range b.c.visibleSteps(b.place) {
			names = append(names, n.Name)
		}
		for _, block := range visibleItems(b.place) {
			names = append(names, block.Step.Each.As)
		}
	}
	slices.Sort(names)
	return names
}

// read is a reference and the expression that it stands in.
type read struct {
	in  expression
	ref rule.Ref
}

func (b *binding) fault(r read, code, message string, see *source.Node) {
	b.failed = true
	at := r.in.node.PositionOf(r.in.offset + r.ref.Offset)
	p := r.in.node.File.Problem(code, at, r.ref.Length, message)
	if see != nil {
		p.See = see.Where()
	}
	b.c.problems = append(b.c.problems, p)
}
