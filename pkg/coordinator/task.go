package coordinator

import (
	"context"
	"encoding/json"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// task is the envelope of admitted work: its charter and what it declared, nothing more (R20).
func (q *call) task(ctx context.Context, step *record.Step, p *prepared) (*gate.Task, error) {
	handoff, err := q.handoff(ctx, step, p)
	if err != nil {
		return nil, err
	}
	t := &gate.Task{
		Run: q.run.ID, Loop: q.run.Loop, Subject: q.run.Subject, Step: q.Step, Item: q.Item,
		Visit: step.Visit, Attempt: step.Attempts, Fence: step.Fence, Worker: step.Worker,
		AsOf: q.run.AsOf, Deadline: time.UnixMilli(step.LimitMs).UTC(), Lease: time.UnixMilli(step.LeaseMs).UTC(),
		Charter: q.worker.Document, Input: p.raw, Facts: p.facts, Feedback: step.Feedback, Handoff: handoff,
		Files: p.files, Budget: max(step.Reserved, 0), Agent: q.agent(),
	}
	if q.node.Action != nil && !q.review {
		t.Action = q.node.Action.Declared.Name
	}
	return t, nil
}

// agent is what a worker that asks a language model gets beside its charter;
// nil for other kinds.
func (q *call) agent() *gate.Agent {
	declared := q.worker.Charter.Agent
	if declared == nil {
		return nil
	}
	a := &gate.Agent{Prompt: q.worker.Prompt, Model: q.def.Project.Asked(declared.Model)}
	for _, name := range declared.Calls {
		if w := q.def.Workers[name]; w != nil && w.Input != nil {
			a.Calls = append(a.Calls, gate.Callable{Worker: name, Objective: w.Charter.Objective, Input: w.Input.Raw()})
		}
	}
	return a
}

// handoffRecord is the fixed record of R19.
type handoffRecord struct {
	Workflow   string          `json:"workflow"`
	Objective  string          `json:"objective"`
	Completed  []handoffStep   `json:"completed"`
	Sources    []gate.Evidence `json:"sources"`
	Decisions  []string        `json:"decisions"`
	Confidence []handoffTrust  `json:"confidence"`
	Unresolved []string        `json:"unresolved"`
	// Constraints are the limits that hold.
	Constraints []string        `json:"constraints"`
	Status      string          `json:"status"`
	NextAction  string          `json:"next_action"`
	Deadline    string          `json:"deadline"`
	Required    json.RawMessage `json:"required_output"`
	GoesTo      []string        `json:"goes_to"`
	// Pruned is what was left out of the context.
	Pruned prunedSize `json:"pruned"`
}

type handoffStep struct {
	Step    string `json:"step"`
	Outcome string `json:"outcome"`
	Output  string `json:"output,omitempty"`
}

type handoffTrust struct {
	Step       string `json:"step"`
	Confidence string `json:"confidence"`
	Reason     string `json:"reason"`
}

type prunedSize struct {
	Bytes  int `json:"bytes"`
	Tokens int `json:"estimated_tokens"`
}

// handoff tells what is finished and decided before this step, by reference:
// of what it waits for only, without a diary of attempts.
func (q *call) handoff(ctx context.Context, step *record.Step, p *prepared) (json.RawMessage, error) {
	h := handoffRecord{
		Workflow: q.run.ID, Objective: q.def.Loop.Objective, Status: string(q.run.Status),
		NextAction: step.Worker + " (" + q.worker.Charter.Owner + ")", Deadline: q.deadlineText(),
		Required: q.worker.Output.Raw(), Completed: []handoffStep{}, Sources: []gate.Evidence{},
		Decisions: []string{}, Confidence: []handoffTrust{}, Unresolved: []string{}, Constraints: []string{}, GoesTo: []string{},
	}
	available := 0
	for _, d := range q.node.Needs {
		out, err := q.outcomeOf(ctx, d.Node, q.index)
		if err != nil {
			return nil, err
		}
		h.add(out)
		available += out.output.Size
	}
	if q.review {
		h.add(result{step: q.steps[address(q.node, q.index)]})
	}
	for _, l := range q.limits() {
		h.Constraints = append(h.Constraints, l.Rule.Source()+" (otherwise "+string(l.Otherwise)+")")
	}
	for _, w := range q.node.Writes {
		if name, err := q.text(ctx, w.Fact, q.index, nil, ""); err == nil {
			h.GoesTo = append(h.GoesTo, "fact "+name)
		}
	}
	h.Pruned.Bytes = max(available-len(p.raw), 0)
	h.Pruned.Tokens = h.Pruned.Bytes / tokenBytes
	return json.Marshal(h)
}

func (h *handoffRecord) add(out result) {
	s := out.step
	if s == nil {
		return
	}
	h.Completed = append(h.Completed, handoffStep{Step: s.Name, Outcome: string(s.Outcome), Output: s.Output.Hash})
	h.Sources = append(h.Sources, s.Evidence...)
	h.Decisions = append(h.Decisions, s.Decisions...)
	h.Unresolved = append(h.Unresolved, s.Unresolved...)
	if s.Confidence != "" {
		h.Confidence = append(h.Confidence, handoffTrust{Step: s.Name, Confidence: string(s.Confidence), Reason: s.Because})
	}
}

// deadlineText is the run's deadline with its time zone.
func (v *view) deadlineText() string {
	zone := v.def.Zone
	if zone == nil {
		zone = time.UTC
	}
	return v.run.Deadline.In(zone).Format("2006-01-02T15:04:05Z07:00") + " " + zone.String()
}
