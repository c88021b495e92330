package asl

import (
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// schedule runs one attempt of a Task state.
func (t *transition) schedule(f *flow) {
	spec := f.state.task
	r := spec.resource
	task := &openTask{ID: TaskID(t.nextID())}
	if r.Pattern == WaitForTaskToken || r.Kind == Activity {
		task.Token = t.random.token(t.x.data.Start.Name)
	}
	f.Task = task
	input, request, bad := t.effectiveInput(f)
	s := &scope{input: input, flow: f, run: t}
	var timeout, heartbeat int64
	if bad == nil {
		timeout, bad = t.taskSeconds(s, spec.timeout)
	}
	if bad == nil {
		heartbeat, bad = t.taskSeconds(s, spec.heartbeat)
	}
	if bad == nil && oversized(request) {
		ft := t.tooLarge(f.state.name)
		bad = &ft
	}
	if bad != nil {
		f.Task = nil
		t.fail(f, *bad)
		return
	}
	task.Input = request
	task.Heartbeat = seconds(heartbeat)
	if timeout > 0 {
		task.Deadline = t.now.Add(seconds(timeout))
	}
	details := taskDetails(r)
	details.Timeout, details.Heartbeat = timeout, heartbeat
	if r.Kind == ServiceTask {
		details.Parameters, details.Region = request, t.region()
	} else {
		details.Input = request
	}
	t.record(f, taskType(r.Kind, "Scheduled"), details)
	if r.Kind != Activity {
		t.taskStarted(f)
	}
	if t.overflow {
		f.Task = nil
		return
	}
	t.x.tasks[task.ID] = f
	t.emit(f.scheduled())
}

// region is the region of the machine; "" where its id is no ARN.
func (t *transition) region() string {
	part := strings.SplitN(t.x.data.Start.MachineID, ":", 5)
	if len(part) < 5 {
		return ""
	}
	return part[3]
}

// scheduled is the effect that asks for the flow's open task.
func (f *flow) scheduled() ScheduleTask {
	return ScheduleTask{
		Task: f.Task.ID, State: f.state.name, Resource: f.state.task.resource,
		Input: f.Task.Input, Token: f.Task.Token,
		Deadline: f.Task.Deadline, Heartbeat: f.Task.Heartbeat, Iterations: f.iterations(),
	}
}

// iterations returns the indexes of the Map iterations around a flow.
func (f *flow) iterations() []int {
	if f.parent == nil {
		return nil
	}
	outer := f.parent.iterations()
	if f.parent.state.kind == typeMap {
		return append(outer, f.Index)
	}
	return outer
}

// taskDetails begins the details of a task's history events.
func taskDetails(r Resource) *HistoryDetails {
	if r.Kind == ServiceTask {
		return &HistoryDetails{Resource: r.HistoryResource(), ResourceType: r.ResourceType()}
	}
	return &HistoryDetails{Resource: r.ARN}
}

func (t *transition) taskSeconds(s *scope, field secondsField) (int64, *fault) {
	if field.path == nil {
		return field.value, nil
	}
	v, err := field.path.eval(s)
	if err != nil {
		return 0, t.pathFault(s.flow, field.text, err)
	}
	n, ok := rawjson.Int(v)
	if !ok || n <= 0 {
		ft := t.runtimeFault(s.flow, "The %s parameter does not reference a positive integer: %s == %s", field.field, field.text, shown(v))
		return 0, &ft
	}
	return n, nil
}

// taskStarted records that the task is being worked on.
func (t *transition) taskStarted(f *flow) {
	if f.Task.Started {
		return
	}
	f.Task.Started = true
	r := f.state.task.resource
	var details *HistoryDetails
	if r.Kind == ServiceTask {
		details = taskDetails(r)
	}
	t.record(f, taskType(r.Kind, "Started"), details)
}

// taskSubmitted records that the service took the request.
func (t *transition) taskSubmitted(f *flow, output []byte) {
	if f.Task.Submitted || f.state.task.resource.Pattern == RequestResponse {
		return
	}
	f.Task.Submitted = true
	details := taskDetails(f.state.task.resource)
	details.Output = output
	t.record(f, historyTaskSubmitted, details)
}

// answered closes the flow's task, after what the answer implies.
func (t *transition) answered(f *flow, submitted bool) Resource {
	if submitted {
		t.taskStarted(f)
		t.taskSubmitted(f, nil)
	}
	delete(t.x.tasks, f.Task.ID)
	f.Task = nil
	return f.state.task.resource
}

func (t *transition) taskSucceeded(f *flow, output []byte) {
	r := t.answered(f, true)
	if len(output) > MaxPayload {
		ft := t.tooLarge(r.ARN)
		t.recordFailure(f, r, "Failed", ft)
		t.failTask(f, ft)
		return
	}
	details := taskDetails(r)
	details.Output = output
	if r.Kind != ServiceTask {
		details = &HistoryDetails{Output: output}
	}
	t.record(f, taskType(r.Kind, "Succeeded"), details)
	if !t.overflow {
		t.finish(f, output)
	}
}

func (t *transition) taskFailed(f *flow, ft fault, submission bool) {
	r := t.answered(f, !submission)
	outcome := "Failed"
	if submission && r.Kind == ServiceTask {
		outcome = "SubmitFailed"
	}
	t.recordFailure(f, r, outcome, ft)
	t.failTask(f, ft)
}

func (t *transition) taskTimedOut(f *flow) {
	r := t.answered(f, f.state.task.resource.Kind != Activity)
	name := errTimeout
	ft := fault{Name: &name}
	t.recordFailure(f, r, "TimedOut", ft)
	t.failTask(f, ft)
}

func (t *transition) recordFailure(f *flow, r Resource, outcome string, ft fault) {
	details := taskDetails(r)
	if r.Kind != ServiceTask {
		details = &HistoryDetails{}
	}
	details.Error, details.Cause = ft.Name, ft.Cause
	t.record(f, taskType(r.Kind, outcome), details)
}

func (t *transition) failTask(f *flow, ft fault) {
	if !t.overflow {
		t.fail(f, ft)
	}
}
