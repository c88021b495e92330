package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// transient tells whether whoever called would call again.
func transient(err error) bool {
	return errors.Is(err, errDied) || errors.Is(err, store.ErrThrottled) || errors.Is(err, store.ErrOutcomeUnknown) ||
		errors.Is(err, coordinator.ErrConflict) || strings.Contains(err.Error(), "the engine")
}

// people are the watch, those who decide, and what disturbs: each at times that
// the seed chooses.
func (s *Sim) people() {
	for range 8 {
		s.spawn(time.Duration(s.random.IntN(900))*time.Second, "watch", s.watch)
	}
	for _, hours := range []int{1, 2, 5, 9, 14, 20, 26} {
		s.spawn(time.Duration(hours)*time.Hour, "watch", s.watch)
	}
	soon := 300
	if s.Scenario == "deadline" { // so that something is asked when the run's time is over
		soon = 2500
	}
	for i := range 6 {
		name := []string{"ann", "bob"}[i%2]
		s.spawn(time.Duration(s.random.IntN(soon))*time.Second, name, func() { s.looks(name) })
	}
	for range 3 {
		s.spawn(time.Duration(s.random.IntN(3*3600))*time.Second, "ann", func() { s.answers("ann") })
	}
	if s.random.IntN(5) == 0 {
		s.spawn(time.Duration(s.random.IntN(200))*time.Second, "ann", s.cancels)
	}
	if often := slices.Contains(s.plan.aims, Aborted); often || s.random.IntN(3) == 0 {
		s.spawn(time.Duration(s.random.IntN(2*3600))*time.Second, "bob", s.redrives)
		for range 3 {
			s.spawn(time.Duration(20+s.random.IntN(600))*time.Second, "bob", s.redrives)
		}
	}
	if s.draw(NewProcess, 6) {
		s.after(time.Duration(s.random.IntN(200))*time.Second, func() {
			for _, p := range s.processes {
				p.boot()
			}
		})
	}
	if s.draw(Takeover, 8) {
		for range 1 + s.random.IntN(3) {
			s.after(time.Duration(s.random.IntN(60_000))*time.Millisecond, s.takeover)
		}
	}
}

func (s *Sim) watch() {
	tick, err := attempt(s, "watch", func(c *coordinator.Coordinator) (coordinator.Tick, error) { return c.Watch(s.ctx) })
	s.log("the watch has repaired %v, %v", tick.Repaired, err)
	if s.resting && err == nil {
		s.guard.seenTo()
	}
}

// looks decides what is open, one way or the other.
func (s *Sim) looks(who string) {
	list, err := persistently(s, "read", func(c *coordinator.Coordinator) ([]coordinator.ApprovalView, error) {
		return c.Approvals(s.ctx, coordinator.ApprovalsQuery{})
	})
	s.log("sees %d requests, %v", len(list), err)
	for _, ap := range list {
		if !s.resting && s.window("expiry and decision in one second") {
			if left := ap.ExpiresAt.Sub(s.now); left > 0 {
				s.wait(left - time.Duration(s.random.IntN(1000)-500)*time.Millisecond)
			}
		}
		if !s.resting && s.draw(SecondDecider, 3) {
			s.spawn(s.latency(), "eve", func() { s.decides("bob", ap) })
		}
		s.decides(who, ap)
	}
}

func (s *Sim) decides(who string, ap coordinator.ApprovalView) {
	req := coordinator.DecideRequest{Approval: ap.ID, Verdict: coordinator.Approve, By: who}
	switch {
	case strings.HasPrefix(ap.Ask, "Give the answer"):
		req.Edit = []byte(`{"text":"by hand"}`)
	case s.random.IntN(4) == 0 && !s.resting:
		req.Verdict = coordinator.Reject
	case s.random.IntN(3) == 0:
		req.Edit = edited(ap.Content)
	}
	if req.Edit != nil {
		s.saw("approval edited")
	}
	_, err := persistently(s, "decide", func(c *coordinator.Coordinator) (coordinator.ApprovalView, error) { return c.Decide(s.ctx, req) })
	s.log("%s %s %s %s: %v", who, req.Verdict, ap.Step, req.Edit, err)
	s.guard.decided(ap, err)
}

// edited is the content with another text; nil: it has none.
func edited(content json.RawMessage) json.RawMessage {
	var fields map[string]any
	if json.Unmarshal(content, &fields) != nil || fields["text"] == nil {
		return nil
	}
	fields["text"] = "edited"
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return raw
}

// answers resolves the exceptions that are open, by a way that each allows.
func (s *Sim) answers(who string) {
	list, err := persistently(s, "read", func(c *coordinator.Coordinator) ([]coordinator.ExceptionView, error) {
		return c.Exceptions(s.ctx, coordinator.ExceptionsQuery{})
	})
	s.log("sees %d exceptions, %v", len(list), err)
	for _, exc := range list {
		way := exc.Ways[s.random.IntN(len(exc.Ways))]
		if s.resting {
			way = s.restingWay(exc)
		}
		s.resolves(who, exc, way)
	}
}

