package sampletest

import (
	"context"

	"github.com/outerloop-dev/outerloop/pkg/local/durable"
)

// stateLimit is the most that the data of a state may take, in bytes: business
// data never goes through a machine.
const stateLimit = 2048

// smallStates checks that in everything that ran no state was given or gave more
// than the limit.
func (w *World) smallStates() {
	w.Helper()
	ctx := context.Background() // the test's own has ended
	reader := durable.Reader{Store: w.Engine.Store()}
	var names []string
	w.must(reader.Each(ctx, func(d durable.Description) bool {
		names = append(names, d.Name)
		return true
	}))
	for i := 0; i < len(names); i++ {
		children, err := reader.Children(ctx, names[i])
		w.must(err)
		names = append(names, children...)
		history, err := reader.History(ctx, names[i])
		w.must(err)
		for _, event := range history {
			d := event.Details
			if d == nil || d.Name == "" {
				continue
			}
			if n := max(len(d.Input), len(d.Output)); n > stateLimit {
				w.Errorf("%s: %s of %s has %d bytes of data, at most %d are allowed", names[i], event.Type, d.Name, n, stateLimit)
			}
		}
	}
}
