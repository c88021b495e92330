package local

import (
	"context"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// handOver runs a worker for a delivery outside of any machine, beside its pool:
// a rollback has one such delivery at a time. What breaks off with the process
// is handed over again by the watch.
func (e *Engine) handOver(_ context.Context, name string, d gate.Delivery) error {
	if e.byName[name] == nil {
		return fmt.Errorf("this program has no worker %s", name)
	}
	e.mu.Lock()
	e.busy++
	e.mu.Unlock()
	go func() {
		if err := e.tool(e.handlers, name, d); err != nil && !e.stopped() {
			e.cfg.Log.Warn("a delivery failed, the watch repeats it", "worker", name, "step", d.Step, "error", err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.busy--
		e.notice()
	}()
	return nil
}
