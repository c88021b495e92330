package loop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// envCache keeps the environments of one check by their names and types.
type envCache map[string]*rule.Env

func (c *checker) env(names map[string]*schema.Type) (*rule.Env, error) {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&key, "%s=%p;", name, names[name])
	}
	if e, known := c.envs[key.String()]; known {
		return e, nil
	}
	e, err := rule.NewEnv(rule.Config{Names: names, Zone: c.zone})
	if err == nil {
		c.envs[key.String()] = e
	}
	return e, err
}

// extras are the names that are known at a point of a step's life only.
type extras map[string]*schema.Type

// afterWork are the names known after a step's work.
func afterWork(output *schema.Type) extras {
	return extras{"output": output, "confidence": rule.ConfidenceType(), "evidence": rule.EvidenceType(), "unresolved": rule.UnresolvedType()}
}

// with adds a name.
func (e extras) with(name string, t *schema.Type) extras {
	out := maps.Clone(e)
	if out == nil {
		out = extras{}
	}
	out[name] = t
	return out
}

// rule compiles a rule that is true or false; nil when it was left out or is wrong.
func (c *checker) rule(p place, e source.Expr, more extras) *Rule {
	return c.program(p, e, more, (*rule.Env).CompileBool)
}

// expr compiles an expression of any type.
func (c *checker) expr(p place, e source.Expr, more extras) *Rule {
	return c.program(p, e, more, (*rule.Env).Compile)
}

func (c *checker) program(p place, e source.Expr, more extras, compile func(*rule.Env, string) (*rule.Program, rule.Faults)) *Rule {
	if !e.Set() {
		return nil
	}
	env, uses, ok := c.bind(p, expressionOf(e), more)
	if !ok {
		return nil
	}
	program, faults := compile(env, e.Text)
	if len(faults) > 0 {
		c.ruleFaults(p, e.Node, faults)
		return nil
	}
	return &Rule{Program: program, Uses: uses}
}

// tree compiles a value; nil when it was left out or is wrong.
func (c *checker) tree(p place, v source.Value, more extras) *Tree {
	if !v.Set() {
		return nil
	}
	env, uses, ok := c.bind(p, expressionsIn(v), more)
	if !ok {
		return nil
	}
	value, faults := env.CompileValue(v.Node.Plain())
	if len(faults) > 0 {
		c.ruleFaults(p, v.Node, faults)
		return nil
	}
	return &Tree{Value: value, Uses: uses}
}

// phrase compiles a text; nil when it was left out or is wrong.
func (c *checker) phrase(p place, v source.Value, more extras) *Phrase {
	if !v.Set() {
		return nil
	}
	env, uses, ok := c.bind(p, expressionsIn(v), more)
	if !ok {
		return nil
	}
	text, faults := env.CompileText(v.Node.Text)
	if len(faults) > 0 {
		c.ruleFaults(p, v.Node, faults)
		return nil
	}
	return &Phrase{Text: text, Uses: uses}
}

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
			b.fault(e, ref, "E122", "A trigger makes the run's input; there is none yet to read. Use `event`, or write the value.", nil)
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
		b.fault(e, ref, "E122", "facts are what the step `reads`, and this reads none. Add `reads: {name: fact}` to the step.", nil)
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
		b.fault(e, ref, "E118", "`about` is no value: write about.STEP.status and the like.", nil)
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
		b.fault(e, ref, "E122", when+", not here.", nil)
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
	b.fault(e, ref, "E118", message, nil)
}

func (b *binding) outOfScope(e expression, ref rule.Ref, found named) {
	n := found.node
	switch {
	case found.item:
		b.fault(e, ref, "E121", fmt.Sprintf("%q is an item of the block %q and known inside it only.", ref.Root, n.Name), found.label)
	case n == b.place.node:
		b.fault(e, ref, "E201", fmt.Sprintf("A step cannot read itself. After the work its own output is `output`; before it there is none. %q is this step.", ref.Root), found.label)
	case within(b.place.node, n):
		b.fault(e, ref, "E201", fmt.Sprintf("%q contains this step, so its output does not exist yet.", ref.Root), found.label)
	default:
		outer := n.Parent
		for outer != nil && outer.Kind == KindCase {
			outer = outer.Parent
		}
		message := fmt.Sprintf("%q stands inside the block %q, which is closed: outside, only the block's own output is seen. Add what you need to the output of %q.", ref.Root, outer.Name, outer.Name)
		b.fault(e, ref, "E121", message, found.label)
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

func (b *binding) fault(e expression, ref rule.Ref, code, message string, see *source.Node) {
	b.failed = true
	at := e.node.PositionOf(e.offset + ref.Offset)
	p := e.node.File.Problem(code, at, ref.Length, message)
	if see != nil {
		p.See = see.Where()
	}
	b.c.problems = append(b.c.problems, p)
}

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
	n := c.producer(p, root)
	if n == nil || n.Worker == nil {
		return of
	}
	subject := n.Worker.Charter.Worker + "'s output"
	if deeper {
		return subject + ", in " + rest + ","
	}
	return subject
}

func (c *checker) producer(p place, root string) *Node {
	root, _, _ = strings.Cut(root, "[")
	if root == "output" && p.node != nil {
		return p.node
	}
	return byName(c.visibleSteps(p), root)
}

// schemaOf is the file of the schema that says which fields there are.
func (c *checker) schemaOf(p place, of string) string {
	root, _, _ := strings.Cut(of, ".")
	root, _, _ = strings.Cut(root, "[")
	if c.work != nil {
		return map[string]string{"input": c.work.Input.Path, "output": c.work.Output.Path}[root]
	}
	if n := c.producer(p, root); n != nil && n.Worker != nil {
		return n.Worker.Charter.Output.Path
	}
	if root == "input" && c.loop != nil {
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
