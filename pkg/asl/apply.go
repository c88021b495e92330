package asl

import (
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// Apply lets one event happen and returns what follows from it: everything up
// to where the execution waits again or ends. On an error (ErrNotOpen,
// ErrEnded, ErrEvent) nothing changed. Apply keeps no reference to the event's
// memory.
func (x *Execution) Apply(ev Event) (Step, error) {
	t := &transition{x: x, now: ev.Time.Round(0).UTC(), random: newRandom(ev.Seed)}
	act, err := t.prepare(ev)
	if err != nil {
		return Step{}, err
	}
	act()
	t.run()
	return Step{History: t.history, Effects: t.effects}, nil
}

// prepare checks an event and returns what it does, without doing it.
func (t *transition) prepare(ev Event) (func(), error) {
	status := t.x.data.Status
	switch {
	case ev.Kind == Start && status != "":
		return nil, fmt.Errorf("%w: second start", ErrEvent)
	case ev.Kind == Start:
		return t.prepareStart(ev)
	case status == "":
		return nil, fmt.Errorf("%w: %s before start", ErrEvent, ev.Kind)
	case status.Ended():
		return nil, ErrEnded
	}
	switch ev.Kind {
	case TaskStarted, TaskSubmitted, TaskSubmitFailed, TaskSucceeded, TaskFailed, TaskTimedOut:
		return t.prepareTask(ev)
	case TimerFired:
		return t.prepareTimer(ev.Timer)
	case ChildEnded:
		return t.prepareChild(ev)
	case Stop:
		why := eventFault(ev)
		return func() { t.stop(Aborted, historyExecutionAborted, why) }, nil
	}
	return nil, fmt.Errorf("%w: kind %q", ErrEvent, ev.Kind)
}

func (t *transition) prepareStart(ev Event) (func(), error) {
	if ev.Start == nil {
		return nil, fmt.Errorf("%w: start without details", ErrEvent)
	}
	details := *ev.Start
	input := []byte(details.Input)
	if len(input) == 0 {
		input = []byte("{}")
	}
	input, err := rawjson.Normalize(input)
	if err != nil {
		return nil, fmt.Errorf("%w: input: %w", ErrEvent, err)
	}
	if len(input) > MaxPayload {
		return nil, fmt.Errorf("%w: input of %d bytes, at most %d", ErrEvent, len(input), MaxPayload)
	}
	details.Input = input
	return func() { t.start(details) }, nil
}

func (t *transition) prepareTask(ev Event) (func(), error) {
	f := t.x.tasks[ev.Task]
	if f == nil {
		return nil, ErrNotOpen
	}
	var output []byte
	if ev.Kind == TaskSucceeded || ev.Kind == TaskSubmitted && len(ev.Output) > 0 {
		var err error
		if output, err = rawjson.Normalize(ev.Output); err != nil {
			return nil, fmt.Errorf("%w: output: %w", ErrEvent, err)
		}
	}
	switch ev.Kind {
	case TaskStarted:
		return func() { t.taskStarted(f) }, nil
	case TaskSubmitted:
		return func() { t.taskSubmitted(f, output) }, nil
	case TaskSucceeded:
		return func() { t.taskSucceeded(f, output) }, nil
	case TaskTimedOut:
		return func() { t.taskTimedOut(f) }, nil
	}
	failure := eventFault(ev)
	return func() { t.taskFailed(f, failure, ev.Kind == TaskSubmitFailed) }, nil
}

func (t *transition) prepareTimer(id TimerID) (func(), error) {
	if id != 0 && id == t.x.data.Limit {
		return func() { t.stop(TimedOut, historyExecutionTimedOut, fault{}) }, nil
	}
	f := t.x.timers[id]
	if f == nil {
		return nil, ErrNotOpen
	}
	return func() { t.timerFired(f) }, nil
}

func (t *transition) prepareChild(ev Event) (func(), error) {
	f := t.x.children[ev.Child]
	if f == nil {
		return nil, ErrNotOpen
	}
	if !ev.Status.Ended() {
		return nil, fmt.Errorf("%w: child status %q", ErrEvent, ev.Status)
	}
	output := json.RawMessage(nil)
	if ev.Status == Succeeded {
		var err error
		if output, err = rawjson.Normalize(ev.Output); err != nil {
			return nil, fmt.Errorf("%w: output: %w", ErrEvent, err)
		}
	}
	end := childEnd{id: ev.Child, status: ev.Status, output: output}
	return func() { t.childEnded(f, end) }, nil
}

// eventFault is the error that an event brings.
func eventFault(ev Event) fault {
	return fault{Name: copied(ev.Error), Cause: copied(ev.Cause)}.limited()
}

// copied returns a pointer to memory of its own.
func copied(s *string) *string {
	if s == nil {
		return nil
	}
	c := *s
	return &c
}
