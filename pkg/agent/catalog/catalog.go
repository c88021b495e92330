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
	model := with.Instead
	if model == nil {
		if model, err = open(p, declared, with); err != nil {
			return Offer{}, fmt.Errorf("opening model %s: %w", name, err)
		}
	}
	return Offer{name, model, price}, nil
}

func open(p *registry.Project, m registry.Model, with With) (agent.Model, error) {
	source, kind := Source{ID: m.ID}, m.Connection
	if c, found := p.Connection(m.Connection); found {
		kind, source.URL = c.Kind, c.URL
		if c.Secret != "" {
			if with.Secret == nil {
				return nil, fmt.Errorf("connection %s needs the secret %s, and this program has none", c.Name, c.Secret)
			}
			key, err := with.Secret(c.Secret)
			if err != nil {
				return nil, fmt.Errorf("reading the secret %s of connection %s: %w", c.Secret, c.Name, err)
			}
			source.Key = key
		}
	}
	opener := with.Openers[kind]
	if opener == nil {
		kinds := make([]string, 0, len(with.Openers))
		for known := range with.Openers {
			kinds = append(kinds, known)
		}
		slices.Sort(kinds)
		return nil, fmt.Errorf("this program cannot ask models over a connection of kind %q; it can over: %s", kind, strings.Join(kinds, ", "))
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
