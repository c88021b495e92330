package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// callMark stands in the path of a tool call: STEP.call.WORKER.ID. A call has a
// step record of its own beside its caller's, so that all that holds for steps
// holds for it: schema, limits, action log, quota, approval, log (R8, R44).
const callMark = ".call."

// callPath takes a tool call's path apart.
func callPath(path string) (step, worker string, ok bool) {
	i := strings.LastIndex(path, callMark)
	if i < 0 {
		return "", "", false
	}
	worker, _, ok = strings.Cut(path[i+len(callMark):], ".")
	return path[:i], worker, ok
}

// callNode is the node of a tool call: the called worker under its own charter,
// with the caller's way to ask people.
func callNode(def *loop.Definition, path string) (*loop.Node, bool) {
	step, worker, ok := callPath(path)
	if !ok {
		return nil, false
	}
	caller, review, known := lookup(def, step) // the caller may be a tool itself
	tool := def.Workers[worker]
	if !known || tool == nil || !mayCall(caller, review, worker) {
		return nil, false
	}
	n := &loop.Node{
		Path: path, Name: worker, Kind: loop.KindWorker, Parent: caller.Parent, Position: caller.Position, Depth: caller.Depth,
		Worker: tool, Mode: tool.Charter.Dispatch.Mode, Limits: tool.Limits,
	}
	if caller.Approval != nil {
		asks := *caller.Approval
		asks.Declared, asks.When, asks.Ask, asks.Never = false, nil, nil, nil
		n.Approval = &asks
	}
	n.Action = tool.ToolAction()
	return n, true
}

// mayCall tells whether one of the workers that do a node's work has another as
// a tool.
func mayCall(n *loop.Node, review bool, worker string) bool {
	callers := []*loop.Worker{n.Worker, n.Backup}
	for _, row := range n.Routes {
		callers = append(callers, row.Worker, row.Backup)
	}
	if review {
		callers = []*loop.Worker{n.Review.Worker}
	}
	return slices.ContainsFunc(callers, func(w *loop.Worker) bool {
		return w != nil && w.Charter.Agent != nil && slices.Contains(w.Charter.Agent.Calls, worker)
	})
}

// Call answers a tool call of the running attempt, or says that its worker is
// to be run.
func (g *workerGate) Call(ctx context.Context, req gate.CallRequest) (gate.CallAnswer, error) {
	return deciding(ctx, g.c, "calling "+req.Worker, func(ctx context.Context) (gate.CallAnswer, error) {
		q, err := g.open(ctx, req.Call)
		if err != nil {
			return gate.CallAnswer{}, err
		}
		return q.callTool(ctx, req)
	})
}

func (q *call) callTool(ctx context.Context, req gate.CallRequest) (gate.CallAnswer, error) {
	s := q.step()
	switch {
	case !protocol.Owns(s, q.attempt, q.fence):
		return gate.CallAnswer{Outcome: gate.CallStopped, Says: "the attempt no longer owns the step"}, nil
	case !q.run.Open() || q.Gen != q.run.Gen:
		return gate.CallAnswer{Outcome: gate.CallStopped, Says: q.stop(q.c.now()).Cause}, nil
	}
	tool := q.def.Workers[req.Worker]
	agent := q.worker.Charter.Agent
	if agent == nil || tool == nil || !slices.Contains(agent.Calls, req.Worker) {
		return refusedCall("the charter of %s calls no worker %q", q.worker.Charter.Worker, req.Worker), nil
	}
	value, faults := tool.Input.Check(req.Input)
	if len(faults) > 0 {
		return refusedCall("the input does not fit: %s", join(faultTexts(faults))), nil
	}
	input, err := q.c.keep(ctx, value)
	if err != nil {
		return gate.CallAnswer{}, err
	}
	suffix := callMark + req.Worker + "." + record.ShortID("call", fmt.Sprint(s.Visit), req.Worker, input.Hash)
	at := q.at + record.Address(suffix)
	if err := q.fetch(ctx, at); err != nil {
		return gate.CallAnswer{}, err
	}
	delivery := &gate.Delivery{Run: q.Run, Gen: q.Gen, Step: q.Step + suffix, Item: q.Item}
	if q.steps[at] == nil {
		return q.newCall(ctx, newToolCall{at: at, worker: req.Worker, input: input, delivery: delivery, most: agent.MaxCalls})
	}
	return q.knownCall(ctx, q.steps[at], delivery)
}

func refusedCall(format string, args ...any) gate.CallAnswer {
	return gate.CallAnswer{Outcome: gate.CallRefused, Says: fmt.Sprintf(format, args...)}
}

type newToolCall struct {
	at       record.Address
	worker   string
	input    record.Value
	delivery *gate.Delivery
	most     int
}

// newCall records the call beside its caller, in one write with the proof that
// the caller owns its step.
func (q *call) newCall(ctx context.Context, with newToolCall) (gate.CallAnswer, error) {
	caller := q.step().Clone()
	if with.most > 0 && len(caller.Calls) >= with.most {
		return refusedCall("no calls are left: %d were made", len(caller.Calls)), nil
	}
	same := 1
	for _, c := range caller.Calls {
		if _, worker, _ := callPath(string(c)); worker == with.worker {
			same++
		}
	}
	name := caller.Name + ".call." + with.worker
	if same > 1 {
		name = fmt.Sprintf("%s.%d", name, same)
	}
	caller.Calls = append(slices.Clone(caller.Calls), with.at)
	made := &record.Step{
		Run: q.run.ID, Address: with.at, Path: with.delivery.Step, Item: q.Item, Name: name, Visit: 1,
		State: outerloop.StepOpen, Gen: q.run.Gen, Override: with.input,
	}
	made.Note(record.Entry{At: q.c.now(), Kind: "called", Worker: q.worker.Charter.Worker, Input: with.input.Hash})
	if err := q.c.write(ctx, caller.Put(), made.Put(), q.checkRun()); err != nil {
		return gate.CallAnswer{}, err
	}
	return gate.CallAnswer{Outcome: gate.CallRun, Delivery: with.delivery}, nil
}

