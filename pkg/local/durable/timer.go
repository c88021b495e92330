package durable

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// timers knows when something is due next. Executions that wait stand in the
// store's due index, of which only the head is known; hot ones are kept here.
type timers struct {
	// head is a lower bound of the store's earliest due row; known: it was
	// read. A zero head that is known: there is none.
	head  time.Time
	known bool
	hot   map[string]time.Time
	order alarmHeap
}

type alarm struct {
	at   time.Time
	name string
}

// alarmHeap may hold outdated alarms; timers.hot says which count.
type alarmHeap []alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h alarmHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *alarmHeap) Push(x any) { *h = append(*h, x.(alarm)) }

// Pop is for package heap.
func (h *alarmHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func newTimers() timers { return timers{hot: make(map[string]time.Time)} }

// set notes when an execution that was just written is due.
func (t *timers) set(ex *execution) {
	switch {
	case ex.due == nil || ex.Status.Ended():
		delete(t.hot, ex.Name)
	case ex.due.Part == partDue:
		delete(t.hot, ex.Name)
		if at := dueTime(ex.due); t.known && (t.head.IsZero() || at.Before(t.head)) {
			t.head = at
		}
	default:
		at := ex.next()
		if at.IsZero() {
			delete(t.hot, ex.Name)
		} else if t.hot[ex.Name] != at {
			t.hot[ex.Name] = at
			heap.Push(&t.order, alarm{at, ex.Name})
		}
	}
}

// left notes that a row left its place in the due index.
func (t *timers) left(due *store.IndexKey) {
	if due != nil && due.Part == partDue && dueTime(due).Equal(t.head) {
		t.known = false
	}
}

// dueTime is the time of a due row, the zero time if it is none.
func dueTime(due *store.IndexKey) time.Time {
	text, _, _ := strings.Cut(due.Sort, "/")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// first is the earliest alarm of a hot execution.
func (t *timers) first() (alarm, bool) {
	for len(t.order) > 0 {
		next := t.order[0]
		if at, ok := t.hot[next.name]; ok && at.Equal(next.at) {
			return next, true
		}
		heap.Pop(&t.order)
	}
	return alarm{}, false
}

// NextDue is when Fire or Receive has something to do next by itself; zero:
// never. Messages that became visible are reported once, as due now. Only
// queues that were received from are looked at.
func (c *Core) NextDue(ctx context.Context) (time.Time, error) {
	unlock, err := c.lock()
	if err != nil {
		return time.Time{}, err
	}
	defer unlock()
	if err := c.readHead(ctx); err != nil {
		return time.Time{}, err
	}
	next := c.timers.head
	earlier := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if hot, ok := c.timers.first(); ok {
		earlier(hot.at)
	}
	now := c.cfg.Clock()
	for _, q := range c.queues {
		if q.expire(now) {
			earlier(now)
		}
		earlier(q.next)
		for _, f := range q.flight {
			earlier(f.until)
		}
	}
	return next, nil
}

// readHead reads the earliest due row.
func (c *Core) readHead(ctx context.Context) error {
	if c.timers.known {
		return nil
	}
	page, err := c.cfg.Store.List(context.WithoutCancel(ctx), store.Query{Index: store.ByDue, Part: partDue, Limit: 1})
	if err != nil {
		return fmt.Errorf("reading due rows: %w", err)
	}
	c.timers.head, c.timers.known = time.Time{}, true
	if len(page.Items) > 0 {
		c.timers.head = dueTime(page.Items[0].Due)
	}
	return nil
}

// fireLimit is how many due executions one Fire moves.
const fireLimit = 64

// Fire lets timers and time limits happen that are due, a bounded number of
// them, and answers how many executions moved; 0: nothing was due.
func (c *Core) Fire(ctx context.Context) (int, error) {
	unlock, err := c.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	names, err := c.dueNow(ctx, c.cfg.Clock())
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if err := c.change(ctx, name, (*change).fire); err != nil && !refused(err) && !isAbsent(err) {
			return 0, err
		}
	}
	return len(names), c.work(ctx)
}

// dueNow lists executions that are due.
func (c *Core) dueNow(ctx context.Context, now time.Time) ([]string, error) {
	var names []string
	for next, ok := c.timers.first(); ok && !next.at.After(now); next, ok = c.timers.first() {
		delete(c.timers.hot, next.name)
		names = append(names, next.name)
	}
	if err := c.readHead(ctx); err != nil {
		return nil, err
	}
	if c.timers.head.IsZero() || c.timers.head.After(now) {
		return names, nil
	}
	page, err := c.cfg.Store.List(context.WithoutCancel(ctx), store.Query{
		Index: store.ByDue, Part: partDue, To: store.TimeKey(now.Add(time.Millisecond)), Limit: fireLimit,
	})
	if err != nil {
		return nil, fmt.Errorf("reading due rows: %w", err)
	}
	c.timers.known = false
	for _, item := range page.Items {
		names = append(names, splitDue(item.Due.Sort))
	}
	return names, nil
}

// fire applies what is due in an execution, in the order of its times.
func (ch *change) fire() error {
	for {
		event, ok := ch.earliest()
		if !ok {
			return nil
		}
		if err := ch.apply(event); err != nil {
			return err
		}
	}
}

// earliest is the event of the open timer or time limit that passed first.
func (ch *change) earliest() (asl.Event, bool) {
	type candidate struct {
		at    time.Time
		event asl.Event
	}
	var due []candidate
	add := func(at time.Time, event asl.Event) {
		if !at.IsZero() && !at.After(ch.now) {
			due = append(due, candidate{at, event})
		}
	}
	if ch.ex.x.Status().Ended() {
		return asl.Event{}, false
	}
	for _, effect := range ch.ex.x.Open() {
		switch e := effect.(type) {
		case asl.StartTimer:
			add(e.At, asl.Event{Kind: asl.TimerFired, Timer: e.Timer})
		case asl.ScheduleTask:
			add(e.Deadline, asl.Event{Kind: asl.TaskTimedOut, Task: e.Task})
			if e.Heartbeat > 0 {
				add(ch.ex.beat(e).Add(e.Heartbeat), asl.Event{Kind: asl.TaskTimedOut, Task: e.Task})
			}
		}
	}
	if len(due) == 0 {
		return asl.Event{}, false
	}
	first := slices.MinFunc(due, func(a, b candidate) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.event.Timer, b.event.Timer), cmp.Compare(a.event.Task, b.event.Task))
	})
	return first.event, true
}
