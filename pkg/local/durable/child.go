package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// jobKind is work inside the core that follows from a written change.
type jobKind int

const (
	beginChild jobKind = iota
	stopChildren
	tellParent
	failDead
)

// job is work on the execution of that name. It is found again after a crash,
// because the execution stands in the hot partition until it is done (but for
// failDead: a task whose failure is lost waits for its time limit).
type job struct {
	kind jobKind
	name string
	task asl.TaskID // of failDead
}

// work does the jobs that are in line.
func (c *Core) work(ctx context.Context) error {
	for len(c.jobs) > 0 {
		next := c.jobs[0]
		c.jobs = c.jobs[1:]
		var err error
		switch next.kind {
		case beginChild:
			err = c.change(ctx, next.name, func(*change) error { return nil })
		case stopChildren:
			err = c.stopChildren(ctx, next.name)
		case tellParent:
			err = c.tellParent(ctx, next.name)
		case failDead:
			err = c.failDead(ctx, next.name, next.task)
		}
		if err != nil {
			return err
		}
	}
	c.jobs = nil
	return nil
}

func childName(parent string, child asl.ChildID) string { return fmt.Sprintf("%s:%d", parent, child) }

// startChild puts the child execution of a distributed Map into the store. It
// begins when the parent's change is written.
func (ch *change) startChild(e asl.StartChild) error {
	r := &record{
		Name: childName(ch.ex.Name, e.Child), Machine: ch.ex.Machine, MachineName: ch.ex.MachineName + "/" + e.State,
		Processors: append(slices.Clone(ch.ex.Processors), e.State),
		Parent:     &parent{Execution: ch.ex.Name, Child: e.Child},
		Created:    ch.now, InputHash: hashOf(e.Input), Input: e.Input,
	}
	return ch.create(r)
}

// create puts an execution that has not begun into the store.
func (ch *change) create(r *record) error {
	bodies, err := r.bodies(nil)
	if err != nil {
		return err
	}
	ch.before = append(ch.before, store.Create(store.Item{
		Key: recordKey(r.Name), Body: bodies[0], List: r.list(),
		Due: &store.IndexKey{Part: partHot, Sort: dueKey(ch.now, r.Name)},
	}))
	ch.jobs = append(ch.jobs, job{kind: beginChild, name: r.Name})
	return nil
}

// beginExecution applies the start of an execution that is in the store.
func (c *Core) beginExecution(ctx context.Context, ex *execution) error {
	machine, err := c.machineOf(ctx, ex.record)
	if err != nil {
		return fmt.Errorf("beginning execution %s: %w", ex.Name, err)
	}
	ex.x = asl.New(machine)
	ex.calls, ex.sent = make(map[asl.TaskID]bool), make(map[asl.TaskID]string)
	input := ex.Input
	ex.Input = nil
	ch := c.begin(ctx, ex)
	if err := ch.apply(asl.Event{Kind: asl.Start, Start: &asl.StartDetails{
		Input: input, ID: ExecutionARN(ex.MachineName, ex.Name), Name: ex.Name, RoleARN: roleARN,
		MachineID: MachineARN(ex.MachineName), MachineName: ex.MachineName,
	}}); err != nil {
		c.cache.drop(ex.Name)
		return fmt.Errorf("beginning execution %s: %w", ex.Name, err)
	}
	return ch.commit()
}

// stopChildren stops the children that nobody waits for any more.
func (c *Core) stopChildren(ctx context.Context, name string) error {
	ex, err := c.load(ctx, name)
	if err != nil {
		return err
	}
	for _, child := range ex.Stop {
		err := c.change(ctx, child, func(ch *change) error {
			return ch.apply(asl.Event{Kind: asl.Stop})
		})
		if err != nil && !refused(err) && !isAbsent(err) {
			return err
		}
	}
	ch := c.begin(ctx, ex)
	ex.Stop, ch.applied = nil, true
	return ch.commit()
}

// tellParent tells who waits for an ended execution, and notes that it did.
func (c *Core) tellParent(ctx context.Context, name string) error {
	child, err := c.load(ctx, name)
	if err != nil {
		return err
	}
	told := *child.record
	told.Tell = false
	bodies, err := child.encoded(&told)
	if err != nil {
		return err
	}
	note := store.Replace(store.Item{
		Key: recordKey(name), Version: child.version, Body: bodies[0], List: told.list(),
	})
	c.cache.drop(name)
	err = c.change(ctx, told.Parent.Execution, func(ch *change) error {
		ch.with = append(ch.with, note)
		event, err := endEvent(child)
		if err != nil {
			return err
		}
		return ch.apply(event)
	})
	if refused(err) || isAbsent(err) {
		return c.apply(ctx, note)
	}
	return err
}

