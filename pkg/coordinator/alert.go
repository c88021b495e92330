package coordinator

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// The kinds of alerts.
const (
	// KindException: a person must decide (R39).
	KindException = "exception"
	// KindDeadline: a run has failed at its deadline.
	KindDeadline = "deadline"
	// KindBreaker: a worker's breaker has opened (R31).
	KindBreaker = "breaker"
	// KindBudget: the money of a day or month is used up (R49).
	KindBudget = "budget"
	// KindRequest asks approvers for a decision (R46).
	KindRequest = "request"
	// KindReminder and KindEscalation ask approvers again (R46).
	KindReminder   = "reminder"
	KindEscalation = "escalation"
	// KindStalled: a run has not changed for longer than its loop declares (R57).
	KindStalled = "stalled"
	// KindRetries: the retries of one step have reached what its loop declares (R57).
	KindRetries = "retries"
	// KindCost: a run costs more than its loop's declared multiple of the usual (R57).
	KindCost = "cost"
	// KindConflict: two steps of a run gave one fact different values (R58).
	KindConflict = "conflict"
	// KindTwice: one run did the same action with the same payload under two keys (R58).
	KindTwice = "twice"
	// KindRepeated: one run paid a worker for the same input again and again (R58).
	KindRepeated = "repeated"
	// KindMissed: a schedule's fire has not come (R58).
	KindMissed = "missed"
)

// Alert is what people are told. One incident gives one alert.
type Alert struct {
	// To is the group that the loop's `alert` names, else its owner; of a failure
	// that names whom to ask, that group.
	To   string
	Kind string
	ID   string
	// Loop is empty where the incident is about none, as a breaker is.
	Loop string
	Run  string
	Step string
	// Since tells the same ID at another time apart, as of an exception that is
	// opened again; zero: it comes once.
	Since time.Time
	Text  string

	// at is where in the run it happened, for what is hidden in the text.
	at spot
}

// Notify hands an alert to the channels. It is called after the write that
// recorded the incident, may be called again for it by another process (same
// ID and Since), and must not block for long.
type Notify func(ctx context.Context, alert Alert)

// toldKept bounds how many alerts a process remembers to have told.
const toldKept = 4096

// once leaves out what this process has told before, so that the watch may tell
// again what may have been lost with another.
func once(notify Notify) Notify {
	told := &notices{}
	return func(ctx context.Context, a Alert) {
		if told.first(strings.Join([]string{a.To, a.Kind, a.ID, a.Since.String()}, "\x00")) {
			notify(ctx, a)
		}
	}
}

// told is the group that is told about a loop.
func told(def *loop.Definition) string {
	if def.Loop.Alert.To != "" {
		return def.Loop.Alert.To
	}
	return def.Loop.Owner
}

// tellOf tells about a run the group of its loop.
func (c *Coordinator) tellOf(ctx context.Context, run *record.Run, a Alert) {
	a.Run, a.Loop = run.ID, run.Loop
	def, err := c.cfg.Definitions.Definition(ctx, run.Definition)
	if err != nil {
		c.cfg.Log.Error("an alert has nobody to go to", "run", run.ID, "kind", a.Kind, "text", a.Text, "err", err)
		return
	}
	a.To = told(def)
	c.cfg.Notify(ctx, a)
}

// notices remembers keys of what was told, a bounded number of them. The zero value is ready.
type notices struct {
	mu          sync.Mutex
	before, now map[string]bool
}

// first tells whether the key is new, and remembers it.
func (s *notices) first(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || len(s.now) >= toldKept {
		s.before, s.now = s.now, map[string]bool{}
	}
	known := s.before[key] || s.now[key]
	s.now[key] = true
	return !known
}

// forget lets a key be new again.
func (s *notices) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, key)
	delete(s.before, key)
}

// watchExceptions tells of open exceptions whose alert may have been lost with
// the process that wrote them. Each is told once by each process; the channels
// know what they were told before.
func (c *Coordinator) watchExceptions(ctx context.Context) error {
	var failed []error
	err := c.each(ctx, store.Query{Index: store.ByList, Part: record.ExceptionsOpen}, func(item *store.Item) error {
		key := item.Part
		if item.List != nil {
			key = item.List.Sort
		}
		if !c.opened.first(key) {
			return nil
		}
		if err := c.tellOpen(ctx, item.Key); err != nil {
			c.opened.forget(key)
			failed = append(failed, err)
		}
		return nil
	})
	return errors.Join(append(failed, err)...)
}

func (c *Coordinator) tellOpen(ctx context.Context, key store.Key) error {
	exc, err := one(ctx, c, key, record.DecodeException)
	if err != nil || exc == nil || exc.Resolved() {
		return err
	}
	def, err := c.definitionOfException(ctx, exc)
	if err != nil {
		return err
	}
	c.alert(ctx, exc, def)
	return nil
}
