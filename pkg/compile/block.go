package compile

import (
	"fmt"
	"strconv"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// asked is what the block right after a step wants to know from its answer.
func (s *scope) asked(n *loop.Node) object {
	if n.Decides == nil {
		return nil
	}
	return s.question(n.Decides)
}

// question names a block and the shape of answer that its state reads.
func (s *scope) question(n *loop.Node) object {
	q := object{{"block", n.Path}}
	if n.Kind == loop.KindEach {
		if pages := s.pages(n); len(pages) > 0 {
			q.set("pages", pages)
		}
	}
	return q
}

// choice emits a switch: a Choice on the label that was decided. A switch that
// is not needed has no label and goes on.
func (s *scope) choice(n *loop.Node, next string) {
	end := next
	if end == "" {
		end = s.empty(n.Path)
	}
	starts := map[string]string{}
	for i, c := range n.Cases {
		label := strconv.Itoa(i + 1)
		starts[label] = end
		if c.Body != nil && c.Body.Plan != nil {
			s.plan(c.Body.Plan, next)
			starts[label] = s.first(c.Body.Plan)
		}
	}
	s.labels(n, starts, end)
}

// labels emits the Choice state of a switch or route.
func (s *scope) labels(n *loop.Node, starts map[string]string, end string) {
	rules := make([]object, 0, len(starts))
	for i := range len(starts) {
		label := strconv.Itoa(i + 1)
		rules = append(rules, object{
			{"Variable", "$.o.label"}, {"StringEquals", label}, {"Next", starts[label]},
		})
	}
	s.add(s.name(n.Path), object{
		{"Type", "Choice"},
		{"Comment", "The first row that fits, as the store recorded it"},
		{"Choices", rules},
		{"Default", end},
	})
}

// wait emits a wait for a time (decided before) or for an event.
func (s *scope) wait(n *loop.Node, next string) {
	name := s.name(n.Path)
	if n.Wait.Event == "" {
		state := object{{"Type", "Wait"}, {"Comment", "Until the time that the store recorded"}, {"TimestampPath", "$.o.until"}}
		flow(&state, next)
		s.add(name, state)
		return
	}
	state := s.coordinatorTask(call{
		op: "await", step: n.Path, next: s.asked(n), timeout: n.Wait.Within,
		comment: fmt.Sprintf("Wait at most %s for the event %s", n.Wait.Within, n.Wait.Event),
	}, next)
	state.set("Catch", []object{s.stopCatcher(), catcher(s.name(n.Path+".rule"), "States.ALL")})
	reorder(&state)
	s.add(name, state)
	s.rule(n, name, next)
}

// subLoop emits a run of another loop as a step. A further try drives the same
// run on, so that what it has done stays done.
func (s *scope) subLoop(n *loop.Node, next string) {
	name := s.name(n.Path)
	state := s.coordinatorTask(call{
		op: "start_child", step: n.Path, next: s.asked(n), timeout: s.ruleTimeout(),
		comment: fmt.Sprintf("Run the loop %s and wait for its output", n.Step.Loop),
	}, next)
	state.set("Retry", append(coordinatorRetriers(), declaredRetriers(n.Failure)...))
	list := []object{s.stopCatcher()}
	if n.Approval != nil {
		list = append(list, catcher(s.name(n.Path+".approval"), outerloop.ErrorNeedsApproval))
	}
	state.set("Catch", append(list, catcher(s.name(n.Path+".rule"), "States.ALL")))
	reorder(&state)
	s.add(name, state)
	s.beside(n, name, next)
}

// route emits a routing table: a Choice on the row, and one state for each row.
func (s *scope) route(n *loop.Node, next string) {
	end, after, again := next, next, s.rowAgain(n)
	if end == "" {
		end = s.empty(n.Path)
	}
	if n.Review != nil {
		after = s.name(n.Path + ".review")
	}
	starts := map[string]string{}
	for i := range n.Routes {
		label := strconv.Itoa(i + 1)
		starts[label] = s.name(n.Path + "." + label)
		s.row(n, &n.Routes[i], starts[label], after)
	}
	s.labels(n, starts, end)
	if n.Review != nil {
		s.review(n, again, next)
	}
	s.beside(n, again, next)
}

// rowAgain names the state that goes back to the row that was decided: after a
// rule or an approval the answer at hand has no label.
func (s *scope) rowAgain(n *loop.Node) string {
	name := s.name(n.Path + ".decide")
	if n.Decider != nil {
		s.add(name, s.coordinatorTask(call{
			op: "decide_block", step: n.Path, next: s.question(n),
			comment: fmt.Sprintf("Go back to the row of %s that was decided", n.Path),
		}, s.name(n.Path)))
	}
	return name
}

// row emits one row's state.
func (s *scope) row(n *loop.Node, row *loop.RouteRule, name, next string) {
	failed := s.name(n.Path + ".rule")
	if row.Ask != "" {
		state := s.coordinatorTask(call{
			op: "ask", step: n.Path, next: s.unless(n.Review != nil, s.asked(n)), timeout: s.ruleTimeout(),
			comment: fmt.Sprintf("%s gives the answer", row.Ask),
		}, next)
		state.set("Catch", []object{s.stopCatcher(), catcher(failed, "States.ALL")})
		reorder(&state)
		s.add(name, state)
		return
	}
	if row.Backup != nil {
		failed = name + ".backup"
		backup := s.workerTask(work{
			step: n.Path, worker: row.Backup, mode: row.Mode, failure: n.Failure,
			next: s.unless(n.Review != nil, s.asked(n)), comment: "Backup: " + commentOf(row.Backup),
		})
		backup.set("Catch", s.catchers(n, s.name(n.Path+".rule")))
		flow(&backup, next)
		s.add(failed, backup)
	}
	state := s.workerTask(work{
		step: n.Path, worker: row.Worker, mode: row.Mode, failure: n.Failure,
		next: s.unless(n.Review != nil, s.asked(n)), comment: commentOf(row.Worker),
	})
	state.set("Catch", s.catchers(n, failed))
	flow(&state, next)
	s.add(name, state)
}
