package coordinator

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// looks remembers when a run can have stalled at the earliest, so that the
// watch does not read all steps of all runs in each round. The zero value is ready.
type looks struct {
	mu    sync.Mutex
	again map[string]time.Time
}

// looksKept bounds what is remembered; beyond it, all is looked at anew once.
const looksKept = 10_000

func (l *looks) due(run string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !now.Before(l.again[run])
}

func (l *looks) next(run string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again == nil || len(l.again) >= looksKept {
		l.again = map[string]time.Time{}
	}
	l.again[run] = at
}

// tellStall tells when a step of an open run, or the run as a whole, has not
// changed for as long as its loop declares (R57). What waits as declared is no
// stall: an approval or question that a person has, a wait, a sub-loop, an
// attempt that is alive, a run that is in line.
func (c *Coordinator) tellStall(ctx context.Context, run *record.Run) error {
	now := c.now()
	if !run.Open() || run.Queued || run.Rollback != nil || !c.stalls.due(run.ID, now) {
		return nil
	}
	def, err := c.cfg.Definitions.Definition(ctx, run.Definition)
	if err != nil {
		return err
	}
	limit := def.Loop.Alert.Stalled
	if limit <= 0 {
		return nil
	}
	s := stall{c: c, def: def, run: run, limit: limit, now: now, changed: lastEntry(run), next: now.Add(limit), worked: map[string]time.Time{}, states: map[string]*record.Step{}}
	if now.Sub(s.changed) < limit {
		c.stalls.next(run.ID, s.changed.Add(limit))
		return nil
	}
	err = c.each(ctx, store.Query{Part: record.RunKey(run.ID).Part, Prefix: record.StepsPrefix(""), Limit: 500}, func(item *store.Item) error {
		step, err := record.DecodeStep(item)
		if err != nil {
			return err
		}
		return s.look(ctx, step)
	})
	if err != nil {
		return err
	}
	s.stalled()
	s.unbegun()
	if s.step == nil && !s.waits && now.Sub(s.changed) < limit {
		s.next = earliest(s.next, s.changed.Add(limit))
	}
	c.stalls.next(run.ID, s.next)
	s.tell(ctx)
	return nil
}

// stall is one run being looked at.
type stall struct {
	c     *Coordinator
	def   *loop.Definition
	run   *record.Run
	limit time.Duration
	now   time.Time
	// changed is the latest change of anything, next when to look again.
	changed, next time.Time
	// worked is when each worker was last at work for the run, still what has not changed.
	worked map[string]time.Time
	// states are the records of the loop's top-level steps.
	states map[string]*record.Step
	still  []*record.Step
	// waits: something waits as declared, or is being worked on.
	waits bool
	// step is the one that has stalled longest, more counts the others.
	step  *record.Step
	since time.Time
	more  int
}

func (s *stall) look(ctx context.Context, step *record.Step) error {
	at := lastChange(step)
	s.changed = latest(s.changed, at)
	if !step.Address.Inside() {
		s.states[string(step.Address)] = step
	}
	if step.Worker != "" && at.After(s.worked[step.Worker]) {
		s.worked[step.Worker] = at
	}
	if step.Block != nil && step.Block.Until != nil && s.now.Before(*step.Block.Until) {
		s.waits = true // a wait for a time is settled as soon as its end is known
		return nil
	}
	if step.State == outerloop.StepSettled {
		return nil
	}
	if step.Block != nil && step.Child == "" && s.isBlock(step.Path) {
		return nil // its parts tell
	}
	waits, err := s.declared(ctx, step)
	if err != nil || waits {
		s.waits = s.waits || waits
		return err
	}
	if ends := at.Add(s.limit + s.retryWait(step)); s.now.Before(ends) {
		s.waits = true
		s.next = earliest(s.next, ends)
		return nil
	}
	s.still = append(s.still, step)
	return nil
}

// retryWait is the longest wait that a step's rule declares between its tries.
func (s *stall) retryWait(step *record.Step) time.Duration {
	n, _, known := lookup(s.def, step.Path)
	if !known || n.Failure == nil || len(step.Tries.Failed) == 0 {
		return 0
	}
	longest := time.Duration(0)
	for _, r := range n.Failure.Retry {
		longest = max(longest, r.Wait, r.AtMost)
	}
	return longest
}

