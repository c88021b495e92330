package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/protocol"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// For gives the gate of one worker. In queue mode (a delivery with a token) it
// completes the token after its commit and before it answers.
func (c *Coordinator) For(worker string) gate.Gate { return &workerGate{c: c, worker: worker} }

// workerGate implements gate.Gate for one worker.
type workerGate struct {
	c      *Coordinator
	worker string
}

// call is one gate call on its way: what was read, and who calls.
type call struct {
	*delivered
	worker  *loop.Worker
	backup  bool
	attempt string
	fence   int64
	// doubted: the worker's breaker has counted failures.
	doubted bool
	// before is the step's record as it was read.
	before *record.Step
}

// open reads what a call is about and checks that the worker may make it.
func (g *workerGate) open(ctx context.Context, in gate.Call) (*call, error) {
	d, err := g.c.receive(ctx, in.Delivery)
	if err != nil {
		return nil, err
	}
	q := &call{delivered: d, attempt: protocol.AttemptOf(in.Nonce), fence: in.Fence}
	if in.Nonce == "" {
		return nil, fmt.Errorf("call without a nonce: %w", ErrNotAllowed)
	}
	primary, second := d.workers()
	switch {
	case primary != nil && primary.Charter.Worker == g.worker:
		q.worker = primary
	case second != nil && second.Charter.Worker == g.worker:
		q.worker, q.backup = second, true
	default:
		return nil, fmt.Errorf("step %s does not belong to worker %s: %w", in.Step, g.worker, ErrNotAllowed)
	}
	if s := q.step(); s != nil {
		protocol.Renew(s, q.run.Gen)
		q.before = s
	}
	return q, nil
}

// workers are the step's worker and its backup.
func (d *delivered) workers() (primary, backup *loop.Worker) {
	switch {
	case d.review:
		return d.node.Review.Worker, nil
	case d.node.Kind == loop.KindRoute:
		row := d.row()
		if row == nil {
			return nil, nil
		}
		return row.Worker, row.Backup
	}
	return d.node.Worker, d.node.Backup
}

// row is the row of a routing table that was decided.
func (d *delivered) row() *loop.RouteRule {
	s := d.steps[address(d.node, d.index)]
	if s == nil || s.Block == nil || s.Block.Label == nil {
		return nil
	}
	for i := range d.node.Routes {
		if fmt.Sprint(i+1) == *s.Block.Label {
			return &d.node.Routes[i]
		}
	}
	return nil
}

// record is the delivery's own record to change: a copy, or a new one.
func (d *delivered) record(ctx context.Context) *record.Step {
	if s := d.step(); s != nil {
		return s.Clone()
	}
	name := d.name(ctx, d.node, d.index)
	if d.review {
		name += reviewSuffix
	}
	return &record.Step{
		Run: d.run.ID, Address: d.at, Path: d.Step, Item: d.Item, Name: name,
		Visit: 1, State: outerloop.StepOpen, Gen: d.run.Gen,
	}
}

// stop is the verdict of a delivery whose run does not go on.
func (d *delivered) stop(now time.Time) gate.Verdict {
	cause := "run is " + string(d.run.Status)
	switch {
	case d.Gen != d.run.Gen:
		cause = fmt.Sprintf("generation %d is over, the run is in %d", d.Gen, d.run.Gen)
	case d.run.Cancelling:
		cause = "run is being cancelled"
	case d.run.Open() && !now.Before(d.run.Deadline):
		cause = "the run's deadline has passed"
	}
	return gate.Verdict{Error: outerloop.ErrorStop, Cause: cause}
}

// complete tells the machine the verdict on a delivery that has a token.
func (c *Coordinator) complete(ctx context.Context, token string, verdict gate.Verdict) error {
	if token == "" {
		return nil
	}
	var err error
	if verdict.Error != "" {
		err = c.cfg.Tokens.Fail(ctx, token, verdict.Error, cut(verdict.Cause, causeLimit))
	} else {
		var note json.RawMessage
		if note, err = json.Marshal(verdict.Note); err == nil {
			err = c.cfg.Tokens.Succeed(ctx, token, note)
		}
	}
	if errors.Is(err, ErrTokenGone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("completing the task token: %w", err)
	}
	return nil
}

// completeAll completes every token that a state may wait with: a call of a
// state that comes again, in any order, brings another one.
func (c *Coordinator) completeAll(ctx context.Context, verdict gate.Verdict, tokens ...string) error {
	for _, token := range tokens {
		if err := c.complete(ctx, token, verdict); err != nil {
			return err
		}
	}
	return nil
}

// earlierOf are the tokens that stay beside a state's new one, of one generation.
func earlierOf(gen int, before []string, token string, op operation) []string {
	if gen != op.Gen {
		return nil
	}
	return record.Earlier(before, token, op.Token)
}

// causeLimit bounds the cause that goes into an execution's history.
const causeLimit = 1000

// cut shortens a text to at most limit bytes, never within a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit] + "…"
}
