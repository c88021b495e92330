package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// haltError says that the run cannot go on from a place: it becomes blocked
// with one exception.
type haltError struct {
	at    record.Address
	name  string
	node  *loop.Node
	cause string
}

// Error is the cause.
func (e *haltError) Error() string { return e.name + ": " + e.cause }

// answerNext gives the machine what its next block needs, and the write that
// records it: items, case, row or time are decided once.
func (v *view) answerNext(ctx context.Context, next *gate.Next, items []int) (gate.Note, []store.Op, error) {
	if next == nil {
		return gate.Note{}, nil, nil
	}
	n, ok := v.def.Node(next.Block)
	if !ok {
		return gate.Note{}, nil, fmt.Errorf("the machine asks for %q, which the loop does not have: %w", next.Block, ErrNotAllowed)
	}
	at := address(n, items)
	if err := v.fetch(ctx, at); err != nil {
		return gate.Note{}, nil, err
	}
	if head := v.steps[at]; head != nil && (head.Block != nil || head.State == outerloop.StepSettled) {
		return noteOf(n, head, next.Pages), nil, nil
	}
	head := v.blockRecord(ctx, n, items)
	if err := v.open(ctx, n, items, head); err != nil {
		return gate.Note{}, nil, err
	}
	v.steps[at] = head
	return noteOf(n, head, next.Pages), []store.Op{head.Put()}, nil
}

// open decides what a block begins with; one that is not needed is settled at once.
func (v *view) open(ctx context.Context, n *loop.Node, items []int, head *record.Step) error {
	missing, reason, err := v.unneeded(ctx, n, items)
	if err != nil {
		return v.halted(ctx, n, items, err)
	}
	if reason != "" {
		head.Missing, head.Reason = missing, reason
		protocol.Settle(head, outerloop.OutcomeNotNeeded, v.c.now(), gate.Note{})
		head.Note(record.Entry{At: v.c.now(), Kind: "decided", Outcome: string(outerloop.OutcomeNotNeeded), Rule: reason})
		return nil
	}
	var text string
	switch n.Kind {
	case loop.KindEach:
		text, err = v.openEach(ctx, n, items, head)
	case loop.KindSwitch:
		text, err = v.openSwitch(ctx, n, items, head)
	case loop.KindRoute:
		text, err = v.openRoute(ctx, n, items, head)
	case loop.KindWait:
		text, err = v.openWait(ctx, n, items, head)
	}
	if err != nil {
		return v.halted(ctx, n, items, err)
	}
	head.Note(record.Entry{At: v.c.now(), Kind: "decided", Rule: text})
	return nil
}

// halted turns what a rule could not compute into a halt; what was not settled
// yet and the store's own errors stay what they are.
func (v *view) halted(ctx context.Context, n *loop.Node, items []int, err error) error {
	var said *ruleError
	if !errors.As(err, &said) {
		return err
	}
	return &haltError{at: address(n, items), name: v.name(ctx, n, items), node: n, cause: err.Error()}
}

// unneeded tells why a node is not needed: a step without whose output it does
// not run, or its `when`. No reason: it is due.
func (v *view) unneeded(ctx context.Context, n *loop.Node, items []int) (missing, reason string, err error) {
	if missing, reason, err = v.lacking(ctx, n, items); err != nil || reason != "" {
		return missing, reason, err
	}
	reason, err = v.notWhen(ctx, n, items)
	return "", reason, err
}

// lacking names the step without whose output a node does not run.
func (v *view) lacking(ctx context.Context, n *loop.Node, items []int) (missing, reason string, err error) {
	for _, d := range n.Needs {
		out, err := v.outcomeOf(ctx, d.Node, items)
		if err != nil {
			return "", "", err
		}
		if !out.settled {
			return "", "", fmt.Errorf("%s %w", d.Node.Path, errNotSettled)
		}
		if !d.Waits && !out.outcome.HasOutput() {
			root := d.Node.Path
			if out.missing != "" {
				root = out.missing
			}
			reason, err = v.ended(ctx, root, out, items)
			return root, reason, err
		}
	}
	return "", "", nil
}

// notWhen is the reason when a node's `when` is false.
func (v *view) notWhen(ctx context.Context, n *loop.Node, items []int) (string, error) {
	if n.When == nil {
		return "", nil
	}
	yes, text, err := v.truth(ctx, n.When, items, nil)
	if err != nil || yes {
		return "", err
	}
	return "when: " + text, nil
}

// ended words how the step ended without whose output a node does not run; near
// is what lies between, or that step itself.
func (v *view) ended(ctx context.Context, path string, near result, items []int) (string, error) {
	n, ok := v.def.Node(path)
	if !ok || n.Depth > len(items) {
		return fmt.Sprintf("needs %s, which ended %s", path, near.outcome), nil
	}
	if err := v.fetch(ctx, addressesOf(n, items)...); err != nil {
		return "", err
	}
	out := v.of(n, items)
	switch {
	case !out.settled:
		out = near
	case n.Review != nil && out.outcome != out.step.Outcome:
		return fmt.Sprintf("needs %s, whose review ended %s", path, out.outcome), nil
	}
	return fmt.Sprintf("needs %s, which ended %s", path, out.outcome), nil
}

