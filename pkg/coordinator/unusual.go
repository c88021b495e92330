package coordinator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

const (
	// historyRuns is how many completed runs make a history that cost is compared with.
	historyRuns = 5
	// historyDays is how many days of figures are looked at, historyKept how long
	// a process remembers what they said.
	historyDays = 60
	historyKept = time.Hour
)

// history is what a loop's completed runs have cost, micro-units.
type history struct {
	runs, spent int64
	at          time.Time
}

// usual is what runs of a loop usually cost, without one of them; 0: too few
// have completed to say.
func (h history) usual(but int64, counted bool) int64 {
	if counted {
		h.runs, h.spent = h.runs-1, h.spent-but
	}
	if h.runs < historyRuns || h.spent <= 0 {
		return 0
	}
	return h.spent / h.runs
}

// histories remembers what loops usually cost. The zero value is ready.
type histories struct {
	mu   sync.Mutex
	kept map[string]history
}

// history reads a loop's figures, at most once an hour.
func (c *Coordinator) history(ctx context.Context, loop string) (history, error) {
	c.usual.mu.Lock()
	h, known := c.usual.kept[loop]
	c.usual.mu.Unlock()
	now := c.now()
	if known && now.Sub(h.at) < historyKept {
		return h, nil
	}
	page, err := c.cfg.Store.List(ctx, store.Query{Part: "DAY#" + loop, Descending: true, Limit: historyDays})
	if err != nil {
		return history{}, fmt.Errorf("reading the figures of %s: %w", loop, err)
	}
	h = history{at: now}
	for _, item := range page.Items {
		h.runs += item.Numbers["runs"]
		h.spent += item.Numbers["spent"]
	}
	c.usual.mu.Lock()
	defer c.usual.mu.Unlock()
	if c.usual.kept == nil {
		c.usual.kept = map[string]history{}
	}
	c.usual.kept[loop] = h
	return h, nil
}

// tellCost tells when a run has cost more than its loop's declared multiple of
// what its runs usually cost (R57, R58). A run that has just completed may be
// among the figures; then it is left out.
func (c *Coordinator) tellCost(ctx context.Context, run *record.Run) error {
	spent := run.Numbers[record.RunSpent]
	if spent <= 0 {
		return nil
	}
	def, err := c.cfg.Definitions.Definition(ctx, run.Definition)
	if err != nil {
		return err
	}
	h, err := c.history(ctx, run.Loop)
	if err != nil {
		return err
	}
	counted := run.Status == outerloop.StatusCompleted && !h.at.Before(run.Ended)
	usual := h.usual(spent, counted)
	if usual == 0 || float64(spent) <= def.Loop.Alert.Cost*float64(usual) {
		return nil
	}
	currency := def.Loop.Budget.Cost.Currency
	c.cfg.Notify(ctx, Alert{
		To: told(def), Kind: KindCost, ID: run.ID, Loop: run.Loop, Run: run.ID, Since: run.Started,
		Text: fmt.Sprintf("it has cost %s %s, more than %g times the usual %s of its loop's last %d runs",
			amountText(spent), currency, def.Loop.Alert.Cost, amountText(usual), h.runs),
	})
	return nil
}

// amountText is money in a currency's own unit, as exact as it is small.
func amountText(micro int64) string {
	value := float64(micro) / million
	if micro < million/10 {
		return fmt.Sprintf("%.4f", value)
	}
	return fmt.Sprintf("%.2f", value)
}

// tellRetries tells once when the retries of a step have reached what its loop
// declares (R57). An attempt that died counts as a failed one.
func (q *call) tellRetries(ctx context.Context, step *record.Step, verdict gate.Verdict) {
	most := q.def.Loop.Alert.Retries
	failures := step.Tries.Crash
	for _, n := range step.Tries.Failed {
		failures += n
	}
	if most <= 0 || failures != most || verdict.Error == outerloop.ErrorGiveUp {
		return
	}
	c := q.c
	c.cfg.Notify(ctx, Alert{
		To: told(q.def), Kind: KindRetries, ID: record.ShortID("retries", q.run.ID, string(q.at), fmt.Sprint(q.run.Gen, step.Visit, step.Backup)),
		Loop: q.run.Loop, Run: q.run.ID, Step: step.Name, at: spot{q.Step, q.Item},
		Text: fmt.Sprintf("%s has not succeeded in %s and is tried again; the last: %s", step.Name, triedText(step), cut(step.Cause, logText)),
	})
}
