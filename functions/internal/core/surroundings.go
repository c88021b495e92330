package core

import (
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// Surroundings are the connections that a worker's charter names in `tools`, and
// the one that its endpoint is reached by, as the definition's project file
// declares them. Nothing else is given to it (R20).
func Surroundings(def *loop.Definition, worker string) *gatewire.Surroundings {
	with := &gatewire.Surroundings{}
	w := def.Workers[worker]
	if w == nil || def.Project == nil {
		return with
	}
	for _, name := range w.Charter.Connections() {
		if c, declared := def.Project.Connection(name); declared {
			with.Connections = append(with.Connections, gatewire.Connection{
				Name: c.Name, Kind: c.Kind, URL: c.URL, From: c.From, Secret: c.Secret,
			})
		}
	}
	return with
}
