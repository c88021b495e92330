package coordinator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// veil hides in sentences about a run what its values hold in sensitive fields
// (R25): in causes, reasons, decisions and alerts. A nil veil hides nothing.
type veil struct {
	c     *Coordinator
	names []string
	texts map[string]bool
	facts map[string]bool
	made  *strings.Replacer
	// all: nothing tells any more what is sensitive, so that all of it is.
	all bool
}

// veilOf is an empty veil of a run, with its definition: nil where nothing is to
// be hidden, since the project marks nothing or the reader may see it. Of a run
// that is gone, or whose definition is, everything is hidden.
func (c *Coordinator) veilOf(ctx context.Context, run string) (*veil, *loop.Definition, error) {
	if run == "" || ctx.Value(revealed{}) != nil {
		return nil, nil, nil
	}
	def, err := c.definitionOf(ctx, run)
	if errors.Is(err, ErrNoRun) || errors.Is(err, ErrNoDefinition) {
		return &veil{all: true}, nil, nil
	}
	names := sensitiveNames(def)
	if err != nil || len(names) == 0 {
		return nil, nil, err
	}
	return &veil{c: c, names: names, texts: map[string]bool{}, facts: map[string]bool{}}, def, nil
}

// veilRun knows all values of a run.
func (c *Coordinator) veilRun(ctx context.Context, r *record.Run) (*veil, error) {
	v, def, err := c.veilOf(ctx, r.ID)
	if def == nil || v == nil || err != nil {
		return v, err
	}
	if err := v.run(ctx, r); err != nil {
		return nil, err
	}
	part := record.RunKey(r.ID).Part
	for _, prefix := range []string{record.VisitsPrefix(), record.StepsPrefix("")} {
		err := c.each(ctx, store.Query{Part: part, Prefix: prefix, Limit: 500}, func(item *store.Item) error {
			step, err := record.DecodeStep(item)
			if err != nil {
				return err
			}
			return v.step(ctx, step)
		})
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// spot is where in a run something happened: a machine's step path and item.
type spot struct{ path, item string }

// veilAt knows the values that a step can see, its own, and the run's; without a
// step, those of the steps outside of items.
func (c *Coordinator) veilAt(ctx context.Context, run string, at spot) (*veil, error) {
	v, def, err := c.veilOf(ctx, run)
	if def == nil || v == nil || err != nil {
		return v, err
	}
	index, err := outerloop.ParseItem(at.item)
	if err != nil {
		index = nil
	}
	view, err := c.look(ctx, run, def, visible(def, at.path, index)...)
	if errors.Is(err, ErrNoRun) { // removed since
		return &veil{all: true}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := v.run(ctx, view.run); err != nil {
		return nil, err
	}
	for _, step := range view.steps {
		if err := v.step(ctx, step); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// veilOfReason knows what the reason of a run's state may speak of.
func (c *Coordinator) veilOfReason(ctx context.Context, r *record.Run) (*veil, error) {
	if r.Reason == "" {
		return nil, nil
	}
	if r.Exception == "" {
		return c.veilAt(ctx, r.ID, spot{})
	}
	exc, err := one(ctx, c, record.ExceptionKey(r.Exception), record.DecodeException)
	if err != nil || exc == nil {
		return nil, err
	}
	return c.veilAt(ctx, r.ID, spot{exc.Path, exc.Item})
}

// visible are the steps that one can see from where it stands, and itself.
func visible(def *loop.Definition, path string, index []int) []record.Address {
	var out []record.Address
	around := []*loop.Node{}
	if n, review, ok := lookup(def, path); ok && n.Depth <= len(index) {
		around = enclosing(n)
		out = append(out, address(n, index))
		if review {
			out = append(out, reviewOf(address(n, index)))
		}
	}
	for _, n := range def.Nodes {
		if blocks := enclosing(n); len(blocks) <= len(around) && slices.Equal(blocks, around[:len(blocks)]) && len(blocks) <= len(index) {
			out = append(out, address(n, index))
			if n.Review != nil {
				out = append(out, reviewOf(address(n, index)))
			}
		}
	}
	return out
}

func (v *veil) run(ctx context.Context, r *record.Run) error {
	return errors.Join(v.value(ctx, r.Input), v.value(ctx, r.Output))
}

func (v *veil) step(ctx context.Context, s *record.Step) error {
	if s == nil {
		return nil
	}
	err := errors.Join(v.value(ctx, s.Input), v.value(ctx, s.Output), v.value(ctx, s.Override))
	for _, name := range slices.Sorted(maps.Keys(s.Facts)) {
		if v.facts[name] {
			continue
		}
		v.facts[name] = true
		fact, readErr := one(ctx, v.c, record.FactKey(name), record.DecodeFact)
		if err = errors.Join(err, readErr); fact != nil {
			err = errors.Join(err, v.value(ctx, fact.Value))
		}
	}
	return err
}

// value adds what stands in the sensitive fields of a kept value.
func (v *veil) value(ctx context.Context, kept record.Value) error {
	if kept.IsZero() {
		return nil
	}
	raw, err := v.c.raw(ctx, kept)
	if errors.Is(err, store.ErrNoBlob) {
		return nil // removed since
	}
	if err != nil || !slices.ContainsFunc(v.names, func(name string) bool { return strings.Contains(string(raw), `"`+name+`"`) }) {
		return err
	}
	value, err := parse("stored value", raw)
	if err != nil {
		return err
	}
	_, texts := schema.RedactNamed(value, v.names)
	for _, text := range texts {
		v.texts[text] = true
		for range 2 { // as it stands in a document, and in one that is a text in another
			quoted, err := canonical(text)
			if err != nil {
				return err
			}
			text = strings.Trim(string(quoted), `"`)
			v.texts[text] = true
		}
	}
	return nil
}

// hide replaces what is sensitive in a text.
func (v *veil) hide(text string) string {
	switch {
	case v == nil || text == "":
		return text
	case v.all:
		return schema.Redacted
	}
	if v.made == nil {
		v.made = hiding(slices.Sorted(maps.Keys(v.texts)))
	}
	return v.made.Replace(text)
}

func (v *veil) hideAll(texts []string) []string {
	if v == nil || len(texts) == 0 {
		return texts
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = v.hide(text)
	}
	return out
}

// Hiding gives what replaces the sensitive values of a run in texts that somebody
// else keeps about it, such as an engine's history. Of a run that there is not,
// and for who may see them (Reveal), it changes nothing.
func (c *Coordinator) Hiding(ctx context.Context, run string) (func(text string) string, error) {
	r, err := one(ctx, c, record.RunKey(run), record.DecodeRun)
	if err != nil || r == nil {
		return func(text string) string { return text }, err
	}
	v, err := c.veilRun(ctx, r)
	return v.hide, err
}

// veiled hides in alerts what the run that they are about marks sensitive. Where
// that cannot be found out, the text is left out.
func (c *Coordinator) veiled(notify Notify) Notify {
	return func(ctx context.Context, a Alert) {
		v, err := c.veilAt(ctx, a.Run, a.at)
		if err != nil {
			c.cfg.Log.Warn("what is sensitive in an alert was not found out", "kind", a.Kind, "id", a.ID, "run", a.Run, "err", err)
			a.Text = schema.Redacted
		}
		a.Text = v.hide(a.Text)
		notify(ctx, a)
	}
}

// veiledText is a text that is kept outside of the call's run, without what is
// sensitive in it; where that cannot be found out, none.
func (q *call) veiledText(ctx context.Context, text string) string {
	v, err := q.c.veilAt(ctx, q.run.ID, spot{q.Step, q.Item})
	if err != nil {
		return schema.Redacted
	}
	return v.hide(text)
}
