package asl

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// StartExecutionRequest is the input of a states:startExecution task.
type StartExecutionRequest struct {
	MachineARN string
	// Name is empty where the service is to make one up.
	Name string
	// Input is the execution's input; {} where none is given.
	Input json.RawMessage
}

// ParseStartExecution reads the input of a states:startExecution task. An Input
// given as text is parsed, as the service does.
func ParseStartExecution(input json.RawMessage) (StartExecutionRequest, error) {
	var r StartExecutionRequest
	text, err := rawjson.Normalize(input)
	if err != nil {
		return r, fmt.Errorf("reading request: %w", err)
	}
	arn, _ := rawjson.Get(text, "StateMachineArn")
	if r.MachineARN = rawjson.Text(arn); r.MachineARN == "" {
		return r, fmt.Errorf("reading request: StateMachineArn must be a string")
	}
	name, _ := rawjson.Get(text, "Name")
	r.Name = rawjson.Text(name)
	r.Input = json.RawMessage("{}")
	given, ok := rawjson.Get(text, "Input")
	switch {
	case !ok || rawjson.KindOf(given) == rawjson.NullKind:
	case rawjson.KindOf(given) == rawjson.String:
		if r.Input, err = rawjson.Normalize([]byte(rawjson.Text(given))); err != nil {
			return r, fmt.Errorf("reading input: %w", err)
		}
	default:
		r.Input = given
	}
	return r, nil
}

// ExecutionDescription is an execution that ended, as a states:startExecution
// task with .sync or .sync:2 reports it.
type ExecutionDescription struct {
	ARN, MachineARN, Name string
	Status                Status
	Input, Output         json.RawMessage
	Error, Cause          *string
	Started, Stopped      time.Time
}

// Answer returns the event that answers the task: the description as the result
// of an execution that succeeded, or as the cause of States.TaskFailed
// otherwise, whatever the execution's own error was. With Sync2 the input and
// output in it are JSON, with Sync they are text.
func (d ExecutionDescription) Answer(task TaskID, p Pattern) (Event, error) {
	document := func(v json.RawMessage) any {
		if p == Sync2 {
			return v
		}
		return string(v)
	}
	o := Object{}
	if d.Error != nil {
		o = o.Add("Error", *d.Error)
	}
	if d.Cause != nil {
		o = o.Add("Cause", *d.Cause)
	}
	included := Object{}.Add("Included", true)
	o = o.Add("ExecutionArn", d.ARN).Add("Input", document(d.Input)).Add("InputDetails", included).Add("Name", d.Name)
	if d.Status == Succeeded {
		o = o.Add("Output", document(d.Output)).Add("OutputDetails", included)
	}
	o = o.Add("StartDate", d.Started.UnixMilli()).Add("StateMachineArn", d.MachineARN).
		Add("Status", string(d.Status)).Add("StopDate", d.Stopped.UnixMilli())
	text, err := o.MarshalJSON()
	if err != nil {
		return Event{}, fmt.Errorf("describing execution: %w", err)
	}
	if d.Status == Succeeded {
		return Event{Kind: TaskSucceeded, Task: task, Output: text}, nil
	}
	name, cause := errTaskFailed, string(text)
	return Event{Kind: TaskFailed, Task: task, Error: &name, Cause: &cause}, nil
}
