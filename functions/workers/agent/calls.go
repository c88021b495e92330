package agent

import (
	"context"

	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// gateCalls makes the tool calls of a task through its gate.
type gateCalls struct{ task Task }

// Call asks the gate and says what became of it.
func (g gateCalls) Call(ctx context.Context, call llm.WorkerCall) (llm.WorkerAnswer, error) {
	answer, err := g.task.Call(ctx, call.Worker, call.Input)
	if err != nil {
		return llm.WorkerAnswer{}, err
	}
	out := llm.WorkerAnswer{Output: answer.Output, Says: answer.Says}
	switch answer.Outcome {
	case gate.CallDone:
		out.Outcome = llm.CallDone
	case gate.CallRefused:
		out.Outcome = llm.CallRefused
	case gate.CallWaiting:
		out.Outcome = llm.CallWaiting
	default:
		out.Outcome = llm.CallFailed
	}
	return out, nil
}
