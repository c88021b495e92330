package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// taskKind says who executes a task.
type taskKind int

const (
	noTask    taskKind = iota // nobody
	callTask                  // a function, called by the shell
	queueTask                 // a message in a queue
	startTask                 // another execution
)

func kindOf(r asl.Resource) taskKind {
	switch {
	case r.Kind == asl.LambdaFunction:
		return callTask
	case r.Kind != asl.ServiceTask:
		return noTask
	case r.Service == "lambda" && r.Action == "invoke":
		return callTask
	case r.Service == "sqs" && r.Action == "sendMessage":
		return queueTask
	case r.Service == "states" && r.Action == "startExecution":
		return startTask
	}
	return noTask
}

// Executable tells whether the engine has an executor for a resource.
func Executable(r asl.Resource) bool {
	kind := kindOf(r)
	sync := r.Pattern == asl.Sync || r.Pattern == asl.Sync2
	return kind != noTask && (!sync || kind == startTask)
}

// Call is one invocation of a function that the shell is to make, after a Sync,
// and to answer with Answer.
type Call struct {
	Execution string
	Task      asl.TaskID
	State     string
	// Function is the FunctionName as the machine gives it.
	Function string
	Payload  json.RawMessage
	// Deadline is when the task times out; zero: never. The call is not
	// stopped then; its answer is refused.
	Deadline   time.Time
	Iterations []int
	resource   asl.Resource
}

func newCall(execution string, task asl.ScheduleTask) Call {
	call := Call{
		Execution: execution, Task: task.Task, State: task.State, Deadline: task.Deadline,
		Iterations: task.Iterations, resource: task.Resource,
	}
	if task.Resource.Kind == asl.LambdaFunction {
		call.Function, call.Payload = task.Resource.ARN, task.Input
		return call
	}
	var request struct {
		FunctionName string
		Payload      json.RawMessage
	}
	// What cannot be read has an empty name, which the shell knows no function for.
	_ = json.Unmarshal(task.Input, &request)
	call.Function, call.Payload = request.FunctionName, request.Payload
	if len(call.Payload) == 0 {
		call.Payload = json.RawMessage("{}")
	}
	return call
}

// Result is a function's answer: an output, or an error's name and cause.
type Result struct {
	Output json.RawMessage
	Error  string
	Cause  string
	// Service: the error is the service's (throttled, no such function), not the function's.
	Service bool
}

// Calls takes the invocations that are to be made now, in order.
func (c *Core) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// Answer completes a call. An answer that comes too late is dropped.
func (c *Core) Answer(ctx context.Context, call Call, result Result) error {
	err := c.on(ctx, call.Execution, func(ch *change) error {
		if !ch.ex.calls[call.Task] {
			return asl.ErrNotOpen
		}
		return ch.apply(answerEvent(call, result))
	})
	if refused(err) {
		return nil
	}
	return err
}

// answerEvent is how Step Functions takes the answer of a function.
func answerEvent(call Call, result Result) asl.Event {
	event := asl.Event{Task: call.Task}
	waits := call.resource.Pattern == asl.WaitForTaskToken
	switch {
	case result.Error != "":
		event.Kind, event.Error, event.Cause = asl.TaskFailed, &result.Error, &result.Cause
		if waits && result.Service {
			event.Kind = asl.TaskSubmitFailed
		}
	case waits:
		event.Kind, event.Output = asl.TaskSubmitted, envelope(result.Output)
	case call.resource.Kind == asl.LambdaFunction:
		event.Kind, event.Output = asl.TaskSucceeded, orNull(result.Output)
	default:
		event.Kind, event.Output = asl.TaskSucceeded, envelope(result.Output)
	}
	return event
}

// envelope is the result of the optimised integration lambda:invoke.
func envelope(payload json.RawMessage) json.RawMessage {
	head := `{"ExecutedVersion":"$LATEST","Payload":`
	return json.RawMessage(head + string(orNull(payload)) + `,"StatusCode":200}`)
}

func orNull(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("null")
	}
	return data
}

// Succeed completes the task of a token with an output (SendTaskSuccess).
// Errors: ErrToken, ErrTokenGone, ErrOutput, ErrTooLarge.
func (c *Core) Succeed(ctx context.Context, token string, output json.RawMessage) error {
	if !json.Valid(output) {
		return fmt.Errorf("%w: it is not JSON", ErrOutput)
	}
	if len(output) > asl.MaxPayload {
		return fmt.Errorf("%w: output of %d bytes, at most %d", ErrTooLarge, len(output), asl.MaxPayload)
	}
	return c.token(ctx, token, func(ch *change, task asl.ScheduleTask) error {
		return ch.apply(asl.Event{Kind: asl.TaskSucceeded, Task: task.Task, Output: output})
	})
}

// Fail completes the task of a token with an error (SendTaskFailure). nil:
// none was given. Errors: ErrToken, ErrTokenGone.
func (c *Core) Fail(ctx context.Context, token string, name, cause *string) error {
	return c.token(ctx, token, func(ch *change, task asl.ScheduleTask) error {
		return ch.apply(asl.Event{Kind: asl.TaskFailed, Task: task.Task, Error: name, Cause: cause})
	})
}

// Heartbeat tells that the task of a token is alive (SendTaskHeartbeat). It
// does not extend the task's time limit. Errors: ErrToken, ErrTokenGone.
func (c *Core) Heartbeat(ctx context.Context, token string) error {
	return c.token(ctx, token, func(ch *change, task asl.ScheduleTask) error {
		if task.Heartbeat > 0 {
			ch.ex.Beats[task.Task] = ch.now
			ch.applied = true
		}
		return nil
	})
}

// token finds the open task of a token.
func (c *Core) token(ctx context.Context, token string, f func(*change, asl.ScheduleTask) error) error {
	name, ok := asl.TokenExecution(token)
	if !ok || !validKey(name) {
		return ErrToken
	}
	err := c.on(ctx, name, func(ch *change) error {
		for _, effect := range ch.ex.x.Open() {
			task, ok := effect.(asl.ScheduleTask)
			if ok && task.Token == token {
				return f(ch, task)
			}
		}
		return ErrTokenGone
	})
	if err != nil && (refused(err) || isAbsent(err)) {
		return ErrTokenGone
	}
	return err
}

func validKey(name string) bool {
	return name != "" && len(name) <= 900 && !strings.ContainsRune(name, 0)
}
