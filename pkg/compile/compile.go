package compile

import (
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/internal/together"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/revision"
)

// finishState is the last state of every machine.
const finishState = "finish"

// Compile gives the machine of a checked loop. It fails only for a loop that
// is too large for one machine (item bounds, event budget); everything else
// has been checked with the loop.
func Compile(def *loop.Definition) ([]byte, error) {
	c := &compiler{def: def, names: map[string]string{}}
	if err := c.fits(); err != nil {
		return nil, fmt.Errorf("compiling %s: %w", def.Loop.Name, err)
	}
	states := &scope{compiler: c}
	states.plan(def.Body.Plan, finishState)
	states.add(finishState, c.coordinatorTask(call{op: "finish", comment: "All steps are settled: check what the loop promises and close the run"}, ""))
	if c.err != nil {
		return nil, fmt.Errorf("compiling %s: %w", def.Loop.Name, c.err)
	}
	start := finishState
	if def.Body.Plan != nil {
		start = states.first(def.Body.Plan)
	}
	comment := fmt.Sprintf("%s, version %d: %s %s", def.Loop.Name, def.Loop.Version, def.Loop.Objective, revision.Comment(revision.Stamps(def)))
	return text(append(object{{"Comment", comment}}, states.block(start)...))
}

// All gives the machines of many loops, in their order, on all processors.
// Errors are those of Compile, of all loops that fail.
func All(defs []*loop.Definition) ([][]byte, error) {
	machines, errs := make([][]byte, len(defs)), make([]error, len(defs))
	together.Do(len(defs), func(i int) { machines[i], errs[i] = Compile(defs[i]) })
	return machines, errors.Join(errs...)
}

// compiler holds what one compilation shares.
type compiler struct {
	def *loop.Definition
	// names maps long state names to their short forms and back, so that they stay unique.
	names map[string]string
	err   error
}

func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// scope collects the states of one States block: the machine, a branch or an iteration.
type scope struct {
	*compiler
	// prefix names the scope's own states ("follow_up."); empty for the machine.
	prefix string
	states object
	// stops: the scope has its Fail state.
	stops bool
}

func (s *scope) add(name string, state object) { s.states.set(name, state) }

// inner opens a scope for the content of a state.
func (s *scope) inner(name string) *scope {
	return &scope{compiler: s.compiler, prefix: name + "."}
}

// stopped names the scope's Fail state, for runs that are halted, cancelled or closed.
func (s *scope) stopped() string {
	s.stops = true
	return s.name(s.prefix + "stopped")
}

// block is the StartAt and States of a scope; its Fail state stands last.
func (s *scope) block(start string) object {
	if s.stops {
		s.add(s.stopped(), object{
			{"Type", "Fail"},
			{"Comment", "The run is blocked, cancelled or closed; the store has the reason"},
			{"ErrorPath", "$.o.Error"},
			{"CausePath", "$.o.Cause"},
		})
	}
	return object{{"StartAt", start}, {"States", s.states}}
}

// flow ends a state: on to next, or out of the scope with an empty answer.
func flow(state *object, next string) {
	if next != "" {
		state.set("Next", next)
		return
	}
	state.set("OutputPath", nil)
	state.set("End", true)
}
