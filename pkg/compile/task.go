package compile

import (
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// longest is the longest a state waits for a person or an answer: the longest
// life of an execution, less a day.
const longest = 364 * 24 * time.Hour

// call is a request to the coordinator's function.
type call struct {
	op, step, comment string
	// next is what the following block asks for; nil: nothing.
	next object
	// failed: the state follows a Catch and passes the error on.
	failed bool
	// timeout makes it a state that waits for its token; 0: it is answered at once.
	timeout time.Duration
}

// coordinatorTask is a state that asks the coordinator.
func (c *compiler) coordinatorTask(request call, next string) object {
	payload := object{{"op", request.op}, {"run.$", "$.run"}, {"gen.$", "$.gen"}}
	if request.step != "" {
		payload.set("step", request.step)
	}
	payload.set("item.$", "$.item")
	if request.next != nil {
		payload.set("next", request.next)
	}
	if request.failed {
		payload.set("error.$", "$.o.Error")
		payload.set("cause.$", "$.o.Cause")
	}
	task := object{{"Type", "Task"}}
	if request.comment != "" {
		task.set("Comment", request.comment)
	}
	if request.timeout > 0 {
		payload.set("token.$", "$$.Task.Token")
		task.set("Resource", "arn:aws:states:::lambda:invoke.waitForTaskToken")
		task.set("TimeoutSeconds", seconds(request.timeout))
	} else {
		task.set("Resource", "arn:aws:states:::lambda:invoke")
		task.set("TimeoutSeconds", 900)
	}
	task.set("Parameters", object{{"FunctionName", coordinatorToken}, {"Payload", payload}})
	if request.timeout == 0 {
		task.set("ResultSelector", noteSelector())
	}
	task.set("ResultPath", "$.o")
	task.set("Retry", coordinatorRetriers())
	if request.op == "finish" {
		task.set("End", true)
		return task
	}
	flow(&task, next)
	return task
}

// noteSelector picks the note's fields out of a function's answer.
func noteSelector() object {
	return object{
		{"outcome.$", "$.Payload.outcome"}, {"label.$", "$.Payload.label"},
		{"until.$", "$.Payload.until"}, {"items.$", "$.Payload.items"},
	}
}

// work is one state that hands work to a worker.
type work struct {
	step    string
	worker  *loop.Worker
	mode    charter.Mode
	failure *loop.FailureRules
	next    object
	comment string
}

// workerTask is a worker's state, without Catch and Next.
func (c *compiler) workerTask(w work) object {
	name := w.worker.Charter.Worker
	message := object{{"run.$", "$.run"}, {"gen.$", "$.gen"}, {"step", w.step}, {"item.$", "$.item"}}
	if w.next != nil {
		message.set("next", w.next)
	}
	queue := queued(w.mode)
	if queue {
		message.set("token.$", "$$.Task.Token")
	}
	message.set("entered.$", "$$.State.EnteredTime")
	message.set("retry.$", "$$.State.RetryCount")

	dispatch := w.worker.Charter.Dispatch
	task := object{{"Type", "Task"}, {"Comment", w.comment}}
	if queue {
		wait := dispatch.LongestWait + time.Duration(tries(w.failure))*dispatch.Timeout
		task.set("Resource", "arn:aws:states:::sqs:sendMessage.waitForTaskToken")
		task.set("TimeoutSeconds", seconds(wait))
		task.set("Parameters", object{{"QueueUrl", queueToken(name)}, {"MessageBody", message}})
	} else {
		task.set("Resource", "arn:aws:states:::lambda:invoke")
		task.set("TimeoutSeconds", seconds(dispatch.Timeout)+30)
		task.set("Parameters", object{{"FunctionName", workerToken(name)}, {"Payload", message}})
		task.set("ResultSelector", noteSelector())
	}
	task.set("ResultPath", "$.o")
	task.set("Retry", workerRetriers(w.failure, queue))
	return task
}

// catcher leads an error to a state; the error stands at $.o.
func catcher(next string, errors ...string) object {
	return object{{"ErrorEquals", errors}, {"ResultPath", "$.o"}, {"Next", next}}
}

// stopCatcher ends a scope whose run must not go on.
func (s *scope) stopCatcher() object {
	return catcher(s.stopped(), outerloop.ErrorHalt, outerloop.ErrorStop)
}

// commentOf says what a worker's state is for.
func commentOf(worker *loop.Worker) string {
	return fmt.Sprintf("%s: %s", worker.Charter.Worker, worker.Charter.Objective)
}
