package loop

import (
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// Uses tells what a rule or value reads, so that only that is loaded and bound.
// An output is bound under its node's Name, a record under about.NAME.
type Uses struct {
	Outputs []*Node
	About   []*Node
	// Items are the `each` blocks whose current item is read, bound under Step.Each.As.
	Items []*Node
	// Facts are names of the step's Reads, bound under facts.NAME.
	Facts []string
	// Input is the loop's input; Work is the worker's own (both are bound as
	// `input`: a charter's rules see the worker's, a loop's the loop's).
	Input, Work bool
	// Run, Event, Output, Confidence, Evidence, Unresolved and Verdict are the names of the language.
	Run, Event, Output, Confidence, Evidence, Unresolved, Verdict bool
}

// Rule is a compiled rule; Source() is its text, for the decision log.
type Rule struct {
	*rule.Program
	Uses Uses
}

// Tree is a compiled value: data with computed parts.
type Tree struct {
	*rule.Value
	Uses Uses
}

// Phrase is a compiled text: its value is always text.
type Phrase struct {
	*rule.Text
	Uses Uses
}

// NamedRule is a rule under a name.
type NamedRule struct {
	Name string
	Rule *Rule
}

// LimitRule is a hard limit (R44).
type LimitRule struct {
	Rule *Rule
	// Before: checked before the work (it does not read the output), else after it.
	Before    bool
	Otherwise charter.Otherwise
	Say       *Phrase
	// FromCharter: the charter's; its `input` is the worker's.
	FromCharter bool
}

// EscalationRule sends work to a group.
type EscalationRule struct {
	Rule *Rule
	To   string
	Say  *Phrase
}

// AcceptRule is a condition of completed work.
type AcceptRule struct {
	Rule *Rule
	Say  *Phrase
}

// ReviewRule is the check by another worker. The reviewer's own step record is Path + ".review".
type ReviewRule struct {
	Worker    *Worker
	Mode      charter.Mode
	Input     *Tree
	Pass      *Rule
	Revisions int
	Otherwise charter.Otherwise
}

// ApprovalRule is how people are asked, defaults applied.
type ApprovalRule struct {
	// Declared: the step has its own `approval`, which asks when When holds
	// (nil: always). Else only limits, a review, a stage or low confidence ask.
	Declared bool
	When     *Rule
	// Ask is nil where it was left out: the limit's `say` or the verdict is asked.
	Ask       *Phrase
	Approvers []string
	Within    time.Duration
	Expired   Ending
	Rejected  Ending
	People    int
	Never     []*Phrase
	Remind    time.Duration
	Escalate  []Stage
}

// ActionRule is a business action of a step, or an action of a charter.
type ActionRule struct {
	// Declared is the charter's entry.
	Declared charter.Action
	// Key and Resource are the step's, else the charter's (then Uses.Work tells).
	// A nil Key stands for subject and item key joined by "/"; a nil Resource for no lease.
	Key      *Phrase
	Resource *Phrase
	// QuotaBy is the value that Declared.AtMost counts by, over the worker's input; nil: the key.
	QuotaBy *Phrase
	// Stage is where the action's autonomy starts.
	Stage charter.Stage
}

// FactReadRule is a fact that is bound to facts.NAME.
type FactReadRule struct {
	Name  string
	Fact  *Phrase
	Fresh time.Duration
	// Schema is nil where the project declares none.
	Schema *schema.Schema
}

// FactWriteRule is a fact written with completion.
type FactWriteRule struct {
	Fact   *Phrase
	Value  *Tree
	Schema *schema.Schema
}

// EmitRule is an event sent with completion.
type EmitRule struct {
	Event  string
	Data   *Tree
	Schema *schema.Schema
}

// FailureRules is the effective failure rule of a step.
type FailureRules struct {
	// Retry is by class, in the order of the file; the class `any` stands for all others.
	Retry      []RetryRule
	Then       Ending
	Substitute *Tree
	Say        *Phrase
}

// RetryRule is one class's retries.
type RetryRule struct {
	Retry
	// Fields replace fields of the input in further tries, by name.
	Fields []NamedTree
}

// NamedTree is a value under a name.
type NamedTree struct {
	Name string
	Tree *Tree
}

// EachRule is what an `each` computes.
type EachRule struct {
	List     *Rule
	As       string
	Key      *Phrase
	MaxItems int
	AtOnce   int
}

// RouteRule is a row of a routing table. The limits of its worker's charter
// (Worker.Limits) hold beside those of the step.
type RouteRule struct {
	Match  []Match
	Worker *Worker
	Backup *Worker
	Mode   charter.Mode
	// Ask is the group of people who fill in the output; empty: Worker does.
	Ask string
}

// WaitRule is a wait; exactly one of Until, For, Event is set.
type WaitRule struct {
	Until  *Rule
	For    time.Duration
	Event  string
	Match  *Rule
	Within time.Duration
}

// TriggerRule is a trigger with its rules.
type TriggerRule struct {
	Trigger
	When  *Rule
	Input *Tree
	AsOf  *Rule
	// Schedule is set for kind schedule.
	Schedule *schedule.Schedule
	// Probe, Each and Key belong to a monitor.
	Probe *Worker
	Each  *Rule
	Key   *Phrase
}
