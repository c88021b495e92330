// Package crew makes the workers of all charters of kind agent in a project, so
// that a loop's author adds an agent without Go code.
package crew

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/functions/workers/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/catalog"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// callShare is the part of an attempt's time that one model call may take: a
// slow one then fails in time to be tried again, with a class.
const callShare = 0.8

// Of makes the workers, ordered by name. options are what all of them share;
// model, price, contract and timeout come from the project and the charters.
// All that is wrong is joined; the workers that could be made are given.
func Of(p *project.Project, with catalog.With, options agent.Options) ([]worker.Worker, error) {
	var names []string
	for name, w := range p.Workers {
		if w != nil && w.Charter.Kind == charter.KindAgent && w.Charter.Agent != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
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
	offer, err := catalog.Open(p.Registry, c.Agent.Model, with)
	if err != nil {
		return worker.Worker{}, err
	}
	o.Model, o.Price, o.Contract = offer.Model, offer.Price, c.Contract
	if o.Timeout == 0 && c.Dispatch.Timeout > 0 {
		o.Timeout = time.Duration(float64(c.Dispatch.Timeout) * callShare)
	}
	return agent.New(c.Worker, o)
}
