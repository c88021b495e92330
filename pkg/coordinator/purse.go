package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// ErrBudget is a start for which a day's or a month's money is not enough.
var ErrBudget = errors.New("the period's budget is used up")

// BudgetError says which period's budget does not pay for a run. It unwraps to
// ErrBudget. Left and Need are in micro-units; runs under way may give some back
// before Anew, when the next period begins.
type BudgetError struct {
	Loop, Budget, Currency string
	Left, Need             int64
	Anew                   time.Time
}

// Error says all of it in one line.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the %s has %s %s left, a run of %s draws %s %s; it begins anew %s",
		e.Budget, money(e.Left), e.Currency, e.Loop, money(e.Need), e.Currency, e.Anew.Format("2006-01-02 15:04 MST"))
}

// Unwrap makes errors.Is(err, ErrBudget) true.
func (e *BudgetError) Unwrap() error { return ErrBudget }

// period is a purse as it is declared.
type period struct {
	name, says, currency string
	limit                int64
	anew                 time.Time
}

// periods are the purses that a run draws from when it starts now: its loop's
// day, and the project's month, out of which a sub-loop's caller has drawn already.
func periods(def *loop.Definition, run *record.Run, now time.Time) []period {
	var out []period
	zone := def.Zone
	if zone == nil {
		zone = time.UTC
	}
	if perDay := def.Loop.Budget.PerDay; perDay.Micro > 0 {
		day := now.In(zone)
		text := day.Format("2006-01-02")
		out = append(out, period{
			name: "day/" + def.Loop.Name + "/" + text, says: "budget of " + text + " for " + def.Loop.Name, currency: perDay.Currency,
			limit: perDay.Micro, anew: time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, zone),
		})
	}
	p := def.Project
	if p == nil || p.PerMonth.Micro <= 0 || run.Parent != nil {
		return out
	}
	if own := zones.named(p.Zone); own != nil {
		zone = own
	}
	month := now.In(zone)
	text := month.Format("2006-01")
	return append(out, period{
		name: "month/" + p.Name + "/" + text, says: "project's budget of " + text, currency: p.PerMonth.Currency,
		limit: p.PerMonth.Micro, anew: time.Date(month.Year(), month.Month()+1, 1, 0, 0, 0, 0, zone),
	})
}

// draw takes the run's money out of its purses, in the write that starts it.
// Error: *BudgetError, with nothing drawn.
func (c *Coordinator) draw(ctx context.Context, def *loop.Definition, run *record.Run) ([]store.Op, error) {
	run.Drawn = nil
	now, amount := c.now(), run.Numbers[record.RunLeft]
	var ops []store.Op
	var names []string
	for _, p := range periods(def, run, now) {
		purse, err := one(ctx, c, record.PurseKey(p.name), record.DecodePurse)
		if err != nil {
			return nil, fmt.Errorf("reading the %s: %w", p.says, err)
		}
		left := p.limit
		if purse != nil {
			left = purse.Left + p.limit - purse.Limit
		}
		switch {
		case left < amount:
			return nil, &BudgetError{Loop: def.Loop.Name, Budget: p.says, Currency: p.currency, Left: left, Need: amount, Anew: p.anew}
		case purse == nil:
			ops = append(ops, record.NewPurse(p.name, p.limit, amount, now))
		default:
			ops = append(ops, purse.Draw(p.limit, amount))
		}
		names = append(names, p.name)
	}
	run.Drawn = names
	return ops, nil
}

// drawAtStart draws for a new run. Where the money is not there, the start is
// refused or the run waits in line for it, as the budget's `otherwise` says; the
// owner is told once for each period.
func (c *Coordinator) drawAtStart(ctx context.Context, s *starting) ([]store.Op, error) {
	ops, err := c.draw(ctx, s.def, s.run)
	var none *BudgetError
	if !errors.As(err, &none) {
		return ops, err
	}
	c.cfg.Notify(ctx, Alert{To: told(s.def), Kind: KindBudget, ID: record.ShortID("budget", none.Budget, none.Anew.String()), Text: none.Error()})
	if s.def.Loop.Budget.Otherwise == loop.ExhaustedHalt {
		return nil, err
	}
	s.run.Queued = true
	s.run.Note(record.Entry{At: s.run.Started, Kind: "queued", Rule: none.Error()})
	return nil, nil
}

// drawInLine draws for a run whose turn has come; false: it waits on for the money.
func (c *Coordinator) drawInLine(ctx context.Context, run *record.Run) ([]store.Op, bool, error) {
	def, err := c.definitionOf(ctx, run.ID)
	if err != nil {
		return nil, false, err
	}
	ops, err := c.draw(ctx, def, run)
	if errors.Is(err, ErrBudget) {
		return nil, false, nil
	}
	return ops, err == nil, err
}

// drawAgain draws for a closed run that is redriven: it gave back what it had not spent.
func (c *Coordinator) drawAgain(ctx context.Context, run *record.Run) ([]store.Op, error) {
	def, err := c.definitionOf(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	return c.draw(ctx, def, run)
}

// exhausted is the failure of a step for which the run's budget has nothing
// left: a person is asked or the run halts, as the budget's `otherwise` says.
func (v *view) exhausted(cause string) *fault {
	halt := v.def.Loop.Budget.Otherwise == loop.ExhaustedHalt
	return &fault{class: outerloop.ClassRefused, final: true, cause: cause, ask: !halt, halt: halt}
}
