// Package catalog opens the models of a project file (R76): it finds a model's
// connection, secret and price, and makes the adapter for its kind. Programs
// say which kinds they link.
package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/openai"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

// Source is where a model is asked.
type Source struct {
	// ID is the provider's name for the model.
	ID string
	// URL and Key are the connection's; empty where it has none.
	URL, Key string
}

// Opener makes the adapter of a kind of connection.
type Opener func(Source) (agent.Model, error)

// OpenAI is the opener of connections of kind openai.
func OpenAI(s Source) (agent.Model, error) {
	return openai.New(openai.Config{URL: s.URL, Model: s.ID, Key: s.Key})
}

// With is what a program brings.
type With struct {
	// Openers are the kinds that the program links, by the connection's kind.
	Openers map[string]Opener
	// Secret gives the value of a secret by its name; nil: there are none.
	Secret func(name string) (string, error)
	// Instead is asked in place of every model, at the declared prices; nil: the
	// declared models are.
	Instead agent.Model
}

// Offer is a model with its price.
type Offer struct {
	Name  string
	Model agent.Model
	Price agent.Price
}

// Open opens a model of the project by its name there.
func Open(p *registry.Project, name string, with With) (Offer, error) {
	declared, found := p.Model(name)
	if !found {
		return Offer{}, fmt.Errorf("the project file has no model %q", name)
	}
	price, err := PriceOf(declared)
	if err != nil {
		return Offer{}, err
	}
	model, err := with.Open(*p.Asked(name))
	if err != nil {
		return Offer{}, err
	}
	return Offer{name, model, price}, nil
}

// Open opens a model that a task brings.
func (with With) Open(m gate.Model) (agent.Model, error) {
	if with.Instead != nil {
		return with.Instead, nil
	}
	model, err := with.open(m)
	if err != nil {
		return nil, fmt.Errorf("opening model %s: %w", m.Name, err)
	}
	return model, nil
}

func (with With) open(m gate.Model) (agent.Model, error) {
	source := Source{ID: m.ID, URL: m.URL}
	if m.Secret != "" {
		if with.Secret == nil {
			return nil, fmt.Errorf("its connection needs the secret %s, and this program has none", m.Secret)
		}
		key, err := with.Secret(m.Secret)
		if err != nil {
			return nil, fmt.Errorf("reading the secret %s of its connection: %w", m.Secret, err)
		}
		source.Key = key
	}
	opener := with.Openers[m.Kind]
	if opener == nil {
		kinds := make([]string, 0, len(with.Openers))
		for known := range with.Openers {
			kinds = append(kinds, known)
		}
		slices.Sort(kinds)
		return nil, fmt.Errorf("this program cannot ask models over a connection of kind %q; it can over: %s", m.Kind, strings.Join(kinds, ", "))
	}
	return opener(source)
}

// PriceOf is the declared price of a model: dated, in one currency, and none of
// it taken for zero where it is not stated.
func PriceOf(m registry.Model) (agent.Price, error) {
	price := agent.Price{Input: m.Price.Input.Micro, Output: m.Price.Output.Micro, Currency: m.Price.Input.Currency, AsOf: m.Price.AsOf}
	for part, amount := range map[string]quantity.Money{"output": m.Price.Output, "cache_read": m.Price.CacheRead, "cache_write": m.Price.CacheWrite} {
		if amount.Currency != price.Currency && (amount.Currency != "" || part == "output") {
			return agent.Price{}, fmt.Errorf("model %s: %w in one currency: %s is in %q, input in %q", m.Name, agent.ErrUnpriced, part, amount.Currency, price.Currency)
		}
	}
	if m.Price.CacheRead.Currency != "" {
		price.CacheRead = &m.Price.CacheRead.Micro
	}
	if m.Price.CacheWrite.Currency != "" {
		price.CacheWrite = &m.Price.CacheWrite.Micro
	}
	if err := price.Known(); err != nil {
		return agent.Price{}, fmt.Errorf("model %s: %w", m.Name, err)
	}
	return price, nil
}
