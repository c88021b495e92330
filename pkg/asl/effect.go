package asl

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Effect is what an execution asks its driver to do: one of ScheduleTask,
// CancelTask, StartTimer, CancelTimer, StartChild, StopChild, End.
type Effect interface{ effect() }

// ScheduleTask asks for one attempt of a task. The driver answers with one of
// the Task events under the same id. A states:startExecution is a task as well:
// ParseStartExecution reads its Input, and with .sync the driver answers with
// ExecutionDescription.Answer when the execution ended.
type ScheduleTask struct {
	Task TaskID
	// State is the name of the Task state.
	State string
	// Resource is the parsed Resource of the state.
	Resource Resource
	// Input is the request: the state's effective input after Parameters.
	Input json.RawMessage
	// Token is the task token; empty unless Resource.Pattern is
	// WaitForTaskToken or Resource is an activity. It is a credential;
	// TokenExecution says whose it is.
	Token string
	// Deadline is when the attempt times out; zero for never.
	Deadline time.Time
	// Heartbeat is the longest silence allowed; zero for any.
	Heartbeat time.Duration
	// Iterations holds the indexes of the Map iterations around the state,
	// outermost first; nil outside of any Map.
	Iterations []int
}

// CancelTask says that nobody waits for the task any more (its state was
// aborted). It is advice: work in flight may go on, its answer is refused.
type CancelTask struct{ Task TaskID }

// StartTimer asks for a TimerFired event at the given time or soon after.
type StartTimer struct {
	Timer TimerID
	At    time.Time
}

// CancelTimer says that the timer is not needed any more.
type CancelTimer struct{ Timer TimerID }

// StartChild asks for a child execution of a distributed Map: New(Machine) with
// the given input. The driver answers with ChildEnded.
type StartChild struct {
	Child ChildID
	// State is the name of the Map state; Machine.Processor(State) is Machine.
	State string
	// Machine is the Map's ItemProcessor as a machine of its own.
	Machine *Machine
	Input   json.RawMessage
	// Index is the item's position in the Map's items.
	Index int
	// MapRun is the ARN of the Map Run, unique to this run of the Map.
	MapRun string
}

// StopChild says that nobody waits for the child execution any more; the
// driver stops it.
type StopChild struct{ Child ChildID }

// End says that the execution ended.
type End struct {
	Status Status
	// Output is set when Status is Succeeded.
	Output json.RawMessage
	// Error and Cause are nil where Step Functions gives none.
	Error, Cause *string
}

func (ScheduleTask) effect() {}
func (CancelTask) effect()   {}
func (StartTimer) effect()   {}
func (CancelTimer) effect()  {}
func (StartChild) effect()   {}
func (StopChild) effect()    {}
func (End) effect()          {}

// sortEffects orders effects by their ids.
func sortEffects(effects []Effect) []Effect {
	slices.SortStableFunc(effects, func(a, b Effect) int { return cmp.Compare(effectID(a), effectID(b)) })
	return effects
}

func effectID(e Effect) int64 {
	switch e := e.(type) {
	case ScheduleTask:
		return int64(e.Task)
	case StartTimer:
		return int64(e.Timer)
	case StartChild:
		return int64(e.Child)
	}
	return 0
}
