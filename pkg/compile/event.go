package compile

import (
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/problem"
)

// Events of the states in an execution's history, as Step Functions counts
// them against 25,000.
const (
	stateEvents   = 2 // entered, exited
	attemptEvents = 4 // scheduled, started, submitted, succeeded or failed
	mapEvents     = 2 // started, succeeded
)

// EventsError says that one execution of a loop's machine could have more
// history events than Step Functions allows.
type EventsError struct {
	Loop   string
	Events int
}

// Error says how many, how many are allowed, and what makes them fewer.
func (e *EventsError) Error() string {
	return fmt.Sprintf("One execution of %s could have %d events when every retry, revision, backup and approval is used up; Step Functions ends it at %d. Allow fewer retries, or move steps into a sub-loop.",
		e.Loop, e.Events, asl.MaxEvents)
}

// Problems are what makes a checked loop too large for one machine: more events
// in one execution than Step Functions allows, whatever happens in it.
func Problems(def *loop.Definition) problem.Problems {
	c := &compiler{def: def, names: map[string]string{}}
	err := c.fits()
	if err == nil {
		return nil
	}
	return problem.Problems{def.Loop.Source.Get("steps").Problem("E262", err.Error())}
}

// fits answers an *EventsError for too many events.
func (c *compiler) fits() error {
	if most := c.events(); most > asl.MaxEvents {
		return &EventsError{Loop: c.def.Loop.Name, Events: most}
	}
	return nil
}

// events bounds the history events of one execution of the whole machine.
func (c *compiler) events() int {
	const ends = 2 // started, succeeded
	return ends + c.bodyEvents(c.def.Body) + stateEvents + attemptEvents*(backstop+1)
}

// bodyEvents bounds the history events of one pass through a body when every
// declared retry, revision, backup and approval is used up.
func (c *compiler) bodyEvents(b *loop.Body) int {
	if b == nil {
		return 0
	}
	n := 0
	for _, node := range b.Nodes {
		n += c.nodeEvents(node)
	}
	return n
}

func (c *compiler) nodeEvents(n *loop.Node) int {
	events := 0
	if asks(n) && n.Decider == nil {
		events += stateEvents + attemptEvents
	}
	if asking(n.Join) {
		events += 2 * (stateEvents + attemptEvents)
	}
	switch n.Kind {
	case loop.KindWorker, loop.KindRoute, loop.KindLoop:
		return events + stepEvents(n)
	case loop.KindEach:
		return events + c.eachEvents(n)
	case loop.KindBranches:
		events += stateEvents + mapEvents
		for _, branch := range n.Branches {
			events += c.nodeEvents(branch)
		}
		return events
	case loop.KindSwitch:
		most := 0
		for _, way := range n.Cases {
			most = max(most, c.bodyEvents(way.Body))
		}
		return events + stateEvents + most
	case loop.KindWait:
		return events + 2*stateEvents + 2*attemptEvents
	}
	return events + c.bodyEvents(n.Body)
}

func stepEvents(n *loop.Node) int {
	pass := stateEvents + attemptEvents*(tries(n.Failure)+backstop)
	events := pass
	if n.Backup != nil || n.Kind == loop.KindRoute {
		events += pass
	}
	if n.Review != nil {
		events = (events + pass) * (n.Review.Revisions + 1)
	}
	if n.Approval != nil {
		events += 2 * (stateEvents + attemptEvents)
	}
	return events + stateEvents + attemptEvents + turnEvents(n)
}

// askAgain is about how long a state waits before it asks for its turn again.
const askAgain = 30 * time.Second

// turnEvents bounds what a directly called step of an item asks in vain while
// at_once others of its page have their turns. In queue mode messages wait.
func turnEvents(n *loop.Node) int {
	block := n.Parent
	for block != nil && block.Kind != loop.KindEach {
		block = block.Parent
	}
	if block == nil || block.Each.MaxItems <= block.Each.AtOnce {
		return 0
	}
	longest := time.Duration(0)
	for _, row := range append([]loop.RouteRule{{Worker: n.Worker, Mode: n.Mode}}, n.Routes...) {
		if row.Worker != nil && !queued(row.Mode) {
			longest = max(longest, row.Worker.Charter.Dispatch.Timeout)
		}
	}
	under := min(inlineItems, block.Each.MaxItems)
	if steady(block) {
		under = pagesAtOnce(block) * max(chaptersAtOnce(block), 1) * inlineItems
		if few := itemsAtOnce(block); few > 0 {
			under = few
		}
	}
	turns := (under - 1) / max(block.Each.AtOnce, 1)
	return attemptEvents * turns * int((longest+askAgain-1)/askAgain)
}

func (c *compiler) eachEvents(n *loop.Node) int {
	if len(c.pages(n)) > 0 {
		return stateEvents + mapEvents + 2
	}
	return stateEvents + mapEvents + n.Each.MaxItems*(c.bodyEvents(n.Body)+2)
}
