package charter

import (
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// Read reads a charter. The charter is nil when the file cannot be read at
// all; with problems it holds what could be read.
func Read(path string, raw []byte) (*Charter, problem.Problems) {
	root, ps := source.Read(path, raw)
	if root == nil {
		return nil, ps
	}
	r := &source.Reader{}
	c, ok := Form().Read(r, root)
	if !ok {
		return nil, r.Problems()
	}
	c.Faulty = r.Problems().Errors() > 0
	return &c, r.Problems()
}

// LimitForm is the table of keys of a limit, in charters and in steps.
func LimitForm() *source.Form[Limit] {
	return source.NewForm("a limit", "A hard rule; confidence never overrides it.",
		source.Key("rule", source.Rule(), func(l *Limit) *source.Expr { return &l.Rule }).Needed().Says("CEL; what must hold"),
		source.Key("otherwise", source.OneOf(OtherwiseRefuse, OtherwiseEscalate, OtherwiseApprove), func(l *Limit) *Otherwise { return &l.Otherwise }).Needed().Says("refuse, escalate or approve (a person may let it pass)"),
		source.Key("say", source.Phrase(), func(l *Limit) *source.Value { return &l.Say }).Needed().Says("what a person reads when the rule does not hold"),
	)
}

// Form is the table of keys of a charter.
func Form() *source.Form[Charter] { return form() }

// form is built once: a project reads many charters.
var form = sync.OnceValue(func() *source.Form[Charter] {
	name := source.Name(source.Hyphened)
	return source.NewForm("a charter", "What a worker may do and must deliver.",
		source.Key("worker", name, func(c *Charter) *string { return &c.Worker }).Needed().Says("the worker's name"),
		source.Key("version", source.Whole(1, 1<<30), func(c *Charter) *int { return &c.Version }).Needed().Says("rises with every change of meaning"),
		source.Key("contract", source.Whole(1, 1<<30), func(c *Charter) *int { return &c.Contract }).Says("the contract number the worker's code states; 1 if not given"),
		source.Key("owner", name, func(c *Charter) *string { return &c.Owner }).Needed().Says("a group of the project file"),
		source.Key("objective", source.Line(), func(c *Charter) *string { return &c.Objective }).Needed().Says("what good work is, in one sentence"),
		source.Key("kind", source.OneOf(KindGo, KindAgent, KindLambda, KindHTTP, KindCommand), func(c *Charter) *Kind { return &c.Kind }).Needed().Says("go, agent, lambda, http or command"),
		source.Key("input", source.SchemaRef(), func(c *Charter) *source.Schema { return &c.Input }).Needed().Says("the JSON Schema of the work"),
		source.Key("output", source.SchemaRef(), func(c *Charter) *source.Schema { return &c.Output }).Needed().Says("the JSON Schema of the result"),
		source.Key("reads", source.List(source.Name(source.Slashed)), func(c *Charter) *[]string { return &c.Reads }).Says("all facts it may read"),
		source.Key("writes", source.List(source.Name(source.Slashed)), func(c *Charter) *[]string { return &c.Writes }).Says("all facts it may write"),
		source.Key("tools", source.Entries(source.Hyphened, toolCodec(), nameTool), func(c *Charter) *[]Tool { return &c.Tools }).Says("connections, and what it may do with each"),
		source.Key("actions", source.Entries(source.Hyphened, source.Codec[Action](actionForm()), nameAction), func(c *Charter) *[]Action { return &c.Actions }).Says("all business actions it may do"),
		source.Key("authority", source.OneOf(AuthorityRecommend, AuthorityPrepare, AuthorityExecute), func(c *Charter) *Authority { return &c.Authority }).Needed().Says("the most it may ever do: recommend, prepare or execute"),
		source.Key("autonomy", source.Codec[Autonomy](autonomyForm()), func(c *Charter) *Autonomy { return &c.Autonomy }).Says("where it starts, and what promotes it"),
		source.Key("risk", source.OneOf(RiskLow, RiskMedium, RiskHigh, RiskCritical), func(c *Charter) *Risk { return &c.Risk }).Needed().Says("low, medium, high or critical"),
		source.Key("limits", source.List[Limit](LimitForm()), func(c *Charter) *[]Limit { return &c.Limits }).Says("hard rules"),
		source.Key("escalate", source.List[Escalation](escalationForm()), func(c *Charter) *[]Escalation { return &c.Escalate }).Says("what goes to people"),
		source.Key("evidence", evidence(), func(c *Charter) *bool { return &c.Evidence }).Says("required: every result cites its sources"),
		source.Key("success", source.Codec[Success](successForm()), func(c *Charter) *Success { return &c.Success }).Needed().Says("the measure of its work"),
		source.Key("fails_with", source.List(source.OneOf(outerloop.Classes()...)), func(c *Charter) *[]outerloop.Class { return &c.FailsWith }).Needed().Says("the classes of its failures"),
		source.Key("dispatch", source.Codec[Dispatch](dispatchForm()), func(c *Charter) *Dispatch { return &c.Dispatch }).Needed().Says("how work reaches it"),
		source.Key("agent", source.Pointer(source.Codec[Agent](agentForm())), func(c *Charter) **Agent { return &c.Agent }).Says("for kind agent; for kind go: how a model does the work, where a run chooses one"),
		source.Key("lambda", source.Pointer(source.Codec[Lambda](lambdaForm())), func(c *Charter) **Lambda { return &c.Lambda }).Says("for kind lambda"),
		source.Key("http", source.Pointer(source.Codec[HTTP](httpForm())), func(c *Charter) **HTTP { return &c.HTTP }).Says("for kind http"),
		source.Key("command", source.Pointer(source.Codec[Command](commandForm())), func(c *Charter) **Command { return &c.Command }).Says("for kind command"),
	).Then(finish)
})

func nameTool(t *Tool, key *source.Node) { t.Connection = key.Text }

func nameAction(a *Action, key *source.Node) { a.Name = key.Text }

func toolCodec() source.Codec[Tool] {
	list := source.List(source.Name(source.Hyphened))
	return source.Custom(map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
		func(r *source.Reader, n *source.Node) (Tool, bool) {
			may, ok := list.Read(r, n)
			return Tool{May: may}, ok
		})
}

func evidence() source.Codec[bool] {
	word := source.OneOf("required", "optional")
	return source.Custom(map[string]any{"enum": []any{"required", "optional"}},
		func(r *source.Reader, n *source.Node) (bool, bool) {
			w, ok := word.Read(r, n)
			return w == "required", ok
		})
}

func actionForm() *source.Form[Action] {
	return source.NewForm("an action", "A business action: it happens at most once for its key.",
		source.Key("key", source.Phrase(), func(a *Action) *source.Value { return &a.Key }).Says("the business key, over the worker's input, where the step gives none"),
		source.Key("resource", source.Phrase(), func(a *Action) *source.Value { return &a.Resource }).Says("what only one may touch at a time, where the step gives none"),
		source.Key("effect", source.OneOf(EffectNone, EffectFinancial, EffectLegal, EffectReputational, EffectSafety), func(a *Action) *Effect { return &a.Effect }).Needed().Says("none, financial, legal, reputational or safety"),
		source.Key("undo", undo(), func(a *Action) *string { return &a.Undo }).Needed().Says("the action that reverses it, or none"),
		source.Key("unknown", source.OneOf(UnknownVerify, UnknownRetry, UnknownAsk), func(a *Action) *Unknown { return &a.Unknown }).Needed().Says("what to do when nobody knows whether it happened: verify, retry or ask"),
		source.Key("at_most", source.Pointer(source.Codec[Quota](quotaForm())), func(a *Action) **Quota { return &a.AtMost }).Says("how often for one customer or account"),
		source.Key("start", stage(), func(a *Action) *Stage { return &a.Start }).Says("its own first stage"),
	).Then(func(_ *source.Reader, n *source.Node, a *Action) { a.Source = n })
}

func undo() source.Codec[string] { return source.Name(source.Hyphened) }

func stage() source.Codec[Stage] { return source.OneOf(stages...) }

func quotaForm() *source.Form[Quota] {
	return source.NewForm("a quota", "At most so many in a period.",
		source.Key("count", source.Whole(1, 1<<20), func(q *Quota) *int { return &q.Count }).Needed().Says("how many"),
		source.Key("per", source.Duration(), func(q *Quota) *time.Duration { return &q.Per }).Needed().Says("in which period"),
		source.Key("by", source.Phrase(), func(q *Quota) *source.Value { return &q.By }).Says("for each what; the action's key if not given"),
	)
}

func autonomyForm() *source.Form[Autonomy] {
	return source.NewForm("an autonomy", "How far the worker is trusted.",
		source.Key("start", stage(), func(a *Autonomy) *Stage { return &a.Start }).Says("observe, recommend, approval, limited or broad"),
		source.Key("promote", source.Pointer(source.Codec[Promotion](promotionForm())), func(a *Autonomy) **Promotion { return &a.Promote }).Says("the measured result that proposes the next stage"),
	)
}

func promotionForm() *source.Form[Promotion] {
	return source.NewForm("a promotion", "A measured result.",
		source.Key("reviewed", source.Whole(1, 1<<20), func(p *Promotion) *int { return &p.Reviewed }).Needed().Says("how many outputs people saw"),
		source.Key("accepted", source.Percent(), func(p *Promotion) *quantity.Percent { return &p.Accepted }).Needed().Says("how many of them stayed as they were"),
		source.Key("breaches", source.Whole(0, 1<<20), func(p *Promotion) *int { return &p.Breaches }).Says("how many broken limits are allowed"),
	)
}

func escalationForm() *source.Form[Escalation] {
	return source.NewForm("an escalation", "What goes to people.",
		source.Key("rule", source.Rule(), func(e *Escalation) *source.Expr { return &e.Rule }).Needed().Says("CEL; when it holds, people take over"),
		source.Key("to", source.Name(source.Hyphened), func(e *Escalation) *string { return &e.To }).Needed().Says("a group"),
		source.Key("say", source.Phrase(), func(e *Escalation) *source.Value { return &e.Say }).Needed().Says("what they read"),
	).Then(func(_ *source.Reader, n *source.Node, e *Escalation) { e.Source = n })
}

func successForm() *source.Form[Success] {
	return source.NewForm("a success", "The measure of the work.",
		source.Key("metric", source.Name(source.Underscored), func(s *Success) *string { return &s.Metric }).Needed().Says("what is measured"),
		source.Key("at_least", source.Percent(), func(s *Success) *quantity.Percent { return &s.AtLeast }).Needed().Says("the goal"),
	)
}

func dispatchForm() *source.Form[Dispatch] {
	return source.NewForm("a dispatch", "How work reaches the worker.",
		source.Key("mode", source.OneOf(ModeQueue, ModeDirect), func(d *Dispatch) *Mode { return &d.Mode }).Says("queue or direct; by default queue for agents, in `each`, and with at_once"),
		source.Key("at_once", source.Whole(1, 10_000), func(d *Dispatch) *int { return &d.AtOnce }).Says("attempts at one time"),
		source.Key("timeout", source.Duration(), func(d *Dispatch) *time.Duration { return &d.Timeout }).Needed().Says("of one attempt"),
		source.Key("heartbeat", source.Duration(), func(d *Dispatch) *time.Duration { return &d.Heartbeat }).Says("how often it says that it is alive"),
		source.Key("longest_wait", source.Duration(), func(d *Dispatch) *time.Duration { return &d.LongestWait }).Says("in the queue; 1d if not given"),
	)
}

func agentForm() *source.Form[Agent] {
	return source.NewForm("an agent", "A worker that asks a language model.",
		source.Key("model", source.Name(source.Hyphened), func(a *Agent) *string { return &a.Model }).Says("a model of the project file; none for kind go"),
		source.Key("prompt", source.FilePath(), func(a *Agent) *string { return &a.Prompt }).Needed().Says("the path of its instructions"),
		source.Key("calls", source.List(source.Name(source.Hyphened)), func(a *Agent) *[]string { return &a.Calls }).Says("workers it may use as tools"),
		source.Key("max_calls", source.Whole(1, 1000), func(a *Agent) *int { return &a.MaxCalls }).Says("tool calls in one attempt"),
		source.Key("max_tokens", source.Whole(1, 1<<20), func(a *Agent) *int { return &a.MaxTokens }).Needed().Says("of one answer"),
	).Then(func(_ *source.Reader, n *source.Node, a *Agent) { a.Source = n })
}

func lambdaForm() *source.Form[Lambda] {
	return source.NewForm("a lambda", "An existing function.",
		source.Key("function", source.Line(), func(l *Lambda) *string { return &l.Function }).Needed().Says("its name or ARN"),
		source.Key("payload", payload(), func(l *Lambda) *Payload { return &l.Payload }).Says(payloadSays))
}

func httpForm() *source.Form[HTTP] {
	return source.NewForm("an http", "An HTTPS endpoint.",
		source.Key("url", source.Line(), func(h *HTTP) *string { return &h.URL }).Needed().Says("an https address"),
		source.Key("connection", source.Name(source.Hyphened), func(h *HTTP) *string { return &h.Connection }).Says("the project's connection with its secret and rate"),
		source.Key("payload", payload(), func(h *HTTP) *Payload { return &h.Payload }).Says(payloadSays))
}

func commandForm() *source.Form[Command] {
	return source.NewForm("a command", "A local program.",
		source.Key("run", source.List(source.Line()), func(c *Command) *[]string { return &c.Run }).Needed().Says("the program and its arguments"),
		source.Key("payload", payload(), func(c *Command) *Payload { return &c.Payload }).Says(payloadSays))
}

const payloadSays = "input: it gets the input and answers the output (the default); task: the whole task, and a result or a failure"

func payload() source.Codec[Payload] { return source.OneOf(PayloadInput, PayloadTask) }

// finish fills in defaults and checks what keys demand of each other.
func finish(r *source.Reader, n *source.Node, c *Charter) {
	c.Source = n
	if c.Contract == 0 {
		c.Contract = 1
	}
	if c.Autonomy.Start == "" {
		c.Autonomy.Start = StageApproval
	}
	if c.Dispatch.LongestWait == 0 {
		c.Dispatch.LongestWait = schedule.Day
	}
	forms := []struct {
		kind Kind
		key  string
		set  bool
	}{{KindAgent, "agent", c.Agent != nil}, {KindLambda, "lambda", c.Lambda != nil}, {KindHTTP, "http", c.HTTP != nil}, {KindCommand, "command", c.Command != nil}}
	for _, form := range forms {
		switch {
		case form.kind == KindAgent && form.set && c.Kind == KindGo:
			finishVariant(r, n, c)
		case form.set && c.Kind != "" && c.Kind != form.kind:
			r.Fault(n.Key(form.key), "E205", "%q belongs to a worker of kind %s; this one is of kind %s.", form.key, form.kind, c.Kind)
		case !form.set && c.Kind == form.kind && n.Get(form.key) == nil:
			r.Fault(n.Find("kind"), "E111", "A worker of kind %s needs %q.", c.Kind, form.key)
		}
	}
	if c.Agent != nil && c.Agent.Model == "" && c.Agent.Source.Get("model") == nil {
		r.Fault(n.Key("agent"), "E111", "An agent needs `model`: a model of the project file.")
	}
	if h := c.HTTP; h != nil && h.URL != "" && !secure(h.URL) {
		r.Fault(n.Find("http", "url"), "E112", "%q is no https address. Work and its secret go there: write https://…, or http:// for this machine alone (127.0.0.1, localhost).", h.URL)
	}
	if d := c.Dispatch; d.Heartbeat >= d.Timeout && d.Timeout > 0 && d.Heartbeat > 0 {
		r.Fault(n.Find("dispatch", "heartbeat"), "E243", "The heartbeat must be shorter than the timeout of %s.", schedule.FormatDuration(d.Timeout))
	}
	finishActions(r, n, c)
}

// secure tells whether an address is one that work may be sent to: of https, or
// of this machine.
func secure(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	host := u.Hostname()
	return u.Scheme == "https" || u.Scheme == "http" && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// bare tells whether the work is done elsewhere, by somebody who is sent the input
// alone.
func (c *Charter) bare() bool {
	switch {
	case c.HTTP != nil:
		return c.HTTP.Payload != PayloadTask
	case c.Lambda != nil:
		return c.Lambda.Payload != PayloadTask
	case c.Command != nil:
		return c.Command.Payload != PayloadTask
	}
	return false
}

// finishVariant checks and sets apart what a worker of kind go says for models.
func finishVariant(r *source.Reader, n *source.Node, c *Charter) {
	c.Variant, c.Agent = c.Agent, nil
	switch {
	case len(c.Actions) > 0:
		r.Fault(n.Key("agent"), "E205", "A model does no actions: let this worker's code do them, and another worker write what they need.")
	case c.Variant.Source.Get("model") != nil:
		r.Fault(c.Variant.Source.Key("model"), "E205", "A worker of kind go asks the model that a run chooses. Remove `model`, or write kind: agent.")
	case c.Dispatch.Mode == "":
		r.Fault(n.Find("dispatch"), "E111", "A worker that a model may do needs `mode` here, queue or direct: the machine is the same for both.")
	}
}

func finishActions(r *source.Reader, n *source.Node, c *Charter) {
	if len(c.Actions) > 0 && c.Authority == AuthorityRecommend {
		r.Fault(n.Find("authority"), "E244", "A worker that may only recommend does no actions. Remove the actions, or give it prepare or execute.")
	}
	for _, action := range c.Actions {
		if action.Unknown == UnknownVerify && c.bare() {
			r.Fault(action.Source.Find("unknown"), "E111", "What became of %s can only be asked with `payload: task` under %s. Add it, or write retry or ask here.", action.Name, c.Kind)
		}
		if action.Undo == "" || action.Undo == UndoNone {
			continue
		}
		if _, ok := c.Action(action.Undo); !ok || action.Undo == action.Name {
			r.Fault(action.Source.Find("undo"), "E219", "%q is no other action of this charter. Write the action that reverses %s, or none.", action.Undo, action.Name)
		}
	}
	if a := c.Agent; a != nil && len(a.Calls) > 0 && a.MaxCalls == 0 {
		r.Fault(a.Source.Find("calls"), "E222", "An agent that calls other workers needs max_calls: without it nothing ends the exchange.")
	}
}
