package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

// assess checks a result: its form, its evidence, what it must satisfy, its
// limits and whether a person must look. It fills the step's record with what
// is kept of the result, and answers an error that says what is not right:
// *fault, *approvalNeeded, or the store's.
func (q *call) assess(ctx context.Context, step *record.Step, req gate.SettleRequest) (*after, error) {
	result := req.Result
	output, raw, err := q.checkOutput(result.Output)
	if err != nil {
		return nil, err
	}
	if err := checkWords(result); err != nil {
		return nil, err
	}
	p := &prepared{}
	if err := q.again(ctx, p, step); err != nil {
		return nil, err
	}
	step.Confidence, step.Because = result.Confidence, result.Reason
	step.Evidence, step.Decisions, step.Unresolved = result.Evidence, result.Decisions, result.Unresolved
	step.Reasons, step.Reason, step.Cause = nil, result.Reason, ""
	if step.Output, err = q.c.keepRaw(ctx, raw); err != nil {
		return nil, err
	}
	work := workOf(step, output)
	if err := q.checkEvidence(ctx, step); err != nil {
		return nil, err
	}
	if q.review {
		return work, nil
	}
	if err := q.checkAccept(ctx, q.node.Accept, work); err != nil {
		return nil, err
	}
	reasons, err := q.checkLimits(ctx, work, false)
	if err != nil || q.node.Action != nil {
		return work, err
	}
	step.Reasons = append(p.reasons, reasons...)
	if q.node.Review != nil {
		return work, nil
	}
	return work, q.askForWork(ctx, step, work, step.Reasons)
}

// checkOutput reads the output by its charter's schema (R17). A model's is
// corrected where nothing has to be guessed.
func (q *call) checkOutput(raw json.RawMessage) (any, json.RawMessage, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	schema := q.worker.Output
	if q.worker.Charter.Kind == charter.KindAgent {
		corrected, _, faults := schema.Coerce(raw)
		if len(faults) > 0 {
			return nil, nil, &fault{class: outerloop.ClassInvalidOutput, cause: join(faultTexts(faults))}
		}
		raw = corrected
	}
	value, faults := schema.Check(raw)
	if len(faults) > 0 {
		return nil, nil, &fault{class: outerloop.ClassInvalidOutput, cause: join(faultTexts(faults))}
	}
	spelled, err := canonical(value)
	return value, spelled, err
}

// mostWords bounds in bytes what is kept of the words beside an output: they
// stand in the step's record, which is one item of the store.
const mostWords = 64 << 10

// checkWords refuses a result with more words beside its output than are kept.
func checkWords(r *gate.Result) error {
	size := len(r.Reason)
	for _, e := range r.Evidence {
		size += len(e.Claim) + len(e.Source) + len(e.At)
	}
	for _, text := range slices.Concat(r.Decisions, r.Unresolved) {
		size += len(text)
	}
	if size > mostWords {
		return &fault{class: outerloop.ClassInvalidOutput, cause: fmt.Sprintf(
			"reason, evidence, decisions and unresolved have %d bytes together, at most %d are kept; be brief", size, mostWords)}
	}
	return nil
}

// again reads the attempt's facts anew, for the rules that read them, and its
// input when one of them does.
func (q *call) again(ctx context.Context, p *prepared, step *record.Step) error {
	if err := q.readFacts(ctx, p); err != nil {
		return err
	}
	var approved *record.Approval
	if step.Approval != "" {
		ap, err := q.approval(ctx, step)
		if err != nil {
			return err
		}
		if ap != nil && ap.Decision == record.DecisionApproved {
			approved = ap
		}
	}
	q.resolveWork = func(ctx context.Context) error { return q.resolve(ctx, p, approved) }
	if q.node.Action != nil || q.review {
		return nil
	}
	var err error
	p.reasons, err = q.checkLimits(ctx, nil, false)
	return err
}

// checkEvidence demands that every claim names a source that the run has (R27).
func (q *call) checkEvidence(ctx context.Context, step *record.Step) error {
	if !q.worker.Charter.Evidence {
		return nil
	}
	if _, err := q.ownInput(ctx); err != nil { // a source may lie in it
		return err
	}
	if len(step.Evidence) == 0 {
		return &fault{class: outerloop.ClassInvalidOutput, cause: "no evidence is given, the charter requires it"}
	}
	for _, e := range step.Evidence {
		if !q.hasSource(step, e.Source) {
			return &fault{class: outerloop.ClassInvalidOutput, cause: fmt.Sprintf(
				"claim %q names the source %q, which this step does not have: it must be input.FIELD, input.LIST[INDEX], facts.NAME, steps.NAME, calls.WORKER, action:ENTRY, or event where one started the run", e.Claim, e.Source)}
		}
	}
	return nil
}

