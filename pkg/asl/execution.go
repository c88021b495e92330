package asl

import (
	"encoding/json"
	"time"
)

// Execution is one run of a machine: a value that changes only by Apply. It is
// not safe for concurrent use.
type Execution struct {
	machine *Machine
	data    snapshot
	// open finds the flow that waits for something.
	tasks    map[TaskID]*flow
	timers   map[TimerID]*flow
	children map[ChildID]*flow
}

// Step is what one event led to.
type Step struct {
	// History holds the history events to append, in order.
	History []HistoryEvent
	// Effects holds what the driver is to do, in order.
	Effects []Effect
}

// New returns an execution that waits for its Start event.
func New(m *Machine) *Execution {
	x := &Execution{machine: m}
	x.reset()
	return x
}

func (x *Execution) reset() {
	x.tasks = make(map[TaskID]*flow)
	x.timers = make(map[TimerID]*flow)
	x.children = make(map[ChildID]*flow)
}

// Machine returns the execution's machine.
func (x *Execution) Machine() *Machine { return x.machine }

// Status returns the status; "" before Start.
func (x *Execution) Status() Status { return x.data.Status }

// Output returns the output of an execution that succeeded, else nil.
func (x *Execution) Output() json.RawMessage { return x.data.Output }

// Failure returns error and cause of an execution that ended otherwise; either
// may be nil.
func (x *Execution) Failure() (err, cause *string) { return x.data.Error, x.data.Cause }

// LastEvent returns the id of the newest history event; 0 before Start.
func (x *Execution) LastEvent() int64 { return x.data.LastEvent }

// StartTime returns when the execution started.
func (x *Execution) StartTime() time.Time { return x.data.StartTime }
