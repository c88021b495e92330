package loop

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// deadline reads a point in time, or a value over the input.
func deadline() source.Codec[Deadline] {
	return source.Custom(map[string]any{"type": "string"}, func(r *source.Reader, n *source.Node) (Deadline, bool) {
		if n.Kind == source.Text && strings.Contains(n.Text, "${") {
			return Deadline{At: source.Value{Node: n}}, true
		}
		m, err := schedule.ParseMoment(n.Text)
		if err != nil {
			r.Fault(n, "E114", "This is no deadline: write a duration (23h), a weekday and time (Thu 10:00), or a time from the input (${timestamp(input.ends_at)}).")
			return Deadline{}, false
		}
		return Deadline{Moment: &m}, true
	})
}

// times reads "3x".
func times() source.Codec[float64] {
	return source.Custom(map[string]any{"type": "string", "pattern": `^[0-9]+(\.[0-9]+)?x( usual)?$`}, func(r *source.Reader, n *source.Node) (float64, bool) {
		number, found := strings.CutSuffix(strings.TrimSuffix(n.Text, " usual"), "x")
		f, err := strconv.ParseFloat(number, 64)
		if !found || err != nil || f < 1 {
			r.Fault(n, "E114", "%q is no factor: write a number and x, such as 3x.", n.Text)
			return 0, false
		}
		return f, true
	})
}

func failureForm() *source.Form[FailureRule] {
	return source.NewForm("an on_failure", "What happens when the step fails.",
		source.Key("retry", retries(), func(f *FailureRule) *[]Retry { return &f.Retry }).Says("further tries: a number, or by class of failure"),
		source.Key("then", ending(), func(f *FailureRule) *thenRule { return &f.then }).Says("after the last try: skip, halt, ask, or {substitute: value}"),
		source.Key("say", source.Phrase(), func(f *FailureRule) *source.Value { return &f.Say }).Says("what people read"),
	).Then(func(_ *source.Reader, n *source.Node, f *FailureRule) {
		f.Source = n
		f.Then, f.Substitute = f.then.ending, f.then.value
	})
}

// thenRule is what stands under `then`.
type thenRule struct {
	ending Ending
	value  source.Value
}

func ending() source.Codec[thenRule] {
	word := source.OneOf(EndingSkip, EndingHalt, EndingAsk)
	substitute := source.NewForm("a substitute", "A value that takes the place of the output.",
		source.Key("substitute", source.Any(), func(t *thenRule) *source.Value { return &t.value }).Needed().Says("the value"),
	).Then(func(_ *source.Reader, _ *source.Node, t *thenRule) { t.ending = EndingSubstitute })
	plain := source.Custom(map[string]any{"enum": []any{"skip", "halt", "ask"}}, func(r *source.Reader, n *source.Node) (thenRule, bool) {
		w, ok := word.Read(r, n)
		return thenRule{ending: w}, ok
	})
	return source.Either(source.Codec[thenRule](substitute), plain)
}

func retries() source.Codec[[]Retry] {
	classes := append([]outerloop.Class{outerloop.ClassAny}, outerloop.Classes()...)
	class := source.OneOf(classes...)
	one := source.Either(source.Codec[Retry](retryForm()), retryTimes())
	properties := map[string]any{}
	for _, c := range classes {
		properties[string(c)] = map[string]any{"$comment": "a number of tries, or {times, wait, factor, at_most, input}"}
	}
	shape := map[string]any{"anyOf": []any{
		map[string]any{"type": "integer", "minimum": 0},
		map[string]any{"type": "object", "additionalProperties": false, "properties": properties},
	}}
	return source.Custom(shape, func(r *source.Reader, n *source.Node) ([]Retry, bool) {
		if n.Kind != source.Mapping {
			v, ok := retryTimes().Read(r, n)
			v.Class = outerloop.ClassAny
			return []Retry{v}, ok
		}
		out := []Retry{}
		for _, pair := range n.Pairs {
			c, known := class.Read(r, pair.Key)
			if v, ok := one.Read(r, pair.Value); ok && known {
				v.Class = c
				out = append(out, v)
			}
		}
		return out, true
	})
}

