package loop

import (
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// declared is a step's keys as they stand in the file, before its form is known.
type declared struct {
	step     Step
	rows     []Row
	by       []Field
	list     source.Expr
	as       string
	maxItems int
	atOnce   int
	steps    []*Step
	output   source.Value
	join     Join
	branches []Branch
	cases    []Case
	wait     Wait
	budget   Budget
}

// formOf lists the keys that each form of a step allows beside those that all allow.
var formOf = map[StepKind][]string{
	KindWorker:   {"worker", "backup", "action", "key", "resource", "review", "accept", "limits", "approval", "input", "reads", "writes", "emit"},
	KindRoute:    {"route", "by", "action", "key", "resource", "review", "accept", "limits", "approval", "input", "reads", "writes", "emit"},
	KindLoop:     {"loop", "budget", "input", "accept", "approval", "reads", "writes", "emit"},
	KindEach:     {"each", "as", "key", "max_items", "at_once", "join", "steps", "output"},
	KindBranches: {"branches", "join"},
	KindSwitch:   {"switch"},
	KindWait:     {"wait", "emit"},
}

// kinds are the forms that a step may have, by the key that tells.
var kinds = []StepKind{KindWorker, KindRoute, KindLoop, KindEach, KindBranches, KindSwitch, KindWait}

// common are the keys that every form allows.
var common = []string{"when", "after", "within", "on_failure"}

func stepForm(f *forms) *source.Form[declared] {
	return source.NewForm("a step", "One part of the work.",
		source.Key("worker", hyphened, func(d *declared) *string { return &d.step.Worker }).Says("who does it"),
		source.Key("backup", hyphened, func(d *declared) *string { return &d.step.Backup }).Says("who takes over after the last retry"),
		source.Key("route", source.List[Row](rowForm()), func(d *declared) *[]Row { return &d.rows }).Says("who does it, by a table: the first row that fits"),
		source.Key("by", byFields(), func(d *declared) *[]Field { return &d.by }).Says("the values that the table's rows are compared with"),
		source.Key("loop", hyphened, func(d *declared) *string { return &d.step.Loop }).Says("another loop that does it"),
		source.Key("budget", source.Codec[Budget](budgetForm()), func(d *declared) *Budget { return &d.budget }).Says("the other loop's share of this run's budget"),
		source.Key("each", source.Rule(), func(d *declared) *source.Expr { return &d.list }).Says("CEL; a list, whose items are worked on one by one"),
		source.Key("as", underscored, func(d *declared) *string { return &d.as }).Says("the item's name in the block"),
		source.Key("max_items", source.Whole(1, 1_000_000), func(d *declared) *int { return &d.maxItems }).Says("more items fail the block before any starts"),
		source.Key("at_once", source.Whole(1, 10_000), func(d *declared) *int { return &d.atOnce }).Says("items at one time; 5 if not given"),
		source.Key("join", source.Codec[Join](joinForm()), func(d *declared) *Join { return &d.join }).Says("how many must be completed"),
		source.Key("steps", f.steps(), func(d *declared) *[]*Step { return &d.steps }).Says("the work for each item"),
		source.Key("output", source.Any(), func(d *declared) *source.Value { return &d.output }).Says("what each item gives"),
		source.Key("branches", source.Entries(source.Underscored, branchCodec(f), nameBranch), func(d *declared) *[]Branch { return &d.branches }).Says("steps that run side by side"),
		source.Key("switch", source.List[Case](caseForm(f)), func(d *declared) *[]Case { return &d.cases }).Says("other steps for other cases: the first that fits"),
		source.Key("wait", source.Codec[Wait](waitForm()), func(d *declared) *Wait { return &d.wait }).Says("for a time, a duration or an event"),
		source.Key("input", source.Fields(), func(d *declared) *source.Value { return &d.step.Input }).Says("all that the worker gets"),
		source.Key("when", source.Rule(), func(d *declared) *source.Expr { return &d.step.When }).Says("CEL; the step is not needed unless it holds"),
		source.Key("after", source.List(underscored), func(d *declared) *[]string { return &d.step.After }).Says("steps that must be done first"),
		source.Key("reads", source.Entries(source.Underscored, readCodec(), nameRead), func(d *declared) *[]FactRead { return &d.step.Reads }).Says("facts, bound to facts.NAME"),
		source.Key("writes", writes(), func(d *declared) *[]FactWrite { return &d.step.Writes }).Says("facts written on completion"),
		source.Key("emit", source.Pointer(source.Codec[Emission](emitForm())), func(d *declared) **Emission { return &d.step.Emit }).Says("an event sent on completion"),
		source.Key("within", source.Duration(), func(d *declared) *time.Duration { return &d.step.Within }).Says("all attempts and waits together"),
		source.Key("accept", source.List[Acceptance](acceptForm()), func(d *declared) *[]Acceptance { return &d.step.Accept }).Says("what must hold for the work to be accepted"),
		source.Key("limits", limitList(), func(d *declared) *[]charter.Limit { return &d.step.Limits }).Says("hard rules"),
		source.Key("review", source.Pointer(source.Codec[Review](reviewForm())), func(d *declared) **Review { return &d.step.Review }).Says("a check by another worker"),
		source.Key("approval", source.Pointer(source.Codec[Approval](approvalForm())), func(d *declared) **Approval { return &d.step.Approval }).Says("people are asked: before an action, after other work"),
		source.Key("action", hyphened, func(d *declared) *string { return &d.step.Action }).Says("the business action it does, once for its key"),
		source.Key("key", source.Phrase(), func(d *declared) *source.Value { return &d.step.Key }).Says("of an action: done once for it; of each: tells items apart"),
		source.Key("resource", source.Phrase(), func(d *declared) *source.Value { return &d.step.Resource }).Says("what only one may touch at a time"),
		source.Key("on_failure", source.Pointer(source.Codec[FailureRule](failureForm())), func(d *declared) **FailureRule { return &d.step.OnFailure }).Says("what happens when it fails"),
	)
}

// stepCodec reads a step and gives it its form.
func stepCodec(form *source.Form[declared]) source.Codec[*Step] {
	return asStep{form}
}

type asStep struct{ form *source.Form[declared] }

// Read reads a step.
func (a asStep) Read(r *source.Reader, n *source.Node) (*Step, bool) {
	d, ok := a.form.Read(r, n)
	if !ok {
		return nil, false
	}
	s := d.step
	s.Source = n
	s.Kind = kindOf(r, n)
	d.place(r, n, &s)
	return &s, true
}

// Schema describes a step.
func (a asStep) Schema(defs source.Definitions) map[string]any { return a.form.Schema(defs) }

// kindOf finds the one key that tells the step's form.
func kindOf(r *source.Reader, n *source.Node) StepKind {
	found := []StepKind{}
	words := []string{}
	for _, kind := range kinds {
		if n.Get(string(kind)) != nil {
			found = append(found, kind)
			words = append(words, string(kind))
		}
	}
	switch len(found) {
	case 1:
		foreignKeys(r, n, found[0])
		return found[0]
	case 0:
		r.Fault(n, "E204", "A step needs exactly one of worker, route, loop, each, branches, switch, wait.")
		return ""
	}
	r.Fault(n.Key(words[1]), "E204", "A step has one owner: it cannot have %s at once. Make two steps of it.", strings.Join(words, " and "))
	return ""
}

func foreignKeys(r *source.Reader, n *source.Node, kind StepKind) {
	for _, pair := range n.Pairs {
		key := pair.Key.Text
		if slices.Contains(common, key) || slices.Contains(formOf[kind], key) || !slices.Contains(tables().step.Keys(), key) {
			continue
		}
		r.Fault(pair.Key, "E205", "%q does not belong to a step with %q. Such a step may have: %s.", key, kind,
			strings.Join(append(slices.Clone(formOf[kind]), common...), ", "))
	}
}

// place moves what was read to where the step's form keeps it.
func (d *declared) place(r *source.Reader, n *source.Node, s *Step) {
	needed := func(keys ...string) {
		for _, key := range keys {
			if n.Get(key) == nil {
				r.Fault(n, source.MissingCode(key), "A step with %q needs %q.", s.Kind, key)
			}
		}
	}
	switch s.Kind {
	case KindRoute:
		s.Route = &Route{Rows: d.rows, By: d.by}
	case KindLoop:
		if n.Get("budget") != nil {
			s.Budget = &d.budget
		}
	case KindEach:
		needed("as", "key", "max_items", "steps", "output", "join")
		if d.atOnce == 0 {
			d.atOnce = 5
		}
		s.Each = &Each{List: d.list, As: d.as, Key: s.Key, MaxItems: d.maxItems, AtOnce: d.atOnce, Steps: d.steps, Output: d.output, Join: d.join}
		s.Key = source.Value{}
	case KindBranches:
		needed("join")
		s.Branches = &Branches{Branches: d.branches, Join: d.join}
	case KindSwitch:
		s.Switch = d.cases
	case KindWait:
		s.Wait = &d.wait
	}
}

func rowForm() *source.Form[Row] {
	match := func(field string) source.Field[Row] {
		words := source.OneOrMore(source.Line())
		return source.Key(field, source.Custom(map[string]any{"type": []any{"string", "array"}}, func(r *source.Reader, n *source.Node) (Match, bool) {
			values, ok := words.Read(r, n)
			return Match{Field: field, Values: values}, ok
		}), func(row *Row) *Match { return row.slot(field) })
	}
	return source.NewForm("a route's row", "Who does it when the row fits.",
		match("task").Says("types of task"), match("tool").Says("required tools"), match("risk").Says("risks"),
		match("urgency").Says("urgencies"), match("confidence").Says("confidences"),
		source.Key("worker", hyphened, func(row *Row) *string { return &row.Worker }).Says("who does it"),
		source.Key("backup", hyphened, func(row *Row) *string { return &row.Backup }).Says("who takes over"),
		source.Key("ask", hyphened, func(row *Row) *string { return &row.Ask }).Says("the group whose person fills in the output"),
	).Then(func(r *source.Reader, n *source.Node, row *Row) {
		row.Source = n
		if (row.Worker == "") == (row.Ask == "") && (n.Get("worker") == nil) == (n.Get("ask") == nil) {
			r.Fault(n, "E204", "A row needs exactly one of worker and ask.")
		}
	})
}

// slot is where the row keeps the match of a field.
func (row *Row) slot(field string) *Match {
	row.Match = append(row.Match, Match{Field: field})
	return &row.Match[len(row.Match)-1]
}

// routeFields are the fields of a routing table.
var routeFields = []string{"task", "tool", "risk", "urgency", "confidence"}

func byFields() source.Codec[[]Field] {
	field := source.OneOf(routeFields...)
	expr := source.Rule()
	properties := map[string]any{}
	for _, name := range routeFields {
		properties[name] = map[string]any{"type": "string"}
	}
	return source.Custom(map[string]any{"type": "object", "additionalProperties": false, "properties": properties},
		func(r *source.Reader, n *source.Node) ([]Field, bool) {
			if n.Kind != source.Mapping {
				r.Fault(n, "E112", "A mapping of fields (%s) to rules belongs here.", strings.Join(routeFields, ", "))
				return nil, false
			}
			out := []Field{}
			for _, pair := range n.Pairs {
				name, known := field.Read(r, pair.Key)
				if e, ok := expr.Read(r, pair.Value); ok && known {
					out = append(out, Field{Name: name, Expr: e})
				}
			}
			return out, true
		})
}

// group is a branch of several steps.
type group struct {
	steps  []*Step
	output source.Value
}

func branchCodec(f *forms) source.Codec[Branch] {
	several := source.NewForm("a branch", "Steps that run beside the other branches.",
		source.Key("steps", f.steps(), func(g *group) *[]*Step { return &g.steps }).Needed().Says("the branch's steps"),
		source.Key("output", source.Any(), func(g *group) *source.Value { return &g.output }).Says("what the branch gives"),
	)
	one := source.Lazily(func() source.Codec[*Step] { return stepCodec(f.step) })
	return branchReader{several, one}
}

type branchReader struct {
	several *source.Form[group]
	one     source.Codec[*Step]
}

// Read reads a branch: with `steps` and no `each` a group, else one step.
func (b branchReader) Read(r *source.Reader, n *source.Node) (Branch, bool) {
	if n.Get("steps") != nil && n.Get("each") == nil {
		g, ok := b.several.Read(r, n)
		return Branch{Steps: g.steps, Output: g.output, Source: n}, ok
	}
	s, ok := b.one.Read(r, n)
	return Branch{Step: s, Source: n}, ok
}

// Schema describes both.
func (b branchReader) Schema(defs source.Definitions) map[string]any {
	return map[string]any{"anyOf": []any{b.several.Schema(defs), b.one.Schema(defs)}}
}

func nameBranch(b *Branch, key *source.Node) {
	b.Name, b.Label = key.Text, key
	if b.Step != nil {
		b.Step.Name, b.Step.Label = key.Text, key
	}
}

// caseKeys are a case's keys as they stand in the file.
func caseForm(f *forms) *source.Form[Case] {
	return source.NewForm("a case", "One way of a switch.",
		source.Key("when", source.Rule(), func(c *Case) *source.Expr { return &c.When }).Says("CEL; the first case that holds is taken"),
		source.Key("otherwise", source.Flag(), func(c *Case) *bool { return &c.otherwise }).Says("true: the last case, for all the rest"),
		source.Key("steps", f.steps(), func(c *Case) *[]*Step { return &c.Steps }).Says("the case's steps"),
		source.Key("output", source.Any(), func(c *Case) *source.Value { return &c.Output }).Says("what the case gives; all cases give the same"),
	).Then(func(r *source.Reader, n *source.Node, c *Case) {
		c.Source = n
		if c.otherwise == (n.Get("when") != nil) {
			r.Fault(n, "E204", "A case needs exactly one of `when` and `otherwise: true`.")
		}
	})
}

func waitForm() *source.Form[Wait] {
	return source.NewForm("a wait", "For a time, a duration or an event.",
		source.Key("until", source.Rule(), func(w *Wait) *source.Expr { return &w.Until }).Says("CEL; a time"),
		source.Key("for", source.Duration(), func(w *Wait) *time.Duration { return &w.For }).Says("a duration"),
		source.Key("event", source.Name(source.Dotted), func(w *Wait) *string { return &w.Event }).Says("an event of the project file"),
		source.Key("match", source.Rule(), func(w *Wait) *source.Expr { return &w.Match }).Says("CEL over event; which event is meant"),
		source.Key("within", source.Duration(), func(w *Wait) *time.Duration { return &w.Within }).Says("how long to wait for the event"),
	).Then(finishWait)
}

func finishWait(r *source.Reader, n *source.Node, w *Wait) {
	w.Source = n
	forms := 0
	for _, key := range []string{"until", "for", "event"} {
		if n.Get(key) != nil {
			forms++
		}
	}
	if forms != 1 {
		r.Fault(n, "E204", "A wait needs exactly one of until, for and event.")
	}
	for _, key := range []string{"match", "within"} {
		switch {
		case n.Get("event") != nil && n.Get(key) == nil:
			r.Fault(n, "E246", "A wait for an event needs %q: %s.", key, map[string]string{"match": "which event is meant", "within": "how long to wait"}[key])
		case n.Get("event") == nil && n.Get(key) != nil:
			r.Fault(n.Key(key), "E205", "%q belongs to a wait for an event.", key)
		}
	}
}

func readCodec() source.Codec[FactRead] {
	form := source.NewForm("a read", "A fact that the step reads.",
		source.Key("fact", source.Phrase(), func(f *FactRead) *source.Value { return &f.Fact }).Needed().Says("the fact's name"),
		source.Key("fresh", source.Duration(), func(f *FactRead) *time.Duration { return &f.Fresh }).Says("its greatest age"),
	).Then(func(_ *source.Reader, n *source.Node, f *FactRead) { f.Source = n })
	phrase := source.Phrase()
	short := source.Custom(map[string]any{"type": "string"}, func(r *source.Reader, n *source.Node) (FactRead, bool) {
		v, ok := phrase.Read(r, n)
		return FactRead{Fact: v, Source: n}, ok
	})
	return source.Either(source.Codec[FactRead](form), short)
}

func nameRead(f *FactRead, key *source.Node) { f.Name = key.Text }

func writes() source.Codec[[]FactWrite] {
	return source.Custom(map[string]any{"type": "object"}, func(r *source.Reader, n *source.Node) ([]FactWrite, bool) {
		if n.Kind != source.Mapping {
			r.Fault(n, "E112", "A mapping of facts to values belongs here.")
			return nil, false
		}
		out := make([]FactWrite, len(n.Pairs))
		for i, pair := range n.Pairs {
			out[i] = FactWrite{Fact: source.Value{Node: pair.Key}, Value: source.Value{Node: pair.Value}}
		}
		return out, true
	})
}

func emitForm() *source.Form[Emission] {
	return source.NewForm("an emit", "An event sent on completion.",
		source.Key("event", source.Name(source.Dotted), func(e *Emission) *string { return &e.Event }).Needed().Says("an event of the project file"),
		source.Key("data", source.Fields(), func(e *Emission) *source.Value { return &e.Data }).Needed().Says("its content"),
	).Then(func(_ *source.Reader, n *source.Node, e *Emission) { e.Source = n })
}
