package loop

import (
	"time"

	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// triggerKinds are the forms of a trigger, by the key that tells.
var triggerKinds = []TriggerKind{TriggerSchedule, TriggerWebhook, TriggerEvent, TriggerAfter, TriggerMonitor}

func triggerForm() *source.Form[Trigger] {
	named := func(kind TriggerKind, codec source.Codec[string]) source.Field[Trigger] {
		return source.Key(string(kind), codec, func(t *Trigger) *string { return &t.Name })
	}
	return source.NewForm("a trigger", "What starts runs.",
		named(TriggerSchedule, source.Line()).Says("cron(…), rate(…) or at(…), as EventBridge has them"),
		named(TriggerWebhook, hyphened).Says("a webhook of the project file"),
		named(TriggerEvent, source.Name(source.Dotted)).Says("an event of the project file"),
		named(TriggerAfter, hyphened).Says("another loop, whose completed run starts this one"),
		source.Key("monitor", source.Pointer(source.Codec[Monitor](monitorForm())), func(t *Trigger) **Monitor { return &t.Monitor }).Says("a probe, looked at again and again"),
		source.Key("catch_up", catchUp(), func(t *Trigger) *schedule.CatchUp { return &t.CatchUp }).Says("missed fires to make up for: none, last or a number"),
		source.Key("when", source.Rule(), func(t *Trigger) *source.Expr { return &t.When }).Says("CEL; a run starts only when it holds"),
		source.Key("input", source.Fields(), func(t *Trigger) *source.Value { return &t.Input }).Says("the run's input"),
		source.Key("as_of", source.Rule(), func(t *Trigger) *source.Expr { return &t.AsOf }).Says("CEL; the time the run is about"),
		source.Key("because", source.Line(), func(t *Trigger) *string { return &t.Because }).Says("why it must be more often than every 5 minutes"),
	).Then(finishTrigger)
}

func finishTrigger(r *source.Reader, n *source.Node, t *Trigger) {
	t.Source = n
	for _, kind := range triggerKinds {
		if n.Get(string(kind)) == nil {
			continue
		}
		if t.Kind != "" {
			r.Fault(n.Key(string(kind)), "E204", "A trigger is one of schedule, webhook, event, after, monitor. Make two triggers of it.")
		}
		t.Kind = kind
	}
	if t.Kind == "" {
		r.Fault(n, "E204", "A trigger needs one of schedule, webhook, event, after, monitor.")
	}
	if n.Get("catch_up") != nil && t.Kind != TriggerSchedule {
		r.Fault(n.Key("catch_up"), "E205", "Only a schedule misses fires that could be made up for.")
	}
	if n.Get("as_of") != nil && t.Kind == TriggerMonitor {
		r.Fault(n.Key("as_of"), "E205", "The time of a monitor is its own: when the condition began.")
	}
}

func catchUp() source.Codec[schedule.CatchUp] {
	shape := map[string]any{"anyOf": []any{
		map[string]any{"enum": []any{"none", "last"}},
		map[string]any{"type": "integer", "minimum": 0, "maximum": schedule.MaxCatchUp},
	}}
	return source.Custom(shape, func(r *source.Reader, n *source.Node) (schedule.CatchUp, bool) {
		missed, err := schedule.ParseCatchUp(n.Text)
		if err != nil {
			r.Fault(n, "E113", "%s.", upperFirst(err.Error()))
		}
		return missed, err == nil
	})
}

func monitorForm() *source.Form[Monitor] {
	return source.NewForm("a monitor", "A probe, looked at again and again.",
		source.Key("every", source.Duration(), func(m *Monitor) *time.Duration { return &m.Every }).Needed().Says("how often"),
		source.Key("probe", hyphened, func(m *Monitor) *string { return &m.Probe }).Needed().Says("a cheap worker without input"),
		source.Key("each", source.Rule(), func(m *Monitor) *source.Expr { return &m.Each }).Says("CEL; a list in output: every item is a condition of its own"),
		source.Key("as", underscored, func(m *Monitor) *string { return &m.As }).Says("the item's name"),
		source.Key("key", source.Phrase(), func(m *Monitor) *source.Value { return &m.Key }).Says("tells one condition from another"),
		source.Key("cool_down", source.Duration(), func(m *Monitor) *time.Duration { return &m.CoolDown }).Needed().Says("before the same condition starts another run"),
	).Then(func(r *source.Reader, n *source.Node, m *Monitor) {
		m.Source = n
		for _, key := range []string{"as", "key"} {
			switch {
			case n.Get("each") != nil && n.Get(key) == nil:
				r.Fault(n, "E111", "A monitor with `each` needs %q.", key)
			case n.Get("each") == nil && n.Get(key) != nil:
				r.Fault(n.Key(key), "E205", "%q belongs to a monitor with `each`.", key)
			}
		}
	})
}