// hasSource tells whether the step has a source. The worker's own input has
// been resolved.
func (q *call) hasSource(step *record.Step, source string) bool {
	if gate.Cites(source, "input", q.work) {
		return true
	}
	for name, value := range q.facts {
		if gate.Cites(source, "facts."+name, value) {
			return true
		}
	}
	head, rest, _ := strings.Cut(source, ".")
	switch head {
	case "calls":
		name, _, _ := strings.Cut(rest, ".")
		return called(step, name)
	case "event":
		return source == head && byEvent(q.run)
	case "steps":
		for _, d := range q.node.Needs {
			if d.Node.Path == rest || d.Node.Name == rest {
				return true
			}
		}
		return false
	}
	entry, isAction := strings.CutPrefix(source, "action:")
	return isAction && entry != "" && step.Entry == entry
}

// byEvent tells whether an event, a webhook's body or another run's completion
// started the run. The run keeps what it took of it as its input, so a field of
// the event is cited as the input's.
func byEvent(run *record.Run) bool {
	switch loop.TriggerKind(run.Trigger) {
	case loop.TriggerEvent, loop.TriggerWebhook, loop.TriggerAfter:
		return true
	}
	return false
}

// checkAccept applies the conditions of completed work (R48). Of an action they
// come too late for another try.
func (q *call) checkAccept(ctx context.Context, rules []loop.AcceptRule, work *after) error {
	for _, rule := range rules {
		holds, text, err := q.expect(ctx, true, rule.Rule, q.index, work)
		if err != nil {
			return asInvalid(err)
		}
		if holds {
			continue
		}
		say, err := q.text(ctx, rule.Say, q.index, work, text)
		if err != nil {
			say = text
		}
		return &fault{class: outerloop.ClassInvalidOutput, cause: "not accepted: " + say + " (" + text + ")", final: q.node.Action != nil}
	}
	return nil
}

// asInvalid words a rule over the output that could not be computed as a fault of the output.
func asInvalid(err error) error {
	if f, ok := faultOf(err); ok {
		f.class, f.final = outerloop.ClassInvalidOutput, false
		return f
	}
	return err
}

// askForWork collects every reason why a person must look at finished work, and
// makes one request of them.
func (q *call) askForWork(ctx context.Context, step *record.Step, work *after, reasons []string) error {
	need := approvalNeeded{reasons: append([]string(nil), reasons...)}
	for _, e := range q.worker.Escalate {
		holds, text, err := q.expect(ctx, false, e.Rule, q.index, work)
		if err != nil {
			return asInvalid(err)
		}
		if holds {
			say, err := q.text(ctx, e.Say, q.index, work, text)
			if err != nil {
				say = text
			}
			need.reasons, need.approvers = append(need.reasons, say), append(need.approvers, e.To)
		}
	}
	if why := q.distrust(step); why != "" {
		if q.node.Backup != nil && !step.Backup && step.Confidence == outerloop.ConfidenceLow {
			return &fault{class: outerloop.ClassInvalidOutput, final: true, cause: why}
		}
		need.reasons = append(need.reasons, why)
	}
	declared, err := q.declaredReason(ctx, work)
	if err != nil {
		return asInvalid(err)
	}
	if declared != "" {
		need.reasons = append(need.reasons, declared)
	}
	if len(need.reasons) == 0 {
		return nil
	}
	content := step.Output
	if q.review {
		content = q.steps[address(q.node, q.index)].Output
	}
	if need.content, err = q.c.raw(ctx, content); err != nil {
		return err
	}
	need.hash = content.Hash
	return q.needApproval(ctx, need, work)
}

// distrust tells why the confidence is too low for the worker's risk (R45). A
// worker without a model that states none is sure.
func (q *call) distrust(step *record.Step) string {
	confidence := step.Confidence
	author := q.node.Worker
	if q.node.Kind == loop.KindRoute || author == nil || step.Backup {
		author = q.worker
	}
	if confidence == "" {
		confidence = outerloop.ConfidenceHigh
		if author.Charter.Kind == charter.KindAgent {
			confidence = outerloop.ConfidenceLow
		}
	}
	table := registry.DefaultConfidence()
	if q.def.Project != nil {
		table = q.def.Project.Confidence
	}
	most := table.Passes(confidence, q.node.Review != nil)
	if author.Charter.Risk == "" || author.Charter.Risk.AtMost(most) {
		return ""
	}
	return fmt.Sprintf("confidence %s at risk %s: %s", confidence, author.Charter.Risk, step.Because)
}
