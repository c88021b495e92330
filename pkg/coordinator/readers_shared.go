package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// mostSearched is how many runs are looked through for the beginning of an id.
const mostSearched = 1000

// Find answers the ids that a beginning of a run's id may stand for, newest
// first: the run itself for a whole id, else those among the newest 1,000 of
// the loops that can have it; for "" the newest run. None gives an empty list.
func (c *Coordinator) Find(ctx context.Context, beginning string) ([]string, error) {
	found := []string{}
	if beginning != "" {
		run, err := one(ctx, c, record.RunKey(beginning), record.DecodeRun)
		if err != nil || run != nil {
			return append(found, beginning)[:min(1, len(beginning))], err
		}
	}
	parts, err := c.runParts(ctx, RunsQuery{})
	if err != nil {
		return nil, err
	}
	parts = slices.DeleteFunc(parts, func(part string) bool {
		loop := strings.Split(part, "#")[1] + "-"
		return !strings.HasPrefix(loop, beginning) && !strings.HasPrefix(beginning, loop)
	})
	most := mostSearched
	if beginning == "" {
		most = 1
	}
	_, err = c.list(ctx, listing{parts: parts, descending: true, limit: most}, func(item *store.Item) (bool, error) {
		run, err := record.DecodeRun(item)
		if err == nil && strings.HasPrefix(run.ID, beginning) {
			found = append(found, run.ID)
		}
		return true, err
	})
	return found, err
}

// LoopView is a loop as it can be started now.
type LoopView struct {
	ID string `json:"id"`
	// Version and Definition are what a new run gets; empty: it can be started no more.
	Version    int    `json:"version,omitempty"`
	Definition string `json:"definition,omitempty"`
	Owner      string `json:"owner,omitempty"`
	// Paused: its triggers start nothing.
	Paused    bool           `json:"paused"`
	Schedules []ScheduleView `json:"schedules"`
}

// ScheduleView is one schedule of a loop and when it fires next; null: never again.
type ScheduleView struct {
	Expression string     `json:"expression"`
	Zone       string     `json:"zone"`
	Next       *time.Time `json:"next"`
}

// Loops lists the loops that can be started or ever had a run, by name.
func (c *Coordinator) Loops(ctx context.Context) ([]LoopView, error) {
	slots := map[string]*record.Loop{}
	err := c.each(ctx, store.Query{Part: record.LoopsPart}, func(item *store.Item) error {
		slot, err := record.DecodeLoop(item)
		slots[item.Sort] = slot
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing loops: %w", err)
	}
	names, err := c.loopNames(ctx, slots)
	if err != nil {
		return nil, err
	}
	out := make([]LoopView, 0, len(names))
	for _, name := range names {
		view := LoopView{ID: name, Schedules: []ScheduleView{}}
		if slot := slots[name]; slot != nil {
			view.Paused = slot.Paused
		}
		def, hash, err := c.offered(ctx, name)
		if err != nil {
			return nil, err
		}
		if def != nil {
			view.Definition = hash
			c.describe(&view, def)
		}
		out = append(out, view)
	}
	return out, nil
}

func (c *Coordinator) loopNames(ctx context.Context, slots map[string]*record.Loop) ([]string, error) {
	var names []string
	if c.cfg.Loops != nil {
		known, err := c.cfg.Loops(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing loops: %w", err)
		}
		names = append(names, known...)
	}
	for name := range slots {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// offered is what a new run of the loop gets; nil: it cannot be started.
func (c *Coordinator) offered(ctx context.Context, name string) (*loop.Definition, string, error) {
	def, hash, err := c.latest(ctx, name)
	if errors.Is(err, ErrNoLoop) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the loop %s: %w", name, err)
	}
	return def, hash, nil
}

func (c *Coordinator) describe(view *LoopView, def *loop.Definition) {
	view.Version, view.Owner = def.Loop.Version, def.Loop.Owner
	for i := range def.Triggers {
		s := def.Triggers[i].Schedule
		if s == nil {
			continue
		}
		shown := ScheduleView{Expression: s.String(), Zone: s.Zone().String()}
		if fire, ok := s.Next(c.now()); ok {
			at := fire.At.UTC()
			shown.Next = &at
		}
		view.Schedules = append(view.Schedules, shown)
	}
}

// BudgetView is what a period's budget has left, in its currency.
type BudgetView struct {
	// ID names the period: day/LOOP/2026-11-30, month/PROJECT/2026-11.
	ID       string  `json:"id"`
	Budget   string  `json:"budget"`
	Currency string  `json:"currency"`
	Limit    float64 `json:"limit"`
	// Left is not yet drawn by runs; what runs under way do not spend comes back.
	Left float64 `json:"left"`
	// Anew is when the next period begins.
	Anew time.Time `json:"anew"`
}

// Budgets lists the budgets of the periods under way, of every loop that can be
// started and of the project, by name.
func (c *Coordinator) Budgets(ctx context.Context) ([]BudgetView, error) {
	loops, err := c.Loops(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]period{}
	for _, l := range loops {
		def, _, err := c.offered(ctx, l.ID)
		if err != nil {
			return nil, err
		}
		if def == nil {
			continue
		}
		for _, p := range periods(def, &record.Run{}, c.now()) {
			found[p.name] = p
		}
	}
	out := make([]BudgetView, 0, len(found))
	for name, p := range found {
		purse, err := one(ctx, c, record.PurseKey(name), record.DecodePurse)
		if err != nil {
			return nil, fmt.Errorf("reading the %s: %w", p.says, err)
		}
		left := p.limit
		if purse != nil {
			left += purse.Left - purse.Limit
		}
		out = append(out, BudgetView{
			ID: name, Budget: p.says, Currency: p.currency, Limit: float64(p.limit) / micro, Left: float64(left) / micro, Anew: p.anew.UTC(),
		})
	}
	slices.SortFunc(out, func(a, b BudgetView) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// FactView is a fact as it was last written.
type FactView struct {
	ID string `json:"id"`
	// Value is null where it was never written; Run is the run that wrote it.
	Value json.RawMessage `json:"value"`
	Run   string          `json:"run,omitempty"`
}

// Fact reads a fact.
func (c *Coordinator) Fact(ctx context.Context, name string) (FactView, error) {
	fact, err := one(ctx, c, record.FactKey(name), record.DecodeFact)
	if err != nil || fact.Gone(c.now()) {
		return FactView{ID: name, Value: json.RawMessage("null")}, err
	}
	value, _, err := c.shown(ctx, fact.Run, fact.Value)
	return FactView{ID: name, Value: value, Run: fact.Run}, err
}
