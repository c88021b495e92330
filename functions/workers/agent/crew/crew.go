// Package crew makes the workers of all charters of kind agent in a project, so
// that a loop's author adds an agent without Go code.
package crew

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/outerloop-dev/outerloop/functions/workers/agent"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/catalog"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Of makes the workers, ordered by name: of the charters of kind agent, and of
// those whose work a model may do. They ask the model that the run has pinned.
// options are what all of them share; model, price, contract and timeout come
// from the project and the charters. All that is wrong is joined; the workers
// that could be made are given.
func Of(p *project.Project, with catalog.With, options agent.Options) ([]worker.Worker, error) {
	var names []string
	for name, w := range p.Workers {
		if w != nil && (w.Charter.Agent != nil || w.Charter.Variant != nil) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	options.Open = once(with.Open)
	var workers []worker.Worker
	var faults []error
	for _, name := range names {
		w, err := one(p, p.Workers[name].Charter, with, options)
		if err != nil {
			faults = append(faults, fmt.Errorf("making worker %s: %w", name, err))
			continue
		}
		workers = append(workers, w)
	}
	return workers, errors.Join(faults...)
}

func one(p *project.Project, c *charter.Charter, with catalog.With, o agent.Options) (worker.Worker, error) {
	if c.Agent != nil {
		offer, err := catalog.Open(p.Registry, c.Agent.Model, with)
		if err != nil {
			return worker.Worker{}, err
		}
		o.Model, o.Price = offer.Model, offer.Price
	}
	o.Contract = c.Contract
	if o.Timeout == 0 {
		o.Timeout = c.Dispatch.ModelTime()
	}
	return agent.New(c.Worker, o)
}

// place is where a model is asked, without what it costs.
type place struct{ id, kind, url, secret string }

// once opens each model once, for all workers and attempts together.
func once(open func(gate.Model) (llm.Model, error)) func(gate.Model) (llm.Model, error) {
	var mu sync.Mutex
	opened := map[place]llm.Model{}
	return func(m gate.Model) (llm.Model, error) {
		mu.Lock()
		defer mu.Unlock()
		at := place{m.ID, m.Kind, m.URL, m.Secret}
		if model := opened[at]; model != nil {
			return model, nil
		}
		model, err := open(m)
		if err == nil {
			opened[at] = model
		}
		return model, err
	}
}
