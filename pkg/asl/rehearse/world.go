package rehearse

import (
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// world is the virtual time of a rehearsal and what is due in it.
type world struct {
	stage Stage
	now   time.Time
	hands hands
	due   agenda
	count uint64
	seeds uint64
	fault error
}

// seed returns the next event's seed.
func (w *world) seed() asl.Seed {
	w.seeds++
	block := binary.BigEndian.AppendUint64(w.stage.Seed[:], w.seeds)
	sum := sha256.Sum256(block)
	return asl.Seed(sum[:16])
}

// appointment is an event that happens to a run at a time.
type appointment struct {
	at    time.Time
	order uint64
	run   *run
	event asl.Event
}

// agenda is a heap of appointments, the next one first (heap.Interface).
type agenda []appointment

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if a[i].at.Equal(a[j].at) {
		return a[i].order < a[j].order
	}
	return a[i].at.Before(a[j].at)
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(appointment)) }
func (a *agenda) Pop() any {
	old := *a
	x := old[len(old)-1]
	*a = old[:len(old)-1]
	return x
}

func (w *world) plan(at time.Time, r *run, ev asl.Event) {
	if at.Before(w.now) {
		at = w.now
	}
	w.count++
	heap.Push(&w.due, appointment{at: at, order: w.count, run: r, event: ev})
}

// turn lets time pass until the main run ended or nothing is due.
func (w *world) turn(main *run) error {
	for len(w.due) > 0 && !main.x.Status().Ended() {
		a := heap.Pop(&w.due).(appointment)
		if a.run.x.Status().Ended() {
			continue
		}
		w.now = a.at
		if err := w.apply(a.run, a.event); err != nil {
			return err
		}
	}
	if !main.x.Status().Ended() {
		return w.fault
	}
	return nil
}

func (w *world) carryOut(r *run, e asl.Effect) error {
	switch e := e.(type) {
	case asl.ScheduleTask:
		w.answer(r, e)
	case asl.StartTimer:
		w.plan(e.At, r, asl.Event{Kind: asl.TimerFired, Timer: e.Timer})
	case asl.StartChild:
		return w.startChild(r, e)
	case asl.End:
		if r.parent != nil {
			w.plan(w.now, r.parent, asl.Event{
				Kind: asl.ChildEnded, Child: r.child, Status: e.Status, Output: e.Output, Error: e.Error, Cause: e.Cause,
			})
		}
	}
	return nil
}

// answer plans the next answer to a task.
func (w *world) answer(r *run, task asl.ScheduleTask) {
	index := -1
	if around := append(append([]int(nil), r.iterations...), task.Iterations...); len(around) > 0 {
		index = around[len(around)-1]
	}
	limit := task.Deadline
	if task.Heartbeat > 0 {
		if beat := w.now.Add(task.Heartbeat); limit.IsZero() || beat.Before(limit) {
			limit = beat
		}
	}
	a, ok := w.hands.next(task.State, index)
	switch {
	case !ok && limit.IsZero():
		w.fault = fmt.Errorf("%w: state %q has no answer left", ErrUnanswered, task.State)
	case !ok || a.timesOut():
		w.plan(limit, r, asl.Event{Kind: asl.TaskTimedOut, Task: task.Task})
	case a.Result != nil:
		w.plan(w.now, r, asl.Event{Kind: asl.TaskSucceeded, Task: task.Task, Output: a.Result})
	default:
		kind := asl.TaskFailed
		if strings.HasSuffix(a.Event, "SubmitFailed") {
			kind = asl.TaskSubmitFailed
		}
		w.plan(w.now, r, asl.Event{Kind: kind, Task: task.Task, Error: a.Error, Cause: a.Cause})
	}
}

func (w *world) startChild(r *run, e asl.StartChild) error {
	details := r.details
	details.Name = fmt.Sprintf("%s-%d", r.details.Name, e.Child)
	details.ID = strings.TrimSuffix(r.details.ID, r.details.Name) + details.Name
	details.Input = e.Input
	child := &run{
		x: asl.New(e.Machine), details: details, parent: r, child: e.Child,
		iterations: append(append([]int(nil), r.iterations...), e.Index),
	}
	return w.apply(child, asl.Event{Kind: asl.Start, Start: &details})
}
