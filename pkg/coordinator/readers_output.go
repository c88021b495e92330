package coordinator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// OutputView is what is recorded of a step's work.
type OutputView struct {
	// Path names the step as people read it, "follow_up[D-1042]/draft".
	Path    string              `json:"path"`
	Status  outerloop.StepState `json:"status"`
	Outcome outerloop.Outcome   `json:"outcome"`
	// Output is the latest visit's, null before there is one; what people approved
	// instead is in their request.
	Output json.RawMessage `json:"output"`
}

// Outputs reads what is recorded of a run's steps: of the one that is named so,
// or, for a path without items' keys, of each of its items, in the order of
// their paths. No step of that name gives an empty list. Error: ErrNoRun.
func (c *Coordinator) Outputs(ctx context.Context, run, step string) ([]OutputView, error) {
	if _, err := c.runOf(ctx, run); err != nil {
		return nil, err
	}
	out := []OutputView{}
	err := c.each(ctx, store.Query{Part: record.RunKey(run).Part, Prefix: record.StepsPrefix(""), Limit: 500}, func(item *store.Item) error {
		s, err := record.DecodeStep(item)
		if err != nil || s.Name != step && s.Path != step {
			return err
		}
		view := OutputView{Path: s.Name, Status: s.State, Outcome: s.Outcome}
		if view.Output, _, err = c.shown(ctx, run, s.Output); err != nil {
			return err
		}
		out = append(out, view)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the outputs of %s in %s: %w", step, run, err)
	}
	return out, nil
}
