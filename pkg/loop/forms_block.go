package loop

import (
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/source"
)

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
