package local

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// triggered keeps the files of inputs that triggers other than schedules make. A
// file that cannot be kept is a fault of the input.
func (e *Engine) triggered() func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	if e.cfg.Files == nil {
		return nil
	}
	return func(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error) {
		hash, err := e.defs.Latest(ctx, name)
		if err != nil {
			return nil, err
		}
		def, err := e.defs.Definition(ctx, hash)
		if err != nil {
			return nil, err
		}
		kept, err := e.cfg.Files(ctx, Scheduled{Definition: def, Input: input, PutBlob: e.store.PutBlob})
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, &coordinator.InputError{What: "the input of " + name, Faults: []string{err.Error()}}
		}
		return kept, err
	}
}