const (
	retryWait   = 2 * time.Second
	retryFactor = 2
	retryAtMost = time.Minute
	maxRetries  = 100
)

func retryTimes() source.Codec[Retry] {
	number := source.Whole(0, maxRetries)
	return source.Custom(map[string]any{"type": "integer", "minimum": 0, "maximum": maxRetries}, func(r *source.Reader, n *source.Node) (Retry, bool) {
		count, ok := number.Read(r, n)
		return Retry{Times: count, Wait: retryWait, Factor: retryFactor, AtMost: retryAtMost, Source: n}, ok
	})
}

func retryForm() *source.Form[Retry] {
	return source.NewForm("a retry", "How one class of failures is tried again.",
		source.Key("times", source.Whole(0, maxRetries), func(t *Retry) *int { return &t.Times }).Needed().Says("further tries"),
		source.Key("wait", source.Duration(), func(t *Retry) *time.Duration { return &t.Wait }).Says("before the first; 2s if not given"),
		source.Key("factor", source.Decimal(), func(t *Retry) *float64 { return &t.Factor }).Says("by which the wait grows; 2 if not given"),
		source.Key("at_most", source.Duration(), func(t *Retry) *time.Duration { return &t.AtMost }).Says("the longest wait; 60s if not given"),
		source.Key("input", inputFields(), func(t *Retry) *[]NamedValue { return &t.Input }).Says("replaces fields of the input, to make the work simpler"),
	).Then(finishRetry)
}

func finishRetry(r *source.Reader, n *source.Node, t *Retry) {
	t.Source = n
	if t.Wait == 0 {
		t.Wait = retryWait
	}
	if t.AtMost == 0 {
		t.AtMost = max(retryAtMost, t.Wait)
	}
	switch {
	case n.Get("factor") == nil:
		t.Factor = retryFactor
	case t.Factor < 1:
		r.Fault(n.Get("factor"), "E112", "The factor is at least 1: waits do not shrink.")
	}
	if t.AtMost < t.Wait {
		r.Fault(n.Find("at_most"), "E112", "The longest wait is shorter than the first wait of %s.", schedule.FormatDuration(t.Wait))
	}
}

func inputFields() source.Codec[[]NamedValue] {
	return source.Custom(map[string]any{"type": "object"}, func(r *source.Reader, n *source.Node) ([]NamedValue, bool) {
		if n.Kind != source.Mapping {
			r.Fault(n, "E112", "A mapping of fields to values belongs here.")
			return nil, false
		}
		out := make([]NamedValue, len(n.Pairs))
		for i, pair := range n.Pairs {
			out[i] = NamedValue{Name: pair.Key.Text, Value: source.Value{Node: pair.Value}}
		}
		return out, true
	})
}

func approvalForm() *source.Form[Approval] {
	return source.NewForm("an approval", "How people are asked.",
		source.Key("when", source.Rule(), func(a *Approval) *source.Expr { return &a.When }).Says("CEL; always if not given"),
		source.Key("ask", source.Phrase(), func(a *Approval) *source.Value { return &a.Ask }).Says("the question"),
		source.Key("approvers", source.List(hyphened), func(a *Approval) *[]string { return &a.Approvers }).Says("groups"),
		source.Key("within", source.Duration(), func(a *Approval) *time.Duration { return &a.Within }).Says("how long they have"),
		source.Key("expired", source.OneOf(EndingSkip, EndingHalt, EndingProceed), func(a *Approval) *Ending { return &a.Expired }).Says("skip, halt or proceed when nobody answers"),
		source.Key("rejected", source.OneOf(EndingSkip, EndingHalt, EndingRevise), func(a *Approval) *Ending { return &a.Rejected }).Says("skip, halt or revise when they say no"),
		source.Key("people", source.Whole(1, 20), func(a *Approval) *int { return &a.People }).Says("how many must approve; 1 if not given"),
		source.Key("never", source.List(source.Phrase()), func(a *Approval) *[]source.Value { return &a.Never }).Says("people who may not approve"),
		source.Key("remind", source.Duration(), func(a *Approval) *time.Duration { return &a.Remind }).Says("how often they are reminded"),
		source.Key("escalate", source.List[Stage](approvalStage()), func(a *Approval) *[]Stage { return &a.Escalate }).Says("who else is asked, and when"),
	).Then(func(_ *source.Reader, n *source.Node, a *Approval) { a.Source = n })
}

