package registry

import (
	"regexp"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// Read reads a project file. The project is nil when the file cannot be read
// at all; with problems it holds what could be read.
func Read(path string, raw []byte) (*Project, problem.Problems) {
	root, ps := source.Read(path, raw)
	if root == nil {
		return nil, ps
	}
	r := &source.Reader{}
	p, ok := Form().Read(r, root)
	if !ok {
		return nil, r.Problems()
	}
	return &p, r.Problems()
}

var hyphened = source.Name(source.Hyphened)

// secretName is the pattern of names of secrets; a value hardly ever fits it.
const secretName = `^[a-z][a-z0-9]*([-_/][a-z0-9]+)*$`

var secretWords = regexp.MustCompile(secretName)

// Form is the table of keys of a project file.
func Form() *source.Form[Project] {
	return source.NewForm("a project", "People, connections and shared records, each declared once.",
		source.Key("project", hyphened, func(p *Project) *string { return &p.Name }).Needed().Says("the project's name"),
		source.Key("zone", source.Line(), func(p *Project) *string { return &p.Zone }).Needed().Says("the IANA time zone of loops that name none"),
		source.Key("budget", source.Codec[monthly](monthlyForm()), func(p *Project) *monthly { return &p.monthly }).Says("for all loops together"),
		source.Key("keep", source.Kept(), func(p *Project) *time.Duration { return &p.Keep }).Says("how long closed runs are kept of loops that do not say; 90d if not given"),
		source.Key("people", source.Entries(source.Hyphened, source.Codec[Person](personForm()), func(x *Person, k *source.Node) { x.Name = k.Text }), func(p *Project) *[]Person { return &p.People }).Says("who decides and is told"),
		source.Key("groups", source.Entries(source.Hyphened, source.Codec[Group](groupForm()), func(x *Group, k *source.Node) { x.Name = k.Text }), func(p *Project) *[]Group { return &p.Groups }).Says("owners and approvers"),
		source.Key("connections", source.Entries(source.Hyphened, source.Codec[Connection](connectionForm()), func(x *Connection, k *source.Node) { x.Name = k.Text }), func(p *Project) *[]Connection { return &p.Connections }).Says("what workers use outside"),
		source.Key("models", source.Entries(source.Hyphened, source.Codec[Model](modelForm()), func(x *Model, k *source.Node) { x.Name = k.Text }), func(p *Project) *[]Model { return &p.Models }).Says("language models"),
		source.Key("webhooks", source.Entries(source.Hyphened, source.Codec[Webhook](webhookForm()), func(x *Webhook, k *source.Node) { x.Name = k.Text }), func(p *Project) *[]Webhook { return &p.Webhooks }).Says("senders of webhooks"),
		source.Key("facts", source.Entries(source.Slashed, source.Codec[Fact](factForm()), func(x *Fact, k *source.Node) { x.Name = k.Text }), func(p *Project) *[]Fact { return &p.Facts }).Says("shared records"),
		source.Key("events", source.Entries(source.Dotted, eventCodec(), func(x *Event, k *source.Node) { x.Name = k.Text }), func(p *Project) *[]Event { return &p.Events }).Says("events and their schemas"),
		source.Key("confidence", source.Codec[Confidence](confidenceForm()), func(p *Project) *Confidence { return &p.Confidence }).Says("up to which risk work of a confidence passes"),
	).Then(finish)
}

// monthly is what stands under the project's budget.
type monthly struct{ perMonth quantity.Money }

func monthlyForm() *source.Form[monthly] {
	return source.NewForm("a project's budget", "For all loops together.",
		source.Key("per_month", source.Money(), func(m *monthly) *quantity.Money { return &m.perMonth }).Needed().Says("the most a month may cost"))
}

func personForm() *source.Form[Person] {
	return source.NewForm("a person", "Somebody who decides or is told.",
		source.Key("email", email(), func(p *Person) *string { return &p.Email }).Needed().Says("an e-mail address"),
	).Then(func(_ *source.Reader, n *source.Node, p *Person) { p.Source = n })
}

var address = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)

