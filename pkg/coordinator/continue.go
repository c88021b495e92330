package coordinator

import (
	"context"
)

// Continue starts the execution of a run's generation where its engine does not
// know it, as after the run was moved here; the watch does the same for every
// open run. A run that is not open, or whose execution is there, is left alone.
// Error: ErrNoRun.
func (c *Coordinator) Continue(ctx context.Context, run string) error {
	if _, err := c.runOf(ctx, run); err != nil {
		return err
	}
	return c.startExecution(ctx, run)
}