// knownCall tells what became of a call that was made before.
func (q *call) knownCall(ctx context.Context, s *record.Step, delivery *gate.Delivery) (gate.CallAnswer, error) {
	protocol.Renew(s, q.run.Gen)
	switch {
	case s.State == outerloop.StepSettled && (s.Outcome == outerloop.OutcomeCompleted || s.Outcome == outerloop.OutcomeSubstituted):
		output, err := q.c.raw(ctx, s.Output)
		return gate.CallAnswer{Outcome: gate.CallDone, Output: output}, err
	case s.State == outerloop.StepSettled:
		return refusedCall("%s: %s", s.Outcome, s.Reason), nil
	case s.State == outerloop.StepParked:
		ap, err := q.approval(ctx, s)
		switch {
		case err != nil:
			return gate.CallAnswer{}, err
		case ap == nil || !ap.Decided():
			return gate.CallAnswer{Outcome: gate.CallWaiting, Says: "a person decides: " + join(s.Reasons)}, nil
		case ap.Decision != record.DecisionApproved:
			return refusedCall("%s", declined(ap)), nil
		}
	case s.GaveUp != nil && s.GaveUp.Error == outerloop.ClassRefused.ErrorName():
		return refusedCall("%s", s.GaveUp.Cause), nil
	case s.GaveUp != nil:
		return gate.CallAnswer{Outcome: gate.CallFailed, Says: s.GaveUp.Error + ": " + s.GaveUp.Cause}, nil
	}
	return gate.CallAnswer{Outcome: gate.CallRun, Delivery: delivery}, nil
}

// waitingCall is a request of a tool call of the step that is undecided, or was
// decided after the attempt began: the work is not finished while a person
// decides about a part of it, nor before it has heard the decision.
func (q *call) waitingCall(ctx context.Context, s *record.Step) (*record.Approval, error) {
	if len(s.Calls) == 0 {
		return nil, nil
	}
	if err := q.fetch(ctx, s.Calls...); err != nil {
		return nil, err
	}
	for _, at := range s.Calls {
		made := q.steps[at]
		if made == nil || made.State != outerloop.StepParked {
			continue
		}
		ap, err := q.approval(ctx, made)
		if err != nil {
			return nil, err
		}
		if ap != nil && !ap.Void && !slices.Contains(s.Heard, ap.ID) {
			return ap, nil
		}
	}
	return nil, nil
}

// settleWaiting parks the step with a request of one of its tool calls: its
// state waits for that decision, whatever it is, and the step runs again.
func (q *call) settleWaiting(ctx context.Context, step *record.Step, ap *record.Approval, cost int64) (gate.Verdict, error) {
	runOp := q.spend(step, cost)
	verdict := protocol.Park(step, ap.ID, ap.Ask)
	step.Gen = q.run.Gen
	step.Note(record.Entry{At: q.c.now(), Kind: "parked", Rule: "a tool call waits: " + join(ap.Reasons), Outcome: outerloop.ErrorNeedsApproval})
	if err := q.c.write(ctx, step.Put(), runOp); err != nil {
		return gate.Verdict{}, fmt.Errorf("parking: %w", err)
	}
	return verdict, nil
}

// wake opens a step that was parked with a request of its tool call, once that
// is decided; it tells whether it did.
func (q *call) wake(ap *record.Approval) bool {
	s := q.step()
	if s == nil || s.State != outerloop.StepParked || ap == nil || !ap.Decided() || ap.Address == q.at {
		return false
	}
	s.State, s.Approval, s.Heard = outerloop.StepOpen, "", append(slices.Clone(s.Heard), ap.ID)
	protocol.Renew(s, q.run.Gen)
	return true
}

// runningCalls are the tool calls that the running attempt of a delivery's step
// has under way, as deliveries.
func (c *Coordinator) runningCalls(ctx context.Context, in gate.Delivery) ([]gate.Delivery, error) {
	d, err := c.receive(ctx, in)
	if err != nil {
		return nil, err
	}
	s := d.step()
	if s == nil || s.State != outerloop.StepRunning || len(s.Calls) == 0 {
		return nil, nil
	}
	if err := d.fetch(ctx, s.Calls...); err != nil {
		return nil, err
	}
	var out []gate.Delivery
	for _, at := range s.Calls {
		if made := d.steps[at]; made != nil && made.State == outerloop.StepRunning {
			out = append(out, gate.Delivery{Run: in.Run, Gen: in.Gen, Step: made.Path, Item: in.Item})
		}
	}
	return out, nil
}

// called tells whether the step made a tool call of a worker.
func called(s *record.Step, worker string) bool {
	return slices.ContainsFunc(s.Calls, func(at record.Address) bool {
		_, name, _ := callPath(string(at))
		return name == worker
	})
}
