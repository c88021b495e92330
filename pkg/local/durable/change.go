package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// change is one operation on one execution: events applied, not yet written.
type change struct {
	c    *Core
	ctx  context.Context
	ex   *execution
	now  time.Time
	next []asl.Event // follow at once, in the same write

	applied  bool
	journal  []byte // the events, one a line
	history  []asl.HistoryEvent
	before   []store.Op // may be written ahead: messages, child executions
	with     []store.Op // belong to this very write
	answered []asl.TaskID
	calls    []Call
	messages []message
	jobs     []job
}

// begin opens a change. Time never runs backwards within an execution.
func (c *Core) begin(ctx context.Context, ex *execution) *change {
	now := c.cfg.Clock()
	if now.Before(ex.Last) {
		now = ex.Last
	}
	return &change{c: c, ctx: ctx, ex: ex, now: now}
}

// apply does an event and what follows from it at once.
func (ch *change) apply(event asl.Event) error {
	ch.next = append(ch.next, event)
	for len(ch.next) > 0 {
		event := ch.next[0]
		ch.next = ch.next[1:]
		event.Time, event.Seed = ch.now, ch.c.cfg.Seed()
		step, err := ch.ex.x.Apply(event)
		if err != nil {
			return err
		}
		if ch.ex.Chunks > 0 { // a small execution has no journal
			ch.journal = append(append(ch.journal, encode(event)...), '\n')
		}
		ch.applied = true
		ch.ex.Last = ch.now
		ch.closed(event)
		ch.history = append(ch.history, step.History...)
		for _, effect := range step.Effects {
			if err := ch.effect(effect); err != nil {
				return err
			}
		}
	}
	return nil
}

// closed forgets the task that an event answered. A message that was answered
// leaves its queue; one whose task timed out stays, as on SQS.
func (ch *change) closed(event asl.Event) {
	switch event.Kind {
	case asl.TaskSucceeded, asl.TaskFailed, asl.TaskSubmitFailed:
		if _, ok := ch.ex.sent[event.Task]; ok {
			ch.answered = append(ch.answered, event.Task)
		}
		ch.ex.forget(event.Task)
	case asl.TaskTimedOut:
		ch.ex.forget(event.Task)
	case asl.TaskSubmitted:
		if ch.ex.calls[event.Task] {
			delete(ch.ex.calls, event.Task)
			ch.ex.Submitted = append(ch.ex.Submitted, event.Task)
		}
	}
}

func (ex *execution) forget(task asl.TaskID) {
	delete(ex.calls, task)
	delete(ex.Beats, task)
	ex.Submitted = slices.DeleteFunc(ex.Submitted, func(id asl.TaskID) bool { return id == task })
}

// effect turns an effect into operations and work.
func (ch *change) effect(effect asl.Effect) error {
	switch e := effect.(type) {
	case asl.ScheduleTask:
		return ch.schedule(e)
	case asl.CancelTask:
		delete(ch.ex.sent, e.Task)
		ch.ex.forget(e.Task)
	case asl.StartChild:
		return ch.startChild(e)
	case asl.StopChild:
		ch.ex.Stop = append(ch.ex.Stop, childName(ch.ex.Name, e.Child))
	case asl.End:
		ch.end()
	}
	return nil
}

// schedule hands a task to its executor.
func (ch *change) schedule(task asl.ScheduleTask) error {
	if task.Heartbeat > 0 {
		if ch.ex.Beats == nil {
			ch.ex.Beats = make(map[asl.TaskID]time.Time)
		}
		ch.ex.Beats[task.Task] = ch.now
	}
	switch kindOf(task.Resource) {
	case callTask:
		ch.ex.calls[task.Task] = true
		ch.calls = append(ch.calls, newCall(ch.ex.Name, task))
	case queueTask:
		ch.send(task)
	case startTask:
		return ch.startExecution(task)
	default:
		ch.fail(task.Task, "States.Runtime", fmt.Sprintf("The resource %s has no executor here.", task.Resource.ARN))
	}
	return nil
}

// answer, submit and fail queue what follows a task at once.
func (ch *change) answer(task asl.TaskID, output any) {
	ch.next = append(ch.next, asl.Event{Kind: asl.TaskSucceeded, Task: task, Output: encode(output)})
}

func (ch *change) submit(task asl.TaskID, output any) {
	ch.next = append(ch.next, asl.Event{Kind: asl.TaskSubmitted, Task: task, Output: encode(output)})
}

func (ch *change) fail(task asl.TaskID, name, cause string) {
	ch.next = append(ch.next, asl.Event{Kind: asl.TaskFailed, Task: task, Error: &name, Cause: &cause})
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("durable: encoding %T: %v", v, err)) // only our own plain types come here
	}
	return data
}

// end notes that the execution is over; a parent is told in the next job.
func (ch *change) end() {
	ch.ex.Ended = ch.now
	ch.ex.calls, ch.ex.Submitted, ch.ex.Beats = nil, nil, nil
	if ch.ex.Parent != nil {
		ch.ex.Tell = true
		ch.jobs = append(ch.jobs, job{kind: tellParent, name: ch.ex.Name})
	}
}

// commit writes the change and puts its work in line.
func (ch *change) commit() error {
	if !ch.applied && len(ch.with) == 0 {
		return nil
	}
	err := ch.write()
	if err != nil {
		ch.c.cache.drop(ch.ex.Name)
		if ch.c.broken == nil {
			ch.c.broken = err
		}
		return fmt.Errorf("writing execution %s: %w", ch.ex.Name, err)
	}
	ch.publish()
	return nil
}

// publish puts the work of a written change in line.
func (ch *change) publish() {
	c, ex := ch.c, ch.ex
	for _, m := range ch.messages {
		c.queue(m.queue).offer(m)
	}
	for _, task := range ch.answered {
		c.queue(ex.sent[task]).gone(messageID(ex.Name, task))
		delete(ex.sent, task)
	}
	c.calls = append(c.calls, ch.calls...)
	if len(ex.Stop) > 0 {
		ch.jobs = append(ch.jobs, job{kind: stopChildren, name: ex.Name})
	}
	c.jobs = append(c.jobs, ch.jobs...)
	c.timers.set(ex)
	if ex.Status.Ended() {
		c.cache.drop(ex.Name)
	}
	if len(ch.history) > 0 {
		t := Transition{Execution: ex.Name, History: ch.history}
		if ex.Parent != nil {
			t.Parent = ex.Parent.Execution
		}
		c.cfg.OnStep(t)
	}
}

// on runs one operation on one execution and all the work that follows from it
// inside the core. f may answer an error of asl (nothing changed).
func (c *Core) on(ctx context.Context, name string, f func(ch *change) error) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.change(ctx, name, f); err != nil {
		return err
	}
	return c.work(ctx)
}

func (c *Core) change(ctx context.Context, name string, f func(ch *change) error) error {
	ex, err := c.load(ctx, name)
	if err != nil {
		return err
	}
	if !ex.begun() {
		if err := c.beginExecution(ctx, ex); err != nil {
			return err
		}
	}
	ch := c.begin(ctx, ex)
	if err := f(ch); err != nil {
		if ch.applied {
			c.cache.drop(name)
		}
		return err
	}
	return ch.commit()
}

// refused tells whether an event came too late: nothing changed.
func refused(err error) bool {
	return errors.Is(err, asl.ErrNotOpen) || errors.Is(err, asl.ErrEnded)
}
