package loop

import (
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// StepKind is the form of a step.
type StepKind string

// The forms of steps.
const (
	KindWorker   StepKind = "worker"
	KindRoute    StepKind = "route"
	KindLoop     StepKind = "loop"
	KindEach     StepKind = "each"
	KindBranches StepKind = "branches"
	KindSwitch   StepKind = "switch"
	KindWait     StepKind = "wait"
	// KindGroup is a branch that consists of steps, KindCase a case of a
	// switch. They occur as nodes, not as declared steps.
	KindGroup StepKind = "group"
	KindCase  StepKind = "case"
)

// Step is a step as declared: exactly one of Worker, Route, Loop, Each,
// Branches, Switch, Wait is set, as Kind says.
type Step struct {
	Name   string
	Kind   StepKind
	Worker string
	Backup string
	Route  *Route
	// Loop names the sub-loop, Budget its share.
	Loop     string
	Budget   *Budget
	Each     *Each
	Branches *Branches
	Switch   []Case
	Wait     *Wait

	Input  source.Value
	When   source.Expr
	After  []string
	Reads  []FactRead
	Writes []FactWrite
	Emit   *Emission
	// Within bounds all attempts and waits together; 0: no bound of its own.
	Within   time.Duration
	Accept   []Acceptance
	Limits   []charter.Limit
	Review   *Review
	Approval *Approval
	// Action is the business action; Key and Resource are values.
	Action    string
	Key       source.Value
	Resource  source.Value
	OnFailure *FailureRule
	// Label is the step's name where it stands, Source its content.
	Label  *source.Node
	Source *source.Node
}

// Route gives the worker by a table: the first row that fits (R51).
type Route struct {
	Rows []Row
	// By gives the five fields' values: task, tool, risk, urgency, confidence.
	By []Field
}

// Row is one line of a routing table.
type Row struct {
	// Match lists the allowed values by field, in the order of the file; a row without any fits always.
	Match  []Match
	Worker string
	Backup string
	// Ask is the group whose person fills in the output; empty: Worker does.
	Ask    string
	Source *source.Node
}

// Match is one field of a row and the values it allows.
type Match struct {
	Field  string
	Values []string
}

// Field is a named rule.
type Field struct {
	Name string
	Expr source.Expr
}

// Each runs its steps for every item of a list.
type Each struct {
	List source.Expr
	As   string
	Key  source.Value
	// MaxItems bounds the list; more items fail the block before any starts.
	MaxItems int
	// AtOnce is 5 if not given.
	AtOnce int
	Steps  []*Step
	Output source.Value
	Join   Join
}

// Branches run side by side.
type Branches struct {
	Branches []Branch
	Join     Join
}

// Branch is one step, or several with an output.
type Branch struct {
	Name string
	// Step is set for a branch of one step.
	Step *Step
	// Steps and Output are set for a group.
	Steps  []*Step
	Output source.Value
	// Label is the branch's name where it stands, Source its content.
	Label  *source.Node
	Source *source.Node
}

// Join is what a block needs of its parts (R4).
type Join struct {
	Need Need
	// Otherwise is halt, ask or skip.
	Otherwise Ending
	// Enough completes the block with that many and cancels the rest; 0: never.
	Enough int
	Source *source.Node
}

// Need is how many parts must complete: All, else Count, else Percent.
type Need struct {
	All     bool
	Count   int
	Percent quantity.Percent
}

// Of is the number of parts that must complete of n.
func (need Need) Of(n int) int {
	switch {
	case need.All:
		return n
	case need.Percent > 0:
		return need.Percent.Of(n)
	}
	return need.Count
}

// Case is one way of a switch.
type Case struct {
	// When is unset for the last way, `otherwise`.
	When   source.Expr
	Steps  []*Step
	Output source.Value
	Source *source.Node

	otherwise bool
}

// Wait is a wait for a time, a duration, or an event; exactly one of Until, For, Event is set.
type Wait struct {
	Until source.Expr
	For   time.Duration
	Event string
	// Match is a rule over `event`; Within bounds the wait for an event.
	Match  source.Expr
	Within time.Duration
	Source *source.Node
}
