package loop

import (
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// Read reads a loop. The loop is nil when the file cannot be read at all; with
// problems it holds what could be read.
func Read(path string, raw []byte) (*Loop, problem.Problems) {
	root, ps := source.Read(path, raw)
	if root == nil {
		return nil, ps
	}
	r := &source.Reader{}
	l, ok := Form().Read(r, root)
	if !ok {
		return nil, r.Problems()
	}
	return &l, r.Problems()
}

// Form is the table of keys of a loop file.
func Form() *source.Form[Loop] { return tables().loop }

var tables = sync.OnceValue(newForms)

// forms are the tables that contain each other.
type forms struct {
	loop *source.Form[Loop]
	step *source.Form[declared]
}

// maxCount bounds every declared count.
const maxCount = 1 << 30

var (
	hyphened    = source.Name(source.Hyphened)
	underscored = source.Name(source.Underscored)
)

func newForms() *forms {
	f := &forms{}
	f.step = stepForm(f)
	f.loop = source.NewForm("a loop", "A recurring piece of work.",
		source.Key("loop", hyphened, func(l *Loop) *string { return &l.Name }).Needed().Says("the loop's name"),
		source.Key("version", source.Whole(1, maxCount), func(l *Loop) *int { return &l.Version }).Needed().Says("rises with every change of meaning"),
		source.Key("owner", hyphened, func(l *Loop) *string { return &l.Owner }).Needed().Says("a group of the project file; it gets the alerts"),
		source.Key("objective", source.Line(), func(l *Loop) *string { return &l.Objective }).Needed().Says("what a good run achieves, in one sentence"),
		source.Key("zone", source.Line(), func(l *Loop) *string { return &l.Zone }).Says("an IANA time zone; the project's if not given"),
		source.Key("subject", source.Phrase(), func(l *Loop) *source.Value { return &l.Subject }).Needed().Says("the business key: one subject, one run"),
		source.Key("triggers", source.List[Trigger](triggerForm()), func(l *Loop) *[]Trigger { return &l.Triggers }).Says("what starts runs; by hand is always possible"),
		source.Key("overlap", source.OneOf(OverlapSkip, OverlapQueue, OverlapReplace, OverlapAllow), func(l *Loop) *Overlap { return &l.Overlap }).Says("what a start does while another run is open"),
		source.Key("at_once", source.Whole(1, 10_000), func(l *Loop) *int { return &l.AtOnce }).Says("open runs at one time"),
		source.Key("input", source.SchemaRef(), func(l *Loop) *source.Schema { return &l.Input }).Needed().Says("the JSON Schema of the input"),
		source.Key("budget", source.Codec[Budget](budgetForm()), func(l *Loop) *Budget { return &l.Budget }).Needed().Says("what a run may cost, and by when it must be done"),
		source.Key("defaults", source.Codec[Defaults](defaultsForm()), func(l *Loop) *Defaults { return &l.Defaults }).Says("complete what steps leave out"),
		source.Key("steps", f.steps(), func(l *Loop) *[]*Step { return &l.Steps }).Needed().Says("the work"),
		source.Key("output", source.Any(), func(l *Loop) *source.Value { return &l.Output }).Says("what the run returns"),
		source.Key("accept", source.List[Acceptance](acceptForm()), func(l *Loop) *[]Acceptance { return &l.Accept }).Says("what must hold for the run to be completed"),
		source.Key("alert", source.Codec[Alert](alertForm()), func(l *Loop) *Alert { return &l.Alert }).Says("when the owner is told"),
		source.Key("keep", source.Kept(), func(l *Loop) *time.Duration { return &l.Keep }).Says("how long closed runs are kept; the project's if not given, else 90d"),
		source.Key("baseline", source.Pointer(source.Codec[Baseline](baselineForm())), func(l *Loop) **Baseline { return &l.Baseline }).Says("the same work by hand"),
		source.Key("score", source.Pointer(source.Codec[Score](scoreForm())), func(l *Loop) **Score { return &l.Score }).Says("five factors from 0 to 2"),
	).Then(finishLoop)
	return f
}

// steps reads a mapping of names to steps.
func (f *forms) steps() source.Codec[[]*Step] {
	one := source.Lazily(func() source.Codec[*Step] { return stepCodec(f.step) })
	return source.Entries(source.Underscored, one, func(s **Step, key *source.Node) { (*s).Name, (*s).Label = key.Text, key })
}

func finishLoop(r *source.Reader, n *source.Node, l *Loop) {
	l.Source = n
	if l.Overlap == "" {
		l.Overlap = OverlapAllow
		if onlySchedules(l.Triggers) {
			l.Overlap = OverlapSkip
		}
	}
	l.Alert = l.Alert.completed(l.Owner)
	if a := l.Defaults.Approval; a != nil && a.When.Set() {
		r.Fault(a.Source.Key("when"), "E205", "`when` belongs to the approval of a step: defaults complete approvals and ask for none.")
	}
	if steps := n.Get("steps"); steps != nil && steps.Kind == source.Mapping && len(steps.Pairs) == 0 {
		r.Fault(steps, "E111", "A loop needs at least one step.")
	}
}

func onlySchedules(triggers []Trigger) bool {
	for _, t := range triggers {
		if t.Kind != TriggerSchedule {
			return false
		}
	}
	return len(triggers) > 0
}

func (a Alert) completed(owner string) Alert {
	if a.To == "" {
		a.To = owner
	}
	if a.Stalled == 0 {
		a.Stalled = 30 * time.Minute
	}
	if a.Retries == 0 {
		a.Retries = 2
	}
	if a.Cost == 0 {
		a.Cost = 3
	}
	return a
}

func budgetForm() *source.Form[Budget] {
	return source.NewForm("a budget", "The bounds of a run.",
		source.Key("cost", source.Money(), func(b *Budget) *quantity.Money { return &b.Cost }).Says("the most a run may cost"),
		source.Key("deadline", deadline(), func(b *Budget) *Deadline { return &b.Deadline }).Says("a duration, a weekday and time, or a time from the input"),
		source.Key("reviews", source.Pointer(source.Whole(0, maxCount)), func(b *Budget) **int { return &b.Reviews }).Says("rounds of review by workers"),
		source.Key("approvals", source.Pointer(source.Whole(0, maxCount)), func(b *Budget) **int { return &b.Approvals }).Says("requests to people"),
		source.Key("per_day", source.Money(), func(b *Budget) *quantity.Money { return &b.PerDay }).Says("the most all runs of a day may cost"),
		source.Key("otherwise", source.OneOf(ExhaustedHalt, ExhaustedAsk), func(b *Budget) *Exhausted { return &b.Otherwise }).Says("halt or ask when a bound is reached; ask if not given"),
	).Then(func(_ *source.Reader, n *source.Node, b *Budget) {
		b.Source = n
		if b.Otherwise == "" {
			b.Otherwise = ExhaustedAsk
		}
	})
}

func defaultsForm() *source.Form[Defaults] {
	return source.NewForm("defaults", "What completes the steps, key by key.",
		source.Key("on_failure", source.Pointer(source.Codec[FailureRule](failureForm())), func(d *Defaults) **FailureRule { return &d.OnFailure }).Says("completes the steps' failure rules"),
		source.Key("approval", source.Pointer(source.Codec[Approval](approvalForm())), func(d *Defaults) **Approval { return &d.Approval }).Says("completes approvals; it asks for none"),
	)
}

func acceptForm() *source.Form[Acceptance] {
	return source.NewForm("an acceptance", "A rule that completed work satisfies.",
		source.Key("rule", source.Rule(), func(a *Acceptance) *source.Expr { return &a.Rule }).Needed().Says("CEL; what must hold"),
		source.Key("say", source.Phrase(), func(a *Acceptance) *source.Value { return &a.Say }).Needed().Says("the rule in words"),
	)
}

func alertForm() *source.Form[Alert] {
	return source.NewForm("an alert", "When the owner is told.",
		source.Key("to", hyphened, func(a *Alert) *string { return &a.To }).Says("a group; the owner if not given"),
		source.Key("stalled", source.Duration(), func(a *Alert) *time.Duration { return &a.Stalled }).Says("without any change; 30m if not given"),
		source.Key("retries", source.Whole(1, maxCount), func(a *Alert) *int { return &a.Retries }).Says("of one step; 2 if not given"),
		source.Key("cost", times(), func(a *Alert) *float64 { return &a.Cost }).Says("times the usual; 3x if not given"),
	)
}

func baselineForm() *source.Form[Baseline] {
	return source.NewForm("a baseline", "The same work by hand.",
		source.Key("minutes", source.Decimal(), func(b *Baseline) *float64 { return &b.Minutes }).Needed().Says("of work for one run"),
		source.Key("failures", source.Percent(), func(b *Baseline) *quantity.Percent { return &b.Failures }).Needed().Says("how many of the runs go wrong"),
		source.Key("cleanup", source.Decimal(), func(b *Baseline) *float64 { return &b.Cleanup }).Needed().Says("minutes to repair one failure"),
	)
}

func scoreForm() *source.Form[Score] {
	factor := source.Whole(0, 2)
	return source.NewForm("a score", "Five factors from 0 to 2.",
		source.Key("variability", factor, func(s *Score) *int { return &s.Variability }).Needed().Says("how much the cases differ"),
		source.Key("specialisation", factor, func(s *Score) *int { return &s.Specialisation }).Needed().Says("how many kinds of knowledge it takes"),
		source.Key("risk", factor, func(s *Score) *int { return &s.Risk }).Needed().Says("how much harm an error does"),
		source.Key("volume", factor, func(s *Score) *int { return &s.Volume }).Needed().Says("how many there are"),
		source.Key("error_cost", factor, func(s *Score) *int { return &s.ErrorCost }).Needed().Says("what an error costs to repair"),
	)
}

// limitList is a list of limits; it is shared with charters.
func limitList() source.Codec[[]charter.Limit] {
	return source.List[charter.Limit](charter.LimitForm())
}
