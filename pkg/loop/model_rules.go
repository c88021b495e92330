package loop

import (
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// FactRead is a fact that a step reads as facts.Name.
type FactRead struct {
	Name string
	// Fact is the fact's name, which may hold ${ CEL }.
	Fact source.Value
	// Fresh is the greatest age; 0: any.
	Fresh  time.Duration
	Source *source.Node
}

// FactWrite is a fact written with the step's completion.
type FactWrite struct {
	// Fact is the fact's name, which may hold ${ CEL }.
	Fact  source.Value
	Value source.Value
}

// Emission is an event sent with the step's completion (R11).
type Emission struct {
	Event string
	Data  source.Value
	// Source is the whole entry.
	Source *source.Node
}

// Acceptance is a rule that completed work must satisfy (R48).
type Acceptance struct {
	Rule source.Expr
	Say  source.Value
}

// Review is the check of the work by another worker (R7, R47).
type Review struct {
	Worker string
	Input  source.Value
	// Pass is a rule over `verdict`, the reviewer's output.
	Pass source.Expr
	// Revisions is 2 if not given.
	Revisions int
	Otherwise charter.Otherwise
	Source    *source.Node
}

// Approval is a request to people (R46). Zero fields were left out.
type Approval struct {
	When      source.Expr
	Ask       source.Value
	Approvers []string
	Within    time.Duration
	// Expired is skip, halt or proceed; Rejected skip, halt or revise.
	Expired  Ending
	Rejected Ending
	// People is how many must approve: 1 if not given.
	People int
	// Never names people, as values, who may not approve.
	Never []source.Value
	// Remind is how often the approvers are reminded; 0: never.
	Remind   time.Duration
	Escalate []Stage
	Source   *source.Node
}

// Stage is one stage of an approval's escalation.
type Stage struct {
	After  time.Duration
	To     []string
	Source *source.Node
}

// Ending is what a rule does when work does not come.
type Ending string

// The endings. Not every rule allows each.
const (
	EndingSkip       Ending = "skip"
	EndingHalt       Ending = "halt"
	EndingAsk        Ending = "ask"
	EndingSubstitute Ending = "substitute"
	EndingProceed    Ending = "proceed"
	EndingRevise     Ending = "revise"
)

// FailureRule is what happens when a step fails (R28). Zero fields were left out.
type FailureRule struct {
	// Retry holds the rules by class in the order of the file; nil: not given.
	Retry []Retry
	// Then is skip, halt, ask or substitute.
	Then       Ending
	Substitute source.Value
	Say        source.Value
	Source     *source.Node

	then thenRule
}

// Retry is how often and how a class of failures is tried again (R29).
type Retry struct {
	// Class may be outerloop.ClassAny.
	Class outerloop.Class
	// Times is the number of further tries.
	Times int
	// Wait, Factor and AtMost are 2s, 2 and 60s if not given.
	Wait   time.Duration
	Factor float64
	AtMost time.Duration
	// Input replaces fields of the step's input in further tries.
	Input  []NamedValue
	Source *source.Node
}

// NamedValue is a field and its value.
type NamedValue struct {
	Name  string
	Value source.Value
}