func email() source.Codec[string] {
	return source.Custom(map[string]any{"type": "string", "format": "email"}, func(r *source.Reader, n *source.Node) (string, bool) {
		if !address.MatchString(n.Text) {
			r.Fault(n, "E114", "%q is no e-mail address.", n.Text)
			return "", false
		}
		return n.Text, true
	})
}

func groupForm() *source.Form[Group] {
	return source.NewForm("a group", "Who owns, approves and is alerted.",
		source.Key("members", source.List(hyphened), func(g *Group) *[]string { return &g.Members }).Needed().Says("people"),
		source.Key("alert", source.List(hyphened), func(g *Group) *[]string { return &g.Alert }).Needed().Says("channels: email, or connections"),
		source.Key("digest", source.Clock(), func(g *Group) *string { return &g.Digest }).Says("the time of a daily summary, in quotes"),
	).Then(func(_ *source.Reader, n *source.Node, g *Group) { g.Source = n })
}

func connectionForm() *source.Form[Connection] {
	return source.NewForm("a connection", "Something outside that workers use.",
		source.Key("kind", hyphened, func(c *Connection) *string { return &c.Kind }).Needed().Says("http, outbox, files, ses, smtp, slack, teams, bedrock, openai and the like"),
		source.Key("url", source.Line(), func(c *Connection) *string { return &c.URL }).Says("its address"),
		source.Key("secret", secret(), func(c *Connection) *string { return &c.Secret }).Says("the name of its secret, never the value"),
		source.Key("may", source.List(hyphened), func(c *Connection) *[]string { return &c.May }).Says("what may be done with it"),
		source.Key("rate", source.OneOrMore[Rate](rateForm()), func(c *Connection) *[]Rate { return &c.Rates }).Says("its limits, for all runs together"),
		source.Key("from", email(), func(c *Connection) *string { return &c.From }).Says("the sender, for mail"),
	).Then(func(_ *source.Reader, n *source.Node, c *Connection) { c.Source = n })
}

// secret reads the name of a secret and refuses what looks like its value.
func secret() source.Codec[string] {
	return source.Custom(map[string]any{"type": "string", "pattern": secretName}, func(r *source.Reader, n *source.Node) (string, bool) {
		if n.Kind != source.Text || !secretWords.MatchString(n.Text) || len(n.Text) > 60 {
			r.Fault(n, "E126", "Only the name of a secret stands here, never its value: write a name such as pay-key, and keep the value in the secret store.")
			return "", false
		}
		return n.Text, true
	})
}

func rateForm() *source.Form[Rate] {
	return source.NewForm("a rate", "A limit for all runs together.",
		source.Key("calls", source.Whole(1, 1<<30), func(t *Rate) *int { return &t.Calls }).Says("in each period"),
		source.Key("tokens", source.Whole(1, 1<<30), func(t *Rate) *int { return &t.Tokens }).Says("in each period"),
		source.Key("per", source.Duration(), func(t *Rate) *time.Duration { return &t.Per }).Says("the period"),
		source.Key("at_once", source.Whole(1, 1<<20), func(t *Rate) *int { return &t.AtOnce }).Says("calls in flight"),
		source.Key("reserve", source.Percent(), func(t *Rate) *quantity.Percent { return &t.Reserve }).Says("kept back for retries"),
	).Then(func(r *source.Reader, n *source.Node, t *Rate) {
		if (t.Calls > 0 || t.Tokens > 0) != (t.Per > 0) {
			r.Fault(n, "E111", "A rate names both a number (calls or tokens) and its period (per).")
		}
	})
}