func (s *Sim) restingWay(exc coordinator.ExceptionView) string {
	want := []string{coordinator.WayRetry, coordinator.WaySkip, coordinator.WayClose}
	if s.rounds > 8 {
		want = []string{coordinator.WaySkip, coordinator.WayRetry, coordinator.WayClose}
	}
	if strings.HasPrefix(exc.Cause, "its execution ended") {
		want = []string{coordinator.WayRetry} // that is nobody's decision: it must go on
	} else if s.rounds > 24 {
		want = []string{coordinator.WayClose}
	}
	for _, way := range want {
		if slices.Contains(exc.Ways, way) {
			return way
		}
	}
	return exc.Ways[0]
}

func (s *Sim) resolves(who string, exc coordinator.ExceptionView, way string) {
	req := coordinator.ResolveRequest{Exception: exc.ID, Way: way, By: who}
	switch way {
	case coordinator.WayEdit:
		req.Value = []byte(`{"text":"corrected"}`)
	case coordinator.WaySubstitute:
		req.Value = []byte(`{"text":"instead"}`)
	}
	if entry := s.guard.asked(exc.ID); entry != "" {
		req.Outcome = string(s.outside.became(entry))
	}
	_, err := persistently(s, "resolve", func(c *coordinator.Coordinator) (coordinator.ExceptionView, error) { return c.Resolve(s.ctx, req) })
	s.log("%s resolves %s of %s by %s %s: %v", who, exc.ID, exc.Step, way, req.Outcome, err)
	s.guard.resolved(exc, err)
}

func (s *Sim) cancels() {
	if len(s.started) == 0 {
		return
	}
	s.cancel(s.started[s.random.IntN(len(s.started))])
}

func (s *Sim) cancel(run string) {
	_, err := persistently(s, "cancel", func(c *coordinator.Coordinator) (coordinator.RunView, error) {
		return c.Cancel(s.ctx, coordinator.PersonRequest{Run: run, By: "ann"})
	})
	s.log("ann cancels %s: %v", run, err)
}

func (s *Sim) redrives() {
	for _, run := range slices.Clone(s.started) {
		if r := s.guard.runs[run]; r == nil || r.Status != outerloop.StatusBlocked && r.Status != outerloop.StatusFailed {
			continue
		}
		s.redrive(run)
	}
}

// blockAndRedrive ends the execution of a run by hand, and redrives the run as
// soon as the watch has seen it.
func (s *Sim) blockAndRedrive(d gate.Delivery) {
	if r := s.runs[fmt.Sprintf("%s-g%d", d.Run, d.Gen)]; r != nil && r.started && !r.over() {
		name, cause := "Aborted", "by hand"
		s.apply(r, asl.Event{Kind: asl.Stop, Error: &name, Cause: &cause})
	}
	s.wait(11 * time.Second)
	s.watch()
	s.redrive(d.Run)
}

func (s *Sim) redrive(run string) {
	_, err := persistently(s, "redrive", func(c *coordinator.Coordinator) (coordinator.RunView, error) {
		return c.Redrive(s.ctx, coordinator.PersonRequest{Run: run, By: "bob"})
	})
	s.log("bob redrives %s: %v", run, err)
}

// start is a trigger: it comes again until it is answered, or only once.
func (s *Sim) start(loop, input string) {
	again := persistently[coordinator.Started]
	if s.random.IntN(5) == 0 {
		again = attempt[coordinator.Started]
	}
	out, err := again(s, "start", func(c *coordinator.Coordinator) (coordinator.Started, error) {
		return c.Start(s.ctx, coordinator.StartRequest{Loop: loop, Input: json.RawMessage(input), Trigger: "manual", By: "ann"})
	})
	s.log("start of %s %s: %+v %v", loop, input, out, err)
	if out.Run != "" && !slices.Contains(s.started, out.Run) {
		s.started = append(s.started, out.Run)
	}
}

// publish tells an event until it is taken.
func (s *Sim) publish(id, data string) {
	_, err := persistently(s, "publish", func(c *coordinator.Coordinator) (coordinator.Published, error) {
		return c.Publish(s.ctx, coordinator.PublishRequest{Event: "session.closed", ID: id, Data: json.RawMessage(data)})
	})
	s.log("event %s %s: %v", id, data, err)
}

// takeover is the end of the engine's process, workers included: the next one
// knows that nothing of the old one can act any more, and says so.
func (s *Sim) takeover() {
	s.log("the engine dies and is taken over")
	var lost []*invocation
	for _, a := range slices.Clone(s.alive) {
		if a.ended || a.work == nil {
			continue
		}
		if a == a.work.actor && !slices.Contains(lost, a.work) {
			lost = append(lost, a.work)
		}
		s.kill(a)
	}
	for _, p := range s.processes {
		p.boot()
	}
	s.spawn(0, "takeover", func() {
		for _, v := range lost {
			_, err := persistently(s, "abandon", func(c *coordinator.Coordinator) (struct{}, error) {
				return struct{}{}, c.Abandon(s.ctx, v.delivery)
			})
			s.log("abandons %s: %v", v.m, err)
			s.after(time.Second, func() { s.deliver(v.m) })
		}
	})
}