// endEvent is what a parent is told of an ended execution.
func endEvent(child *execution) (asl.Event, error) {
	name, cause := child.x.Failure()
	if child.Parent.Child != 0 {
		return asl.Event{
			Kind: asl.ChildEnded, Child: child.Parent.Child, Status: child.Status,
			Output: child.x.Output(), Error: name, Cause: cause,
		}, nil
	}
	answer := describe(child)
	if child.Parent.Parse && child.Status == asl.Succeeded {
		answer["Output"] = child.x.Output()
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return asl.Event{}, fmt.Errorf("describing execution %s: %w", child.Name, err)
	}
	if child.Status == asl.Succeeded {
		return asl.Event{Kind: asl.TaskSucceeded, Task: child.Parent.Task, Output: text}, nil
	}
	failed, why := "States.TaskFailed", string(text)
	return asl.Event{Kind: asl.TaskFailed, Task: child.Parent.Task, Error: &failed, Cause: &why}, nil
}

// describe is DescribeExecution's answer as a .sync task gets it.
func describe(ex *execution) map[string]any {
	answer := map[string]any{
		"ExecutionArn": ExecutionARN(ex.MachineName, ex.Name), "Name": ex.Name,
		"StateMachineArn": MachineARN(ex.MachineName), "Status": ex.Status,
		"StartDate": ex.Created.UnixMilli(), "StopDate": ex.Ended.UnixMilli(),
	}
	if output := ex.x.Output(); output != nil {
		answer["Output"] = string(output)
		answer["OutputDetails"] = map[string]bool{"Included": true}
	}
	name, cause := ex.x.Failure()
	if name != nil {
		answer["Error"] = *name
	}
	if cause != nil {
		answer["Cause"] = *cause
	}
	return answer
}

// startExecution runs the integration states:startExecution.
func (ch *change) startExecution(task asl.ScheduleTask) error {
	var request struct {
		StateMachineArn string
		Name            string
		Input           json.RawMessage
	}
	if err := json.Unmarshal(task.Input, &request); err != nil {
		ch.fail(task.Task, "StepFunctions.InvalidArnException", err.Error())
		return nil
	}
	machine := request.StateMachineArn[strings.LastIndexByte(request.StateMachineArn, ':')+1:]
	reg, ok, err := Reader{ch.c.cfg.Store}.Registered(context.WithoutCancel(ch.ctx), machine)
	if err != nil {
		return err
	}
	if !ok {
		ch.fail(task.Task, "StepFunctions.StateMachineDoesNotExistException",
			fmt.Sprintf("State Machine Does Not Exist: '%s'", request.StateMachineArn))
		return nil
	}
	if request.Name == "" {
		request.Name = hashOf([]byte(messageID(ch.ex.Name, task.Task)))[:36]
	}
	input := orObject(request.Input)
	r := &record{
		Name: request.Name, Machine: reg.Hash, MachineName: machine, Created: ch.now, InputHash: hashOf(input), Input: input,
	}
	sync := task.Resource.Pattern == asl.Sync || task.Resource.Pattern == asl.Sync2
	if sync {
		r.Parent = &parent{Execution: ch.ex.Name, Task: task.Task, Parse: task.Resource.Pattern == asl.Sync2}
	}
	started, err := ch.c.started(ch.ctx, r)
	if errors.Is(err, ErrExists) {
		ch.fail(task.Task, "StepFunctions.ExecutionAlreadyExistsException",
			fmt.Sprintf("Execution Already Exists: '%s'", ExecutionARN(machine, r.Name)))
		return nil
	}
	if err != nil {
		return err
	}
	if !started {
		if err := ch.create(r); err != nil {
			return err
		}
	}
	answer := map[string]any{"ExecutionArn": ExecutionARN(machine, r.Name), "StartDate": ch.now.UnixMilli()}
	if task.Resource.Pattern == asl.RequestResponse {
		ch.answer(task.Task, answer)
	} else {
		ch.submit(task.Task, answer)
	}
	return nil
}

func orObject(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("{}")
	}
	return data
}

func isAbsent(err error) bool { return errors.Is(err, ErrAbsent) }