func modelForm() *source.Form[Model] {
	return source.NewForm("a model", "A language model.",
		source.Key("connection", hyphened, func(m *Model) *string { return &m.Connection }).Needed().Says("a connection, or bedrock"),
		source.Key("id", source.Line(), func(m *Model) *string { return &m.ID }).Needed().Says("the provider's name for it"),
		source.Key("price", source.Codec[Price](priceForm()), func(m *Model) *Price { return &m.Price }).Needed().Says("per million tokens"),
		source.Key("rate", source.OneOrMore[Rate](rateForm()), func(m *Model) *[]Rate { return &m.Rates }).Says("its limits, for all runs together"),
	).Then(func(_ *source.Reader, n *source.Node, m *Model) { m.Source = n })
}

func priceForm() *source.Form[Price] {
	return source.NewForm("a price", "Per million tokens.",
		source.Key("input", source.Money(), func(p *Price) *quantity.Money { return &p.Input }).Needed().Says("for what is sent"),
		source.Key("output", source.Money(), func(p *Price) *quantity.Money { return &p.Output }).Needed().Says("for what comes back"),
		source.Key("cache_read", source.Money(), func(p *Price) *quantity.Money { return &p.CacheRead }).Says("for what is read from a cache"),
		source.Key("cache_write", source.Money(), func(p *Price) *quantity.Money { return &p.CacheWrite }).Says("for what is put into a cache"),
		source.Key("as_of", date(), func(p *Price) *string { return &p.AsOf }).Needed().Says("the day of the price list, in quotes"),
	)
}

func date() source.Codec[string] {
	return source.Custom(map[string]any{"type": "string", "format": "date"}, func(r *source.Reader, n *source.Node) (string, bool) {
		if _, err := time.Parse(time.DateOnly, n.Text); err != nil {
			r.Fault(n, "E114", "%q is no date: write year, month and day in quotes, such as \"2026-11-01\".", n.Text)
			return "", false
		}
		return n.Text, true
	})
}

func webhookForm() *source.Form[Webhook] {
	return source.NewForm("a webhook", "How one sender's signatures are verified.",
		source.Key("verify", hyphened, func(w *Webhook) *string { return &w.Verify }).Needed().Says("stripe, github, slack, hmac-sha256 and the like"),
		source.Key("secrets", source.List(secret()), func(w *Webhook) *[]string { return &w.Secrets }).Needed().Says("names of secrets, any of which may have signed"),
		source.Key("body", source.SchemaRef(), func(w *Webhook) *source.Schema { return &w.Body }).Says("the JSON Schema of event.body"),
	).Then(func(_ *source.Reader, n *source.Node, w *Webhook) { w.Source = n })
}

func factForm() *source.Form[Fact] {
	return source.NewForm("a fact", "A shared record.",
		source.Key("schema", source.SchemaRef(), func(f *Fact) *source.Schema { return &f.Schema }).Needed().Says("its JSON Schema"),
		source.Key("sensitive", source.List(source.Line()), func(f *Fact) *[]string { return &f.Sensitive }).Says("fields that logs and pages do not show"),
		source.Key("keep", source.Duration(), func(f *Fact) *time.Duration { return &f.Keep }).Says("how long it is kept"),
		source.Key("approved", source.Flag(), func(f *Fact) *bool { return &f.Approved }).Says("true: a new version needs an approval"),
	).Then(func(_ *source.Reader, n *source.Node, f *Fact) { f.Source = n })
}

func eventCodec() source.Codec[Event] {
	ref := source.SchemaRef()
	return source.Custom(map[string]any{"type": []any{"string", "object"}}, func(r *source.Reader, n *source.Node) (Event, bool) {
		s, ok := ref.Read(r, n)
		return Event{Schema: s}, ok
	})
}

// passes is what stands beside one confidence.
type passes struct{ alone, reviewed charter.Risk }