func (v *view) openEach(ctx context.Context, n *loop.Node, items []int, head *record.Step) (string, error) {
	value, err := v.compute(ctx, n.Each.List, items, nil)
	if err != nil {
		return "", err
	}
	list, ok := value.([]any)
	if !ok {
		return "", ruleFault("%s is not a list", n.Each.List.Source())
	}
	if len(list) > n.Each.MaxItems {
		return "", ruleFault("%d items are more than max_items %d: none was started", len(list), n.Each.MaxItems)
	}
	pages, err := v.c.keepItems(ctx, list)
	if err != nil {
		return "", err
	}
	head.Block.Count, head.Block.Pages = len(list), pages
	return fmt.Sprintf("each %s: %d items", n.Each.List.Source(), len(list)), nil
}

func (v *view) openSwitch(ctx context.Context, n *loop.Node, items []int, head *record.Step) (string, error) {
	for i, way := range n.Cases {
		label := strconv.Itoa(i + 1)
		if way.CaseWhen == nil {
			head.Block.Label = &label
			return "otherwise", nil
		}
		yes, text, err := v.truth(ctx, way.CaseWhen, items, nil)
		if err != nil {
			return "", err
		}
		if yes {
			head.Block.Label = &label
			return "case " + label + ": " + text, nil
		}
	}
	return "", ruleFault("no case fits")
}

func (v *view) openRoute(ctx context.Context, n *loop.Node, items []int, head *record.Step) (string, error) {
	values := map[string]string{}
	for _, by := range n.RouteBy {
		value, err := v.compute(ctx, by.Rule, items, nil)
		if err != nil {
			return "", err
		}
		values[by.Name] = asText(value)
	}
	for i, row := range n.Routes {
		if fits(row.Match, values) {
			label := strconv.Itoa(i + 1)
			head.Block.Label = &label
			return fmt.Sprintf("row %s: %v", label, values), nil
		}
	}
	return "", ruleFault("no row fits %v", values)
}

func fits(match []loop.Match, values map[string]string) bool {
	for _, m := range match {
		found := false
		for _, allowed := range m.Values {
			found = found || allowed == values[m.Field]
		}
		if !found {
			return false
		}
	}
	return true
}

func (v *view) openWait(ctx context.Context, n *loop.Node, items []int, head *record.Step) (string, error) {
	if n.Wait == nil || n.Wait.Event != "" {
		return "", nil
	}
	until := v.c.now().Add(n.Wait.For)
	text := "for " + n.Wait.For.String()
	if n.Wait.Until != nil {
		vars, err := v.bind(ctx, n.Wait.Until.Uses, items, nil)
		if err != nil {
			return "", err
		}
		if until, err = n.Wait.Until.EvalTime(ctx, vars); err != nil {
			return "", &ruleError{err}
		}
		text = "until " + n.Wait.Until.Source()
	}
	until = until.UTC()
	head.Block.Until = &until
	// Nothing more happens to a wait for a time: who reads it waits by the machine.
	protocol.Settle(head, outerloop.OutcomeCompleted, v.c.now(), gate.Note{})
	return text, nil
}

// noteOf is what the machine gets of a block's record.
func noteOf(n *loop.Node, head *record.Step, pages []int) gate.Note {
	note := gate.Note{}
	block := head.Block
	if block == nil {
		block = &record.Block{}
	}
	note.Label, note.Until = block.Label, block.Until
	switch {
	case n.Kind == loop.KindEach:
		note.Items = itemsOf(block.Count, pages)
	case n.Kind == loop.KindWait && n.Wait.Event == "" && block.Until == nil:
		past := time.Unix(0, 0).UTC() // not needed: the machine's Wait ends at once
		note.Until = &past
	}
	return note
}

// itemsOf are the indexes of an inline Map, or the inclusive ranges of a distributed one.
func itemsOf(count int, pages []int) json.RawMessage {
	out := []byte("[")
	step := 1
	if len(pages) > 0 {
		step = pages[0]
	}
	for from := 0; from < count; from += step {
		if from > 0 {
			out = append(out, ',')
		}
		if len(pages) == 0 {
			out = strconv.AppendInt(out, int64(from), 10)
			continue
		}
		out = fmt.Appendf(out, "[%d,%d]", from, min(from+step, count)-1)
	}
	return append(out, ']')
}

// merged is a step's own note with what the next block needs.
func merged(own, next gate.Note) gate.Note {
	next.Outcome = own.Outcome
	return next
}
