// Package registry models the project file: people, groups, connections,
// models, webhooks, facts and events, each declared once and referred to by
// name everywhere else (R76). Secrets stand there by name only.
package registry

import (
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// Project is the project file.
type Project struct {
	Name string
	// Zone is the IANA zone of loops that name none.
	Zone string
	// Keep is how long closed runs are kept of loops that do not say; 0: 90 days.
	Keep time.Duration
	// PerMonth bounds all loops' costs in a month; the zero value: no bound.
	PerMonth    quantity.Money
	People      []Person
	Groups      []Group
	Connections []Connection
	Models      []Model
	Webhooks    []Webhook
	Facts       []Fact
	Events      []Event
	// Confidence is what passes at each risk; the language's rows where none are given.
	Confidence Confidence
	// Chosen names the one model that all agents ask (see Choose); empty: each
	// asks its own. ChosenFor are the workers of kind go whose work it does; nil:
	// all that a model may do.
	Chosen    string
	ChosenFor []string
	Source    *source.Node

	monthly monthly
}

// Person is somebody who decides or is told.
type Person struct {
	Name   string
	Email  string
	Source *source.Node
}

// Group is who owns, approves and is alerted.
type Group struct {
	Name    string
	Members []string
	// Alert lists channels: "email", or connections of kind slack, teams, webhook.
	Alert []string
	// Digest is the time of a daily summary, "08:00"; empty: none.
	Digest string
	Source *source.Node
}

// Connection is something outside that workers use.
type Connection struct {
	Name string
	Kind string
	URL  string
	// Secret is the name of a secret, never its value.
	Secret string
	// May lists what may be done with it.
	May []string
	// Rates hold all at once, for all runs together (R32).
	Rates []Rate
	// From is the sender of a mail connection.
	From   string
	Source *source.Node
}

// Rate is one limit of a connection or model.
type Rate struct {
	// Calls and Tokens are bounds in each Per; 0: none.
	Calls  int
	Tokens int
	Per    time.Duration
	// AtOnce bounds calls in flight; 0: none.
	AtOnce int
	// Reserve is kept back for retries.
	Reserve quantity.Percent
}

// Model is a language model.
type Model struct {
	Name string
	// Connection names a connection of the project, or is "bedrock".
	Connection string
	ID         string
	Price      Price
	Rates      []Rate
	Source     *source.Node
}

// Price is per million tokens, as of a date.
type Price struct {
	Input, Output, CacheRead, CacheWrite quantity.Money
	AsOf                                 string
}

// Webhook is how signatures of one sender are verified.
type Webhook struct {
	Name   string
	Verify string
	// Secrets are names; any of them may have signed.
	Secrets []string
	// Body is the schema of event.body; unset: anything.
	Body   source.Schema
	Source *source.Node
}

// Fact is a shared record with its schema (R23).
type Fact struct {
	// Name may end in *, which stands for any end.
	Name   string
	Schema source.Schema
	// Sensitive are fields to redact.
	Sensitive []string
	// Keep is the retention; 0: for ever.
	Keep time.Duration
	// Approved tells whether a new version needs an approval (R26).
	Approved bool
	Source   *source.Node
}

// Event is an event's schema (R11).
type Event struct {
	Name   string
	Schema source.Schema
}

// Confidence is the greatest risk up to which work of a confidence passes:
// alone, or with a passed review. An empty risk passes nothing.
type Confidence struct {
	High, HighReviewed     charter.Risk
	Medium, MediumReviewed charter.Risk
	Low, LowReviewed       charter.Risk

	read []*setPasses
}

// DefaultConfidence is the language's table: high passes up to high, medium
// passes up to medium with a review, low never passes.
func DefaultConfidence() Confidence {
	return Confidence{High: charter.RiskHigh, HighReviewed: charter.RiskHigh, MediumReviewed: charter.RiskMedium}
}

// Fits tells whether a declared name, which may end in *, covers a name.
func Fits(declared, name string) bool {
	if prefix, open := strings.CutSuffix(declared, "*"); open {
		return strings.HasPrefix(name, prefix)
	}
	return declared == name
}

// Group finds a group.
func (p *Project) Group(name string) (Group, bool) { return find(p.Groups, name, groupName) }

// Person finds a person.
func (p *Project) Person(name string) (Person, bool) {
	return find(p.People, name, func(x Person) string { return x.Name })
}

// Connection finds a connection.
func (p *Project) Connection(name string) (Connection, bool) {
	return find(p.Connections, name, func(x Connection) string { return x.Name })
}

// Model finds a model.
func (p *Project) Model(name string) (Model, bool) {
	return find(p.Models, name, func(x Model) string { return x.Name })
}

// Webhook finds a webhook.
func (p *Project) Webhook(name string) (Webhook, bool) {
	return find(p.Webhooks, name, func(x Webhook) string { return x.Name })
}

// Event finds an event.
func (p *Project) Event(name string) (Event, bool) {
	return find(p.Events, name, func(x Event) string { return x.Name })
}

// Fact finds the declaration of a fact: its own, else the longest that ends in * and fits.
func (p *Project) Fact(name string) (Fact, bool) {
	var best Fact
	found := false
	for _, fact := range p.Facts {
		if fact.Name == name {
			return fact, true
		}
		if Fits(fact.Name, name) && len(fact.Name) > len(best.Name) {
			best, found = fact, true
		}
	}
	return best, found
}

func groupName(g Group) string { return g.Name }

func find[T any](list []T, name string, of func(T) string) (T, bool) {
	for _, x := range list {
		if of(x) == name {
			return x, true
		}
	}
	var none T
	return none, false
}
