package asl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// rehearsal drives one execution and checks it at each event.
type rehearsal struct {
	t       *testing.T
	machine *asl.Machine
	x       *asl.Execution
	now     time.Time
	journal [][]byte
	last    int64
	open    map[int64]bool // by what was asked for and taken back
}

func (r *rehearsal) apply(ev asl.Event) error {
	r.t.Helper()
	r.now = r.now.Add(time.Second)
	ev.Time = r.now
	ev.Seed[3] = byte(len(r.journal))
	before := r.snapshot(r.x)
	step, err := r.x.Apply(ev)
	if err != nil {
		if !bytes.Equal(before, r.snapshot(r.x)) {
			r.t.Fatalf("%s was refused but changed the execution", ev.Kind)
		}
		return err
	}
	line, err := json.Marshal(ev)
	if err != nil {
		r.t.Fatal(err)
	}
	r.journal = append(r.journal, line)
	if ev.Kind != asl.TaskStarted && ev.Kind != asl.TaskSubmitted {
		delete(r.open, int64(ev.Task)+int64(ev.Timer)+int64(ev.Child))
	}
	r.carryOut(step.Effects)
	r.check(step)
	return nil
}

// carryOut keeps book of what is open and compares it with what the execution
// says.
func (r *rehearsal) carryOut(effects []asl.Effect) {
	r.t.Helper()
	if r.open == nil {
		r.open = map[int64]bool{}
	}
	ask := func(id int64) {
		if r.open[id] {
			r.t.Fatalf("%d is asked for twice", id)
		}
		r.open[id] = true
	}
	takeBack := func(id int64) {
		if !r.open[id] {
			r.t.Fatalf("%d is taken back but was not open", id)
		}
		delete(r.open, id)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case asl.ScheduleTask:
			ask(int64(e.Task))
		case asl.StartTimer:
			ask(int64(e.Timer))
		case asl.StartChild:
			ask(int64(e.Child))
		case asl.CancelTask:
			takeBack(int64(e.Task))
		case asl.CancelTimer:
			takeBack(int64(e.Timer))
		case asl.StopChild:
			takeBack(int64(e.Child))
		}
	}
	if n := len(r.x.Open()); n != len(r.open) {
		r.t.Fatalf("%d are open, the execution says %d", len(r.open), n)
	}
}

func (r *rehearsal) check(step asl.Step) {
	r.t.Helper()
	for _, h := range step.History {
		r.last++
		if h.ID != r.last || h.PreviousID >= h.ID {
			r.t.Fatalf("event %d has id %d and previous %d", r.last, h.ID, h.PreviousID)
		}
		if len(step.History) < 200 {
			r.roundTrip(h)
		}
	}
	if r.x.LastEvent() != r.last || r.last > asl.MaxEvents {
		r.t.Fatalf("last event is %d, want %d", r.x.LastEvent(), r.last)
	}
	if !r.x.Status().Ended() && len(r.x.Open()) == 0 {
		r.t.Fatal("the execution neither ended nor waits")
	}
	snapshot := r.snapshot(r.x)
	restored, err := asl.Restore(r.machine, snapshot)
	if err != nil {
		r.t.Fatal(err)
	}
	if again := r.snapshot(restored); !bytes.Equal(snapshot, again) {
		r.t.Fatalf("snapshot %s\nrestores to %s", snapshot, again)
	}
	r.x = restored // go on with the restored one; the replay goes on without
}

func (r *rehearsal) roundTrip(h asl.HistoryEvent) {
	r.t.Helper()
	line, err := json.Marshal(h)
	if err != nil {
		r.t.Fatal(err)
	}
	var back asl.HistoryEvent
	if err := json.Unmarshal(line, &back); err != nil {
		r.t.Fatal(err)
	}
	if again, _ := json.Marshal(back); !bytes.Equal(line, again) {
		r.t.Fatalf("history event %s\nreads back as %s", line, again)
	}
}

func (r *rehearsal) snapshot(x *asl.Execution) []byte {
	r.t.Helper()
	s, err := x.Snapshot()
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// answers are what tasks and children answer.
var answers = []string{`{"Payload":1}`, `null`, `{"Payload":{"a":"<b>&\u2028"}}`, `[1,"x"]`, `"text"`, `{"Payload":-1}`}

// step answers one of the things the execution waits for; false if nothing is
// left to do.
func (r *rehearsal) step(b byte) bool {
	open := r.x.Open()
	if len(open) == 0 {
		return false
	}
	name, cause := "E"+string('0'+b%4), "because"
	ev := asl.Event{Kind: asl.TimerFired, Output: json.RawMessage(answers[int(b/8)%len(answers)])}
	switch e := open[int(b)%len(open)].(type) {
	case asl.StartTimer:
		ev.Timer = e.Timer
		ev.Output = nil
	case asl.ScheduleTask:
		kinds := []asl.EventKind{asl.TaskSucceeded, asl.TaskFailed, asl.TaskTimedOut, asl.TaskStarted, asl.TaskSubmitted, asl.TaskSucceeded, asl.TaskSubmitFailed}
		ev.Kind, ev.Task = kinds[int(b/4)%len(kinds)], e.Task
		ev.Error, ev.Cause = &name, &cause
	case asl.StartChild:
		ev.Kind, ev.Child, ev.Status = asl.ChildEnded, e.Child, asl.Succeeded
		if b&4 != 0 {
			ev.Status, ev.Error = asl.Failed, &name
		}
	}
	if b == 0xff {
		ev = asl.Event{Kind: asl.Stop}
	}
	if err := r.apply(ev); err != nil && !errors.Is(err, asl.ErrEnded) {
		r.t.Fatalf("%s on what is open: %v", ev.Kind, err)
	}
	return true
}

// replay applies the journal to a new execution.
func (r *rehearsal) replay() {
	r.t.Helper()
	x := asl.New(r.machine)
	for _, line := range r.journal {
		var ev asl.Event
		if err := json.Unmarshal(line, &ev); err != nil {
			r.t.Fatal(err)
		}
		if _, err := x.Apply(ev); err != nil {
			r.t.Fatalf("replaying %s: %v", line, err)
		}
	}
	if a, b := r.snapshot(r.x), r.snapshot(x); !bytes.Equal(a, b) {
		r.t.Fatalf("the execution is %s\nbut replays to %s", a, b)
	}
}

func runScript(t *testing.T, m *asl.Machine, input, script []byte) *rehearsal {
	t.Helper()
	r := &rehearsal{t: t, machine: m, x: asl.New(m), now: time.Unix(1_700_000_000, 0)}
	if r.apply(asl.Event{Kind: asl.Start, Start: &asl.StartDetails{Input: input, Name: "n", ID: "id"}}) != nil {
		return r
	}
	for i, b := range script {
		if i > 60 || r.last > 3000 || !r.step(b) {
			break
		}
	}
	r.replay()
	return r
}

// bounded checks that the execution kept the bound of its machine, a generated
// one, in which no Map has more than three items.
func (r *rehearsal) bounded() {
	r.t.Helper()
	items := map[string]int{}
	for i := range 200 {
		items["S"+strconv.Itoa(i)] = 3
	}
	if most, err := r.machine.EventBound(asl.Bounds{Items: items}); err == nil && r.last > most {
		r.t.Fatalf("%d events, the bound is %d", r.last, most)
	}
}
