package local

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// still is a clock that is moved by hand; what waits for it waits for good.
type still struct{ now atomic.Int64 }

func (c *still) Now() time.Time                       { return time.Unix(0, c.now.Load()).UTC() }
func (c *still) set(now time.Time)                    { c.now.Store(now.UnixNano()) }
func (c *still) After(time.Duration) <-chan time.Time { return make(chan time.Time) }

// timetable is an engine with one schedule, at 07:00 in Berlin, catch_up last.
type timetable struct {
	*testing.T
	cfg   Config
	e     *Engine
	clock *still
	fired []time.Time
}

func newTimetable(t *testing.T) *timetable {
	t.Helper()
	read, problems := project.Open("testdata/project")
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	def, _ := read.Loop("ask")
	bundle, err := read.Bundle("ask")
	if err != nil {
		t.Fatal(err)
	}
	def.Hash = project.Hash(bundle)
	machine, err := compile.Compile(def)
	if err != nil {
		t.Fatal(err)
	}
	tt := &timetable{T: t, clock: &still{}}
	tt.clock.set(time.Date(2026, 11, 30, 5, 0, 0, 0, time.UTC))
	tt.cfg = Config{
		State: filepath.Join(t.TempDir(), "state.db"), Clock: tt.clock, Grace: time.Nanosecond,
		Loops: []Loop{{Definition: def, Bundle: bundle, Machine: machine}},
		Scheduled: func(_ context.Context, s Scheduled) (json.RawMessage, error) {
			tt.fired = append(tt.fired, s.At.UTC())
			if string(s.Input) != `{"n":1}` {
				t.Errorf("the schedule's input is %s", s.Input)
			}
			return json.RawMessage(`{"n":` + s.At.Format("20060102") + `}`), nil
		},
	}
	tt.open()
	t.Cleanup(func() { tt.e.Close() })
	return tt
}

func (tt *timetable) open() {
	tt.Helper()
	var err error
	if tt.e, err = Open(tt.Context(), tt.cfg); err != nil {
		tt.Fatal(err)
	}
}

// at moves the clock and fires; it answers what was fired and what comes next.
func (tt *timetable) at(now string, want ...string) (next time.Time) {
	tt.Helper()
	tt.clock.set(moment(tt.T, now))
	tt.fired = nil
	next, err := schedules{tt.e}.fire(tt.Context(), tt.clock.Now())
	if err != nil {
		tt.Fatal(err)
	}
	if len(tt.fired) != len(want) {
		tt.Fatalf("at %s fired %v, want %v", now, tt.fired, want)
	}
	for i, at := range tt.fired {
		if !at.Equal(moment(tt.T, want[i])) {
			tt.Fatalf("at %s fired %v, want %v", now, tt.fired, want)
		}
	}
	return next
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestSchedulesFireOnce(t *testing.T) {
	t.Parallel()
	tt := newTimetable(t)
	if next := tt.at("2026-11-30 05:00:00"); !next.Equal(moment(t, "2026-11-30 06:00:00")) {
		t.Errorf("next fire %s", next)
	}
	tt.at("2026-11-30 06:00:00", "2026-11-30 06:00:00")
	tt.at("2026-11-30 06:00:01")
	if err := tt.e.Close(); err != nil {
		t.Fatal(err)
	}
	tt.open()
	tt.at("2026-11-30 06:00:02")
	// Three days off: the last fire is made up for, the others are not.
	tt.at("2026-12-03 12:00:00", "2026-12-03 06:00:00")
}

// A new schedule makes up for nothing that was before it.
func TestAPausedLoopDoesNotStartAMonthOfRuns(t *testing.T) {
	t.Parallel()
	tt := newTimetable(t)
	tt.at("2026-11-30 05:00:00")
	pause := func(paused bool) {
		t.Helper()
		items, err := tt.e.store.Get(t.Context(), record.LoopKey("ask"))
		if err != nil {
			t.Fatal(err)
		}
		slot, err := record.DecodeLoop(items[0])
		if err != nil {
			t.Fatal(err)
		}
		if slot == nil {
			slot = &record.Loop{Name: "ask"}
		}
		slot.Paused = paused
		if err := tt.e.store.Write(t.Context(), tt.e.id(), slot.Put()); err != nil {
			t.Fatal(err)
		}
	}
	pause(true)
	if err := tt.e.Close(); err != nil { // a pause outlives the process
		t.Fatal(err)
	}
	tt.open()
	tt.at("2026-12-30 12:00:00")
	pause(false)
	tt.at("2026-12-30 12:00:01", "2026-12-30 06:00:00")
	tt.at("2026-12-31 06:01:00", "2026-12-31 06:00:00")
}