func approvalStage() *source.Form[Stage] {
	return source.NewForm("an approval's escalation", "Who else is asked.",
		source.Key("after", source.Duration(), func(s *Stage) *time.Duration { return &s.After }).Needed().Says("without a decision"),
		source.Key("to", source.List(hyphened), func(s *Stage) *[]string { return &s.To }).Needed().Says("groups"),
	).Then(func(_ *source.Reader, n *source.Node, s *Stage) { s.Source = n })
}

func reviewForm() *source.Form[Review] {
	return source.NewForm("a review", "A check of the work by another worker.",
		source.Key("worker", hyphened, func(v *Review) *string { return &v.Worker }).Needed().Says("the reviewer, never the author"),
		source.Key("input", source.Fields(), func(v *Review) *source.Value { return &v.Input }).Needed().Says("what the reviewer gets"),
		source.Key("pass", source.Rule(), func(v *Review) *source.Expr { return &v.Pass }).Needed().Says("CEL over verdict, the reviewer's output"),
		source.Key("revisions", source.Whole(0, 10), func(v *Review) *int { return &v.Revisions }).Says("how often the work goes back; 2 if not given"),
		source.Key("otherwise", source.OneOf(charter.OtherwiseRefuse, charter.OtherwiseEscalate, charter.OtherwiseApprove), func(v *Review) *charter.Otherwise { return &v.Otherwise }).Needed().Says("refuse, escalate or approve after the last revision"),
	).Then(func(_ *source.Reader, n *source.Node, v *Review) {
		v.Source = n
		if n.Get("revisions") == nil {
			v.Revisions = 2
		}
	})
}

func joinForm() *source.Form[Join] {
	return source.NewForm("a join", "What a block needs of its parts.",
		source.Key("need", need(), func(j *Join) *Need { return &j.Need }).Needed().Says("all, a number, or a percentage"),
		source.Key("otherwise", source.OneOf(EndingHalt, EndingAsk, EndingSkip), func(j *Join) *Ending { return &j.Otherwise }).Needed().Says("halt, ask or skip when too few are completed"),
		source.Key("enough", source.Whole(1, maxCount), func(j *Join) *int { return &j.Enough }).Says("completes the block and cancels the rest"),
	).Then(func(r *source.Reader, n *source.Node, j *Join) {
		j.Source = n
		if j.Enough > 0 && (j.Need.All || j.Need.Count > j.Enough) {
			r.Fault(n.Get("enough"), "E245", "`enough: %d` cancels the rest before `need: %s` can be met.", j.Enough, n.Find("need").Text)
		}
	})
}

func need() source.Codec[Need] {
	return source.Custom(map[string]any{"anyOf": []any{
		map[string]any{"const": "all"}, map[string]any{"type": "integer", "minimum": 1}, map[string]any{"type": "string", "pattern": `^[0-9]+(\.[0-9]{1,2})?%$`},
	}}, func(r *source.Reader, n *source.Node) (Need, bool) {
		if n.Text == "all" {
			return Need{All: true}, true
		}
		if i, err := strconv.Atoi(n.Text); n.Kind == source.Int && err == nil && i > 0 {
			return Need{Count: i}, true
		}
		p, err := quantity.ParsePercent(n.Text)
		if err != nil || p == 0 {
			r.Fault(n, "E114", "%s", fmt.Sprintf("%q is no need: write all, a number from 1, or a percentage such as 90%%.", n.Text))
			return Need{}, false
		}
		return Need{Percent: p}, true
	})
}
