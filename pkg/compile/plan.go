package compile

import (
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// plan emits the states of a plan; the last of them goes on to next ("": the
// scope's end).
func (s *scope) plan(p *loop.Plan, next string) {
	switch {
	case p == nil:
	case p.Node != nil:
		s.node(p.Node, next)
	case len(p.Sequence) > 0:
		for i, part := range p.Sequence {
			following := next
			if i+1 < len(p.Sequence) {
				following = s.first(p.Sequence[i+1])
			}
			s.plan(part, following)
		}
	default:
		s.parallel(p, next)
	}
}

// first is the name of the state that a plan begins with.
func (s *scope) first(p *loop.Plan) string {
	switch {
	case p.Node != nil:
		return s.firstOf(p.Node)
	case len(p.Sequence) > 0:
		return s.first(p.Sequence[0])
	}
	return s.parallelName(p)
}

// firstOf is the name of the state that a node begins with: the coordinator's,
// where the block's question is not answered by the step before it.
func (s *scope) firstOf(n *loop.Node) string {
	if asks(n) && n.Decider == nil {
		return s.name(n.Path + ".decide")
	}
	return s.name(n.Path)
}

// asks tells whether a node's state reads an answer: a label, items or a time.
func asks(n *loop.Node) bool {
	switch n.Kind {
	case loop.KindEach, loop.KindSwitch, loop.KindRoute:
		return true
	case loop.KindWait:
		return n.Wait.Event == ""
	}
	return false
}

func (s *scope) node(n *loop.Node, next string) {
	if asks(n) && n.Decider == nil {
		s.add(s.firstOf(n), s.coordinatorTask(call{
			op: "decide_block", step: n.Path, next: s.question(n),
			comment: fmt.Sprintf("Decide %s from what stands in the store", n.Path),
		}, s.name(n.Path)))
	}
	after := next
	if asking(n.Join) {
		after = s.name(n.Path + ".join")
		defer s.join(n, next)
	}
	switch n.Kind {
	case loop.KindWorker:
		s.step(n, next)
	case loop.KindRoute:
		s.route(n, next)
	case loop.KindLoop:
		s.subLoop(n, next)
	case loop.KindEach:
		s.each(n, after)
	case loop.KindBranches:
		s.branches(n, after)
	case loop.KindSwitch:
		s.choice(n, next)
	case loop.KindWait:
		s.wait(n, next)
	case loop.KindGroup, loop.KindCase:
		s.plan(n.Body.Plan, next)
	}
}

// parallel emits what does not depend on each other side by side.
func (s *scope) parallel(p *loop.Plan, next string) {
	name := s.parallelName(p)
	branches := make([]object, len(p.Parallel))
	for i, part := range p.Parallel {
		inner := s.inner(fmt.Sprintf("%s.%d", name, i+1))
		inner.plan(part, "")
		branches[i] = inner.block(inner.first(part))
	}
	state := object{{"Type", "Parallel"}}
	if p.Levelled {
		state.set("Comment", "A level: these wait for each other, since the dependencies are not series-parallel")
	}
	state.set("Branches", branches)
	state.set("ResultPath", nil)
	flow(&state, next)
	s.add(name, state)
}

// parallelName names a Parallel after the steps it begins with.
func (s *scope) parallelName(p *loop.Plan) string {
	firsts := make([]string, len(p.Parallel))
	for i, part := range p.Parallel {
		firsts[i] = s.first(part)
	}
	return s.name("together: " + strings.Join(firsts, ", "))
}

// branches emits a declared block of branches.
func (s *scope) branches(n *loop.Node, next string) {
	name := s.name(n.Path)
	list := make([]object, len(n.Branches))
	for i, branch := range n.Branches {
		inner := s.inner(branch.Path)
		list[i] = inner.block(inner.branch(branch))
	}
	state := object{{"Type", "Parallel"}, {"Comment", joinComment(n.Join)}, {"Branches", list}, {"ResultPath", nil}}
	flow(&state, next)
	s.add(name, state)
}

// branch emits one branch and gives its first state.
func (s *scope) branch(n *loop.Node) string {
	if n.Kind != loop.KindGroup {
		s.node(n, "")
		return s.firstOf(n)
	}
	if n.Body.Plan == nil {
		return s.empty(n.Path)
	}
	s.plan(n.Body.Plan, "")
	return s.first(n.Body.Plan)
}

// asking tells whether a join may ask a person: it has a state of its own. Every
// other block's join is evaluated by who reads it first.
func asking(j *loop.Join) bool { return j != nil && j.Otherwise == loop.EndingAsk }

// join emits the state that evaluates a join which may ask a person; its answer
// leads on, or back to the block whose missing parts are to run again.
func (s *scope) join(n *loop.Node, next string) {
	back := s.name(n.Path)
	state := s.coordinatorTask(call{
		op: "join", step: n.Path, next: s.asked(n), timeout: s.ruleTimeout(), comment: joinComment(n.Join),
	}, next)
	if asks(n) {
		back = s.name(n.Path + ".decide")
	}
	state.set("Catch", []object{catcher(back, outerloop.ErrorAgain), s.stopCatcher()})
	reorder(&state)
	s.add(s.name(n.Path+".join"), state)
	if asks(n) && n.Decider != nil {
		s.add(back, s.coordinatorTask(call{
			op: "decide_block", step: n.Path, next: s.question(n),
			comment: fmt.Sprintf("Go back to what was decided for %s", n.Path),
		}, s.name(n.Path)))
	}
}

// empty is a state for a body without steps.
func (s *scope) empty(path string) string {
	name := s.name(path + ".nothing")
	state := object{{"Type", "Pass"}}
	flow(&state, "")
	s.add(name, state)
	return name
}

func joinComment(j *loop.Join) string {
	if j == nil {
		return "All parts"
	}
	switch {
	case j.Need.All:
		return fmt.Sprintf("Needs all parts, otherwise %s", j.Otherwise)
	case j.Need.Percent > 0:
		return fmt.Sprintf("Needs %s of the parts, otherwise %s", j.Need.Percent, j.Otherwise)
	}
	return fmt.Sprintf("Needs %d of the parts, otherwise %s", j.Need.Count, j.Otherwise)
}
