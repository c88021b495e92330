package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// classRefusedStart marks the exception of an occurrence that started nothing.
const classRefusedStart = "refused_start"

// occurrence is what was to start a run: an event, or what a monitor saw.
type occurrence struct {
	what, id string
	data     json.RawMessage
}

// unlessRefused lets pass what trying again would not change. What does not fit
// the loop is one exception that keeps it, since nobody else hears of it (R38,
// R39); what the loop's own rules turn away is logged.
func (c *Coordinator) unlessRefused(ctx context.Context, err error, loopName string, o occurrence) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrInput), errors.Is(err, ErrOtherInput):
		return c.refusedStart(ctx, err, loopName, o)
	case errors.Is(err, ErrOverlap), errors.Is(err, ErrNotPossible):
		c.cfg.Log.Warn("nothing was started", "loop", loopName, o.what, o.id, "reason", err)
		return nil
	}
	return err
}

func (c *Coordinator) refusedStart(ctx context.Context, why error, loopName string, o occurrence) error {
	def, hash, err := c.latest(ctx, loopName)
	if err != nil {
		return err
	}
	exc := &record.Exception{
		ID: record.ShortID("refused start", loopName, o.what, o.id), Class: classRefusedStart,
		Loop: loopName, Owner: def.Loop.Owner, Definition: hash, Queue: o.what, Body: Letter{Body: o.data}.kept(),
		Cause: cut(fmt.Sprintf("%s %s started no run of %s: %v", o.what, o.id, loopName, why), causeLimit),
		Tried: "the start was refused for good", State: "no run was started, and nothing waits for it",
		Needed: "correct what is wrong and let it be told anew, or start the loop by hand; then close", Ways: []string{WayClose}, Since: c.now(),
	}
	switch err := c.write(ctx, exc.Put()); {
	case errors.Is(err, store.ErrCondition): // it is known
		return nil
	case err != nil:
		return fmt.Errorf("recording a refused start: %w", err)
	}
	c.alert(ctx, exc, def)
	return nil
}

// standsAlone tells whether an exception is about no step that waits for its answer.
func standsAlone(exc *record.Exception) bool {
	return exc.Class == classDuplicate || exc.Class == classLetter || exc.Class == classRefusedStart
}
