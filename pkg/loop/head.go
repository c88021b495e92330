package loop

import (
	"fmt"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// head checks what stands above the steps.
func (c *checker) head() {
	l := c.loop
	c.group(l.Owner, l.Source.Get("owner"))
	if l.Alert.To != l.Owner {
		c.group(l.Alert.To, l.Source.Find("alert", "to"))
	}
	c.zoneOf()
	c.def.Zone = c.zone
	if c.def.Keep = l.Keep; c.def.Keep == 0 {
		c.def.Keep = c.around.Project.Keep
	}
	input, ps := c.around.Files.Schema(l.Input)
	c.add(ps)
	if input != nil {
		c.def.Input, c.inputType = input, input.Type()
	}
	c.budget()
	c.def.Subject = c.phrase(place{}, l.Subject, nil)
	if s := c.def.Subject; s != nil && len(expressionsIn(l.Subject)) == 0 {
		c.fault(l.Subject.Node, "E218", "This subject is always the same, so only the first start would ever run. Name what a run is about, such as ${day(run.as_of)}.")
	}
	c.beforeTheRun(expressionsIn(l.Subject))
	c.beforeTheRun(expressionsIn(l.Budget.Deadline.At))
	c.overlap()
	for i := range l.Triggers {
		c.trigger(&l.Triggers[i])
	}
}

// beforeTheRun refuses what is known of a run only when it exists: all but its source time.
func (c *checker) beforeTheRun(expressions []expression) {
	for _, e := range expressions {
		for _, ref := range c.references(e.text).refs {
			if ref.Root == "run" && (len(ref.Path) == 0 || ref.Path[0] != "as_of") {
				at := e.node.PositionOf(e.offset + ref.Offset)
				c.problems = append(c.problems, e.node.File.Problem("E122", at, ref.Length, "The run does not exist yet when this is computed: of `run`, only run.as_of is known. Use the input."))
			}
		}
	}
}

func (c *checker) zoneOf() {
	name, at := c.loop.Zone, c.loop.Source.Get("zone")
	if name == "" {
		name, at = c.around.Project.Zone, c.loop.Source
	}
	if name == "" {
		return
	}
	zone, err := schedule.Zone(name)
	if err != nil {
		c.fault(at, "E114", "%s", sentence(upperFirst(err.Error())))
		return
	}
	c.zone = zone
}

func (c *checker) budget() {
	b := c.loop.Budget
	at := c.loop.Source.Find("budget")
	if b.Source == nil {
		return
	}
	for _, key := range []string{"cost", "deadline"} {
		if b.Source.Get(key) == nil {
			c.fault(at, "E111", "A loop's budget needs %q: %s.", key, map[string]string{"cost": "the most a run may cost", "deadline": "by when it must be done"}[key])
		}
	}
	if b.Deadline.At.Set() {
		c.def.Deadline = c.tree(place{}, b.Deadline.At, nil)
		if d := c.def.Deadline; d != nil && d.Type().Kind != schema.Time && d.Type().Kind != schema.Any && d.Type().Kind != schema.String {
			c.fault(b.Deadline.At.Node, "E119", "A point in time belongs here, but this is %s.", d.Type())
		}
	}
	for _, money := range []struct{ key, have, want string }{
		{"per_day", b.PerDay.Currency, b.Cost.Currency}, {"cost", b.Cost.Currency, c.around.Project.PerMonth.Currency},
	} {
		if money.have != "" && money.want != "" && money.have != money.want {
			c.fault(b.Source.Find(money.key), "E239", "All budgets are in one currency, but this is in %s and the other in %s.", money.have, money.want)
		}
	}
	if b.PerDay.Micro > 0 && b.PerDay.Micro < b.Cost.Micro {
		c.fault(b.Source.Find("per_day"), "E239", "A day's budget of %s does not pay for one run of %s.", b.PerDay, b.Cost)
	}
}

// overlap checks the policy against the triggers.
func (c *checker) overlap() {
	l := c.loop
	at := l.Source.Get("overlap")
	for _, t := range l.Triggers {
		if l.Overlap == OverlapSkip && t.Kind != TriggerSchedule && t.Kind != "" {
			c.faultSee(at, t.Source, "E236", fmt.Sprintf("`overlap: skip` would drop what the trigger `%s` brings while a run is open. Write allow or queue.", t.Kind))
			break
		}
	}
	for _, t := range l.Triggers {
		if l.Overlap == OverlapSkip && t.CatchUp > 1 {
			c.fault(t.Source.Find("catch_up"), "E237", "`catch_up: %d` starts several runs, and `overlap: skip` drops all but one of them. Write catch_up: last, or another overlap.", t.CatchUp)
		}
	}
}

// often is the interval under which a trigger needs a reason.
const often = 5 * time.Minute

func (c *checker) trigger(t *Trigger) {
	compiled := TriggerRule{Trigger: *t}
	names := extras{}
	at := t.Source.Get(string(t.Kind))
	switch t.Kind {
	case TriggerSchedule:
		compiled.Schedule = c.schedule(t, at)
	case TriggerWebhook:
		names["event"] = c.webhook(t.Name, at)
	case TriggerEvent:
		names["event"] = c.eventType(t.Name, at)
	case TriggerAfter:
		names["event"] = c.followed(t.Name, at)
	case TriggerMonitor:
		c.monitor(t, &compiled, names)
	}
	p := place{}
	c.beforeTheRun(slices.Concat(expressionOf(t.When), expressionsIn(t.Input), expressionOf(t.AsOf)))
	before := c.inputType
	c.inputType = nil // a trigger makes the input: it has none to read
	compiled.When = c.rule(p, t.When, names)
	compiled.Input = c.tree(p, t.Input, names)
	compiled.AsOf = c.expr(p, t.AsOf, names)
	c.inputType = before
	c.isTime(t.AsOf, compiled.AsOf)
	c.triggerInput(t, compiled.Input)
	c.def.Triggers = append(c.def.Triggers, compiled)
}

// triggerInput compares what the trigger gives with the loop's input.
func (c *checker) triggerInput(t *Trigger, input *Tree) {
	if c.def.Input == nil {
		return
	}
	if t.Input.Set() {
		if input != nil {
			c.fits(t.Input, input.Type(), c.def.Input, "The loop's input")
		}
		return
	}
	for _, fault := range schema.Compatible(schema.ObjectOf(), c.def.Input.Type()) {
		c.fault(t.Source, "E120", "The loop needs an input, and this trigger gives none: %s", sentence(fault.String()))
	}
}

func (c *checker) schedule(t *Trigger, at *source.Node) *schedule.Schedule {
	s, err := schedule.Parse(t.Name, c.zone)
	if err != nil {
		c.fault(at, "E234", "%s", sentence(upperFirst(err.Error())))
		return nil
	}
	if interval, repeats := s.Interval(); repeats && interval < often && t.Because == "" {
		c.fault(at, "E235", "This fires more often than every 5 minutes. Say why under `because`, or choose a longer interval.")
	}
	return &s
}

// webhook is the type of a webhook's event.
func (c *checker) webhook(name string, at *source.Node) *schema.Type {
	w, declared := c.around.Project.Webhook(name)
	if !declared {
		names := []string{}
		for _, other := range c.around.Project.Webhooks {
			names = append(names, other.Name)
		}
		c.fault(at, "E233", "%s", c.notDeclared("webhook", name, "webhooks", names))
	}
	body := anything
	s, ps := c.around.Files.Schema(w.Body)
	c.add(ps)
	if s != nil {
		body = s.Type()
		if c.def.Webhooks == nil {
			c.def.Webhooks = map[string]*schema.Schema{}
		}
		c.def.Webhooks[name] = s
	}
	return rule.EventType(body)
}

// followed is the type of the event that another loop's completion gives.
func (c *checker) followed(name string, at *source.Node) *schema.Type {
	output := anything
	other, exists := c.around.Loops[name]
	switch {
	case name == c.loop.Name:
		c.fault(at, "E208", "A loop cannot start itself: it would never end.")
	case !exists:
		c.fault(at, "E209", "There is no loop %q.", name)
	case other == nil:
		c.incomplete = true // its problems are reported there
	case other.OutputType != nil:
		output = other.OutputType
	}
	return schema.ObjectOf(
		schema.Field{Name: "output", Type: output, Required: true},
		schema.Field{Name: "subject", Type: schema.Scalar(schema.String), Required: true},
	)
}

func (c *checker) monitor(t *Trigger, compiled *TriggerRule, names extras) {
	m := t.Monitor
	if m.Every > 0 && m.Every < often && t.Because == "" {
		c.fault(m.Source.Find("every"), "E235", "This probes more often than every 5 minutes. Say why under `because`, or choose a longer interval.")
	}
	output := anything
	compiled.Probe = c.worker(m.Probe, m.Source.Get("probe"))
	if w := compiled.Probe; w != nil {
		output = w.Output.Type()
		for _, fault := range schema.Compatible(schema.ObjectOf(), w.Input.Type()) {
			c.fault(m.Source.Get("probe"), "E120", "A probe gets no input, but %s needs one: %s", m.Probe, sentence(fault.String()))
		}
	}
	names["output"] = output
	if !m.Each.Set() {
		if !t.When.Set() {
			c.fault(m.Source, "E111", "A monitor needs a condition: `each` with a list, or `when` beside `monitor`.")
		}
		return
	}
	compiled.Each = c.expr(place{}, m.Each, names)
	item := anything
	if compiled.Each != nil {
		switch et := compiled.Each.Type(); et.Kind {
		case schema.List:
			item = et.Elem
		case schema.Any:
		default:
			c.fault(m.Each.Node, "E210", "`each` goes through a list, but %s is %s.", m.Each.Text, et)
		}
	}
	if m.As != "" {
		names[m.As] = item
	}
	compiled.Key = c.phrase(place{}, m.Key, names)
}

// compileTail compiles what the loop gives and what must hold at its end.
func (c *checker) compileTail() {
	end := place{inside: c.def.Body}
	c.def.Output = c.tree(end, c.loop.Output, nil)
	c.def.OutputType = schema.Scalar(schema.Null)
	if c.def.Output != nil {
		c.def.OutputType = c.def.Output.Type()
	}
	for _, accept := range c.loop.Accept {
		c.def.Accept = append(c.def.Accept, AcceptRule{Rule: c.rule(end, accept.Rule, nil), Say: c.phrase(end, accept.Say, nil)})
	}
}
