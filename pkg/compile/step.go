package compile

import (
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// step emits a worker's step: its state and those that its rules need.
//
//	X            the worker; errors lead to the backup, the approval or the rule
//	X.review     the reviewer; Outerloop.Revise leads back to X
//	X.backup     the backup worker
//	X.approval   waits for people; leads back to the state that asked
//	X.rule       what happens when nothing came: skip, substitute, ask, halt
func (s *scope) step(n *loop.Node, next string) {
	name := s.name(n.Path)
	after := next
	if n.Review != nil {
		after = s.name(n.Path + ".review")
	}
	question := s.asked(n)
	main := s.workerTask(work{
		step: n.Path, worker: n.Worker, mode: n.Mode, failure: n.Failure,
		next: s.unless(n.Review != nil, question), comment: commentOf(n.Worker),
	})
	failed := s.name(n.Path + ".rule")
	if n.Backup != nil {
		failed = s.name(n.Path + ".backup")
	}
	main.set("Catch", s.catchers(n, failed))
	flow(&main, after)
	s.add(name, main)

	if n.Backup != nil {
		s.backup(n, n.Backup, after)
	}
	if n.Review != nil {
		s.review(n, name, next)
	}
	s.beside(n, name, next)
}

// beside emits the approval and the failure rule of a step.
func (s *scope) beside(n *loop.Node, name, next string) {
	if asksItself(n) {
		s.approval(n, n.Path, name)
	}
	if n.Approval != nil && n.Review != nil {
		s.approval(n, n.Path+".review", s.name(n.Path+".review"))
	}
	s.rule(n, name, next)
}

// unless is the question, where the state that carries it is the last of its step.
func (s *scope) unless(later bool, question object) object {
	if later {
		return nil
	}
	return question
}

// asksItself tells whether the step's own state can need an approval: an action
// before its work, other work after it, unless a review ends the work.
func asksItself(n *loop.Node) bool {
	return n.Approval != nil && (n.Review == nil || n.Action != nil)
}

// catchers are the ways out of a step's state.
func (s *scope) catchers(n *loop.Node, failed string) []object {
	list := []object{s.stopCatcher()}
	if asksItself(n) {
		list = append(list, catcher(s.name(n.Path+".approval"), outerloop.ErrorNeedsApproval))
	}
	return append(list, catcher(failed, "States.ALL"))
}

func (s *scope) backup(n *loop.Node, worker *loop.Worker, next string) {
	state := s.workerTask(work{
		step: n.Path, worker: worker, mode: n.Mode, failure: n.Failure,
		next: s.unless(n.Review != nil, s.asked(n)), comment: "Backup: " + commentOf(worker),
	})
	state.set("Catch", s.catchers(n, s.name(n.Path+".rule")))
	flow(&state, next)
	s.add(s.name(n.Path+".backup"), state)
}

// review checks the work; back is where the author begins anew.
func (s *scope) review(n *loop.Node, back, next string) {
	step := n.Path + ".review"
	state := s.workerTask(work{
		step: step, worker: n.Review.Worker, mode: n.Review.Mode, failure: n.Failure,
		next: s.asked(n), comment: "Review: " + commentOf(n.Review.Worker),
	})
	list := []object{s.stopCatcher(), catcher(back, outerloop.ErrorRevise)}
	if n.Approval != nil {
		list = append(list, catcher(s.name(step+".approval"), outerloop.ErrorNeedsApproval))
	}
	state.set("Catch", append(list, catcher(s.name(n.Path+".rule"), "States.ALL")))
	flow(&state, next)
	s.add(s.name(step), state)
}

// approval waits for people and goes back to the state that asked: it settles
// what was approved, or the failure rule decides.
func (s *scope) approval(n *loop.Node, step, back string) {
	state := s.coordinatorTask(call{
		op: "register", step: step, timeout: n.Approval.Within,
		comment: fmt.Sprintf("Wait at most %s for %s to decide", n.Approval.Within, people(n.Approval)),
	}, back)
	state.set("Catch", []object{
		s.stopCatcher(),
		catcher(s.name(n.Path+".rule"), "States.ALL"),
	})
	reorder(&state)
	s.add(s.name(step+".approval"), state)
}

func people(a *loop.ApprovalRule) string {
	switch len(a.Approvers) {
	case 0:
		return "a person"
	case 1:
		return a.Approvers[0]
	}
	return fmt.Sprintf("%s and %d more", a.Approvers[0], len(a.Approvers)-1)
}

// rule is the step's declared failure rule. It waits for its token, so that a
// person may be asked.
func (s *scope) rule(n *loop.Node, back, next string) {
	state := s.coordinatorTask(call{
		op: "rule", step: n.Path, next: s.asked(n), failed: true, timeout: s.ruleTimeout(),
		comment: ruleComment(n),
	}, next)
	state.set("Catch", []object{catcher(back, outerloop.ErrorAgain), s.stopCatcher()})
	reorder(&state)
	s.add(s.name(n.Path+".rule"), state)
}

func ruleComment(n *loop.Node) string {
	if n.Failure == nil {
		return "No result: the failure rule decides"
	}
	return fmt.Sprintf("No result: %s", n.Failure.Then)
}

// ruleTimeout is how long a question to a person may stay open: as long as the run may live.
func (s *scope) ruleTimeout() time.Duration {
	if moment := s.def.Loop.Budget.Deadline.Moment; moment != nil {
		if after, ok := moment.After(); ok && after+time.Hour < longest {
			return after + time.Hour
		}
	}
	return longest
}

// reorder moves the way on behind Catch, where people expect it.
func reorder(state *object) {
	var kept, ways object
	for _, m := range *state {
		switch m.name {
		case "Next", "End", "OutputPath":
			ways = append(ways, m)
		default:
			kept = append(kept, m)
		}
	}
	*state = append(kept, ways...)
}
