package registry

import (
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
)

// Asked is a declared model with where it is asked and what it costs, for the
// tasks of agents; nil where it is not declared.
func (p *Project) Asked(name string) *gate.Model {
	if p == nil {
		return nil
	}
	m, found := p.Model(name)
	if !found {
		return nil
	}
	out := &gate.Model{Name: m.Name, ID: m.ID, Kind: m.Connection, Price: gate.Price{
		Input: m.Price.Input.Micro, Output: m.Price.Output.Micro, CacheRead: stated(m.Price.CacheRead), CacheWrite: stated(m.Price.CacheWrite),
		Currency: m.Price.Input.Currency, AsOf: m.Price.AsOf,
	}}
	if c, found := p.Connection(m.Connection); found {
		out.Connection, out.Kind, out.URL, out.Secret = c.Name, c.Kind, c.URL, c.Secret
	}
	return out
}

// stated is an amount, nil where none was given.
func stated(m quantity.Money) *int64 {
	if m.Currency == "" {
		return nil
	}
	micro := m.Micro
	return &micro
}