func confidenceForm() *source.Form[Confidence] {
	level := source.Custom(map[string]any{"anyOf": []any{
		map[string]any{"enum": []any{"none", "low", "medium", "high", "critical"}},
		map[string]any{"type": "object", "properties": map[string]any{"alone": map[string]any{}, "reviewed": map[string]any{}}},
	}}, readPasses)
	place := func(name string, at func(c *Confidence, p passes)) source.Field[Confidence] {
		return source.Key(name, source.Custom(level.Schema(source.Definitions{}), func(r *source.Reader, n *source.Node) (setPasses, bool) {
			p, ok := level.Read(r, n)
			return setPasses{p, at}, ok
		}), func(c *Confidence) *setPasses { return c.slot() })
	}
	return source.NewForm("a confidence", "Up to which risk work of a confidence passes.",
		place("high", func(c *Confidence, p passes) { c.High, c.HighReviewed = p.alone, p.reviewed }).Says("a risk, or {alone, reviewed}"),
		place("medium", func(c *Confidence, p passes) { c.Medium, c.MediumReviewed = p.alone, p.reviewed }).Says("a risk, or {alone, reviewed}"),
		place("low", func(c *Confidence, p passes) { c.Low, c.LowReviewed = p.alone, p.reviewed }).Says("a risk, or {alone, reviewed}"),
	).Then(func(_ *source.Reader, _ *source.Node, c *Confidence) {
		effective := DefaultConfidence()
		for _, set := range c.read {
			if set.at != nil {
				set.at(&effective, set.passes)
			}
		}
		*c = effective
	})
}

// setPasses is a read row and where it goes.
type setPasses struct {
	passes
	at func(c *Confidence, p passes)
}

// slot is where the next row that is read is kept until the form is done.
func (c *Confidence) slot() *setPasses {
	c.read = append(c.read, &setPasses{})
	return c.read[len(c.read)-1]
}

var riskWord = source.OneOf("none", string(charter.RiskLow), string(charter.RiskMedium), string(charter.RiskHigh), string(charter.RiskCritical))

func readPasses(r *source.Reader, n *source.Node) (passes, bool) {
	one := func(n *source.Node) (charter.Risk, bool) {
		word, ok := riskWord.Read(r, n)
		if word == "none" {
			word = ""
		}
		return charter.Risk(word), ok
	}
	if n.Kind != source.Mapping {
		risk, ok := one(n)
		return passes{risk, risk}, ok
	}
	var p passes
	for _, pair := range n.Pairs {
		risk, _ := one(pair.Value)
		switch pair.Key.Text {
		case "alone":
			p.alone = risk
		case "reviewed":
			p.reviewed = risk
		default:
			r.Fault(pair.Key, "E110", "A confidence has the keys alone and reviewed, not %q.", pair.Key.Text)
		}
	}
	return p, true
}

// finish checks what names demand of each other.
func finish(r *source.Reader, n *source.Node, p *Project) {
	p.Source = n
	p.PerMonth = p.monthly.perMonth
	if n.Get("confidence") == nil {
		p.Confidence = DefaultConfidence()
	}
	if p.Zone != "" {
		if _, err := schedule.Zone(p.Zone); err != nil {
			r.Fault(n.Get("zone"), "E114", "%s.", err.Error())
		}
	}
	for _, g := range p.Groups {
		for i, member := range g.Members {
			if _, known := p.Person(member); !known {
				r.Fault(item(g.Source.Get("members"), i), "E224", "There is no person %q under `people`.%s", member, nearestPerson(p, member))
			}
		}
		for i, channel := range g.Alert {
			if _, known := p.Connection(channel); !known && channel != "email" {
				r.Fault(item(g.Source.Get("alert"), i), "E229", "%q is neither email nor a connection.", channel)
			}
		}
	}
	for _, m := range p.Models {
		if _, known := p.Connection(m.Connection); !known && m.Connection != "bedrock" && m.Connection != "" {
			r.Fault(m.Source.Find("connection"), "E229", "There is no connection %q.", m.Connection)
		}
	}
}

func item(list *source.Node, i int) *source.Node {
	if i < len(list.Items) {
		return list.Items[i]
	}
	return list
}

func nearestPerson(p *Project, name string) string {
	names := make([]string, len(p.People))
	for i, person := range p.People {
		names[i] = person.Name
	}
	if nearest := schema.Nearest(name, names); nearest != "" {
		return " Did you mean \"" + nearest + "\"?"
	}
	return ""
}
