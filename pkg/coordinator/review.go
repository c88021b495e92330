package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// settleReview judges a verdict: passed, back to the author, or what the review
// declares when no revision is left or the same verdict came twice (R7).
func (q *call) settleReview(ctx context.Context, step *record.Step, verdict *after, cost int64) (gate.Verdict, error) {
	author := q.steps[address(q.node, q.index)]
	reviewed, err := q.authorWork(ctx)
	if err != nil {
		return gate.Verdict{}, err
	}
	reviewed.verdict = verdict.output
	passed, text, err := q.truth(ctx, q.node.Review.Pass, q.index, reviewed)
	if err != nil {
		if f, ok := faultOf(asInvalid(err)); ok {
			return q.fail(ctx, step, f, failing{cost: cost})
		}
		return gate.Verdict{}, err
	}
	if !passed && q.mayRevise(step, author) {
		return q.revise(ctx, step, author, revision{verdict: verdict, rule: text, cost: cost})
	}
	step.Verdict = step.Output.Hash
	reasons := append([]string(nil), author.Reasons...)
	if !passed {
		why := fmt.Sprintf("the review did not pass (%s): %s", text, cut(asText(verdict.output), logText))
		switch q.node.Review.Otherwise {
		case charter.OtherwiseRefuse:
			return q.fail(ctx, step, &fault{class: outerloop.ClassRefused, cause: why, final: true}, failing{cost: cost})
		case charter.OtherwiseEscalate:
			return q.fail(ctx, step, &fault{class: outerloop.ClassRefused, cause: why, final: true, ask: true}, failing{cost: cost})
		}
		reasons = append(reasons, why)
	}
	trusted := *step
	trusted.Confidence, trusted.Because, trusted.Backup = author.Confidence, author.Because, author.Backup
	err = q.askForWork(ctx, &trusted, reviewed, reasons)
	var need *approvalNeeded
	switch f, isFault := faultOf(err); {
	case err == nil:
		runOp := q.spend(step, cost)
		return q.conclude(ctx, step, ending{outcome: outerloop.OutcomeCompleted, work: reviewed, rule: text, run: &runOp, input: author.Output.Hash})
	case errors.As(err, &need):
		return q.settleParked(ctx, step, need, cost)
	case isFault:
		return q.fail(ctx, step, f, failing{cost: cost})
	}
	return gate.Verdict{}, err
}

// mayRevise tells whether the work goes back once more.
func (q *call) mayRevise(step, author *record.Step) bool {
	left, bounded := q.run.Numbers[record.RunReviewsLeft]
	return author.Visit <= q.node.Review.Revisions && step.Verdict != step.Output.Hash && (!bounded || left > 0)
}

// revision is why the author gets the work back.
type revision struct {
	verdict *after
	rule    string
	cost    int64
}

// revise opens the author's next visit with the verdict as feedback, in the
// reviewer's own transaction; the machine goes back to the author.
func (q *call) revise(ctx context.Context, step, author *record.Step, why revision) (gate.Verdict, error) {
	raw, err := canonical(why.verdict.output)
	if err != nil {
		return gate.Verdict{}, err
	}
	archive := author.Archive()
	next := author.Clone()
	protocol.Revisit(next, q.run.Gen)
	next.Feedback = lastFeedback(append(next.Feedback, gate.Feedback{From: step.Worker, Faults: []string{why.rule}, Detail: raw}))
	next.Note(record.Entry{At: q.c.now(), Kind: "revise", Worker: step.Worker, Rule: why.rule, Outcome: outerloop.ErrorRevise, Output: step.Output.Hash})

	runOp := q.spend(step, why.cost)
	if _, bounded := q.run.Numbers[record.RunReviewsLeft]; bounded {
		runOp = mergeRun(store.Add(record.RunKey(q.run.ID), map[string]int64{record.RunReviewsLeft: -1},
			append(record.OpenAt(q.run.Gen), store.AtLeast(record.RunReviewsLeft, 1))...), runOp)
	}
	attempt, seen := step.Nonce, step.Output.Hash
	answer := gate.Verdict{Error: outerloop.ErrorRevise, Cause: why.rule}
	protocol.Revisit(step, q.run.Gen)
	step.LastNonce, step.LastVerdict, step.Verdict = attempt, &answer, seen
	step.Note(record.Entry{At: q.c.now(), Kind: "reviewed", Worker: step.Worker, Rule: why.rule, Outcome: outerloop.ErrorRevise, Output: seen})
	if err := q.c.write(ctx, step.Put(), runOp, next.Put(), archive); err != nil {
		return gate.Verdict{}, fmt.Errorf("sending the work back: %w", err)
	}
	return answer, nil
}
