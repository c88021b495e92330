// Package crew makes the workers of all charters whose work is done elsewhere
// (kinds http, lambda and command), so that a loop's author adds one without Go
// code.
package crew

import (
	"maps"
	"slices"

	"github.com/outerloop-dev/outerloop/functions/workers/bridge"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// kinds are those of bridge.
var kinds = []charter.Kind{charter.KindHTTP, charter.KindLambda, charter.KindCommand}

// Of makes the workers, ordered by name.
func Of(p *project.Project, callers bridge.Callers) []worker.Worker {
	var workers []worker.Worker
	for _, name := range slices.Sorted(maps.Keys(p.Workers)) {
		if w := p.Workers[name]; w != nil && slices.Contains(kinds, w.Charter.Kind) {
			workers = append(workers, bridge.New(name, w.Charter.Contract, callers))
		}
	}
	return workers
}
