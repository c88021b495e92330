package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Tried is what an attempt outside of any run came to: a result or a failure.
type Tried struct {
	Result  *gate.Result
	Failure *gate.Failure
}

// Try does a recorded task again with these options, another prompt for
// instance, without acting: no run is touched, and tool calls are refused
// unless Options.Tools is given (one that replays recorded answers). The task's
// budget holds. It is for comparing outputs, tokens and cost.
func Try(ctx context.Context, o Options, task gate.Task, files worker.Files) (Tried, error) {
	if o.Tools == nil {
		o.Tools = func(Task) llm.Tools { return noTools{} }
	}
	w, err := New(task.Worker, o)
	if err != nil {
		return Tried{}, err
	}
	task.Action, task.Lease, task.Deadline = "", time.Time{}, time.Time{}
	g := &trial{task: task}
	_, err = worker.Handle(ctx, worker.Invocation{
		Worker: w, Gate: worker.InProcess(g), Request: "try",
		Delivery: gate.Delivery{Run: task.Run, Step: task.Step, Item: task.Item}, Env: worker.Env{Files: files},
	})
	if err != nil {
		return Tried{}, fmt.Errorf("trying %s: %w", task.Step, err)
	}
	return g.tried, nil
}

// noTools refuses every call.
type noTools struct{}

func (noTools) Call(context.Context, llm.WorkerCall) (llm.WorkerAnswer, error) {
	return llm.WorkerAnswer{Outcome: llm.CallRefused, Says: "This is a trial: nothing is done."}, nil
}

// trial is a gate that admits one task, lets it do nothing and keeps what comes of it.
type trial struct {
	task  gate.Task
	tried Tried
}

var errTrial = errors.New("a trial does no actions")

func (g *trial) Admit(context.Context, gate.AdmitRequest) (gate.AdmitAnswer, error) {
	return gate.AdmitAnswer{Decision: gate.Go, Task: &g.task}, nil
}

func (g *trial) Begin(context.Context, gate.BeginRequest) (gate.BeginAnswer, error) {
	return gate.BeginAnswer{Claim: gate.ClaimRefused, Reason: errTrial.Error()}, nil
}

func (g *trial) Report(context.Context, gate.ReportRequest) (gate.ReportAnswer, error) {
	return gate.ReportAnswer{}, errTrial
}

func (g *trial) Settle(_ context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	g.tried = Tried{req.Result, req.Failure}
	return gate.SettleAnswer{Answered: true}, nil
}

func (g *trial) Heartbeat(context.Context, gate.HeartbeatRequest) (gate.HeartbeatAnswer, error) {
	return gate.HeartbeatAnswer{}, errTrial
}
