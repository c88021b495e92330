package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/outerloop-dev/outerloop/pkg/alert"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/readiness"
)

// shown is what operation has shown on this machine: drills that were recorded,
// alerts that were confirmed, and the breakers of the state file.
type shown struct{ a *app }

var _ readiness.Record = shown{}

// Drill is the last recorded drill that passed at a version.
func (s shown) Drill(_ context.Context, name string, version int) (readiness.Proof, error) {
	raw, err := os.ReadFile(s.a.drillFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return readiness.Proof{}, readiness.ErrNotOnRecord
	}
	var d drilled
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err != nil {
		return readiness.Proof{}, fmt.Errorf("reading the last drill: %w", err)
	}
	if d.Version != version {
		return readiness.Proof{}, readiness.ErrNotOnRecord
	}
	return readiness.Proof{At: d.At, By: d.By}, nil
}

// Alert is the last test alert of a group that a person has confirmed.
func (s shown) Alert(ctx context.Context, group string) (proof readiness.Proof, err error) {
	var p alert.Proof
	err = s.a.readingFile(ctx, func(r *local.Reader) error {
		p, err = alert.ReadProof(ctx, r.Store(), group)
		return err
	})
	switch {
	case errors.Is(err, local.ErrNoState), err == nil && p.At.IsZero():
		return proof, readiness.ErrNotOnRecord
	case err != nil:
		return proof, err
	}
	return readiness.Proof{At: p.At, By: p.By}, nil
}

// Breaker is the state of a worker's breaker; a worker that never failed has a closed one.
func (s shown) Breaker(ctx context.Context, worker string) (state string, err error) {
	state = "closed"
	err = s.a.reading(ctx, func(r reader) error {
		all, err := r.Breakers(ctx)
		for _, b := range all {
			if b.Worker == worker {
				state = b.State
			}
		}
		return err
	})
	if errors.Is(err, local.ErrNoState) {
		return "", readiness.ErrNotOnRecord
	}
	return state, err
}