// stalled picks the step that has stalled longest, and counts the others. A
// step whose worker has done something else of the run meanwhile is in line.
func (s *stall) stalled() {
	for _, step := range s.still {
		at := lastChange(step)
		if step.Worker != "" && s.now.Sub(s.worked[step.Worker]) < s.limit {
			s.waits = true
			s.next = earliest(s.next, s.worked[step.Worker].Add(s.limit))
			continue
		}
		s.more++
		if s.step == nil || at.Before(s.since) {
			s.step, s.since = step, at
		}
	}
}

// unbegun finds a step that nobody has begun although all that it waits for is
// settled: the message for it is lost, or nobody reads its queue. Inside blocks,
// and where the machine makes steps wait for more than they read, the run as a
// whole tells.
func (s *stall) unbegun() {
	if s.step != nil || s.def.Body.Plan == nil || levelled(s.def.Body.Plan) {
		return
	}
	for _, n := range s.def.Body.Nodes {
		if n.Kind != loop.KindWorker || s.states[n.Path] != nil {
			continue
		}
		since, due := lastEntry(s.run), true
		for _, need := range n.Needs {
			at := s.states[need.Node.Path]
			if due = due && at != nil && at.State == outerloop.StepSettled; !due {
				break
			}
			if at.Block != nil && at.Block.Until != nil && at.Block.Until.After(since) {
				since = *at.Block.Until
			}
			since = latest(since, lastChange(at))
		}
		switch {
		case !due:
		case s.now.Sub(since) < s.limit:
			s.next = earliest(s.next, since.Add(s.limit))
		default:
			s.step, s.since = &record.Step{Path: n.Path, Name: n.Path, Worker: n.Worker.Charter.Worker}, since
			return
		}
	}
}

func levelled(p *loop.Plan) bool {
	if p.Levelled {
		return true
	}
	for _, part := range slices.Concat(p.Sequence, p.Parallel) {
		if levelled(part) {
			return true
		}
	}
	return false
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (s *stall) isBlock(path string) bool {
	n, _, known := lookup(s.def, path)
	return known && (n.Kind == loop.KindEach || n.Kind == loop.KindBranches || n.Kind == loop.KindSwitch)
}

// declared tells whether a step waits for what its loop says, or is at work.
func (s *stall) declared(ctx context.Context, step *record.Step) (bool, error) {
	n, _, known := lookup(s.def, step.Path)
	switch {
	case step.Live(s.now), step.State == outerloop.StepParked, step.Child != "":
		return true, nil
	case known && n.Kind == loop.KindWait:
		return true, nil
	case step.Exception == "":
		return false, nil
	}
	exc, err := one(ctx, s.c, record.ExceptionKey(step.Exception), record.DecodeException)
	return exc != nil && !exc.Resolved(), err
}

// lastChange is when something was last decided about a step.
func lastChange(step *record.Step) time.Time {
	at := latest(step.Started, step.Ended)
	if n := len(step.Log); n > 0 && step.Log[n-1].At.After(at) {
		at = step.Log[n-1].At
	}
	return at
}

func (s *stall) tell(ctx context.Context) {
	a := Alert{To: told(s.def), Kind: KindStalled, Loop: s.run.Loop, Run: s.run.ID}
	switch {
	case s.step != nil:
		a.Step, a.Since, a.at = s.step.Name, s.since, spot{s.step.Path, s.step.Item}
		a.Text = fmt.Sprintf("%s has not changed since %s, for longer than %s: no attempt is alive and nothing is declared that it waits for; is its worker %s running?",
			s.step.Name, s.since.Format(time.RFC3339), s.limit, s.step.Worker)
		if s.more > 1 {
			a.Text += fmt.Sprintf(" (and %d other steps)", s.more-1)
		}
	case !s.waits && s.now.Sub(s.changed) >= s.limit:
		a.Since = s.changed
		a.Text = fmt.Sprintf("nothing of the run has changed since %s, for longer than %s: no step is under way and nothing is declared that it waits for",
			s.changed.Format(time.RFC3339), s.limit)
	default:
		return
	}
	a.ID = record.ShortID("stalled", s.run.ID, a.Step, store.TimeKey(a.Since))
	s.c.cfg.Notify(ctx, a)
}
