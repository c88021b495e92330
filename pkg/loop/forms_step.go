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
	KindRoute:    {"route", "by", "review", "accept", "limits", "approval", "input", "reads", "writes", "emit"},
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
