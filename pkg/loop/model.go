package loop

import (
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// Loop is a loop as declared. Defaults of the language are filled in where a
// field's comment says so; `defaults` of the file are not: the checked nodes of
// a Definition have them.
type Loop struct {
	Name      string
	Version   int
	Owner     string
	Objective string
	// Zone is empty where the project's holds.
	Zone string
	// Subject is the business key: one subject, one run.
	Subject  source.Value
	Triggers []Trigger
	// Overlap is filled in: skip with schedules only, else allow.
	Overlap Overlap
	// AtOnce bounds open runs; 0: no bound.
	AtOnce   int
	Input    source.Schema
	Budget   Budget
	Defaults Defaults
	Steps    []*Step
	Output   source.Value
	Accept   []Acceptance
	Alert    Alert
	Baseline *Baseline
	Score    *Score
	Source   *source.Node
}

// Overlap is what a start does while another run of the loop is open (R63).
type Overlap string

// The overlap policies.
const (
	OverlapSkip    Overlap = "skip"
	OverlapQueue   Overlap = "queue"
	OverlapReplace Overlap = "replace"
	OverlapAllow   Overlap = "allow"
)

// TriggerKind is what starts runs.
type TriggerKind string

// The kinds of triggers; starting by hand and as a sub-loop is always possible.
const (
	TriggerSchedule TriggerKind = "schedule"
	TriggerWebhook  TriggerKind = "webhook"
	TriggerEvent    TriggerKind = "event"
	TriggerAfter    TriggerKind = "after"
	TriggerMonitor  TriggerKind = "monitor"
)

// Trigger is one way to start runs.
type Trigger struct {
	Kind TriggerKind
	// Name is the cron, rate or at expression, the webhook, the event or the loop that is followed.
	Name string
	// CatchUp is how many missed fires are made up for: the newest ones.
	CatchUp schedule.CatchUp
	// Monitor is set for kind monitor.
	Monitor *Monitor
	When    source.Expr
	Input   source.Value
	// AsOf gives the source time; unset: the fire's nominal time, or the arrival.
	AsOf    source.Expr
	Because string
	Source  *source.Node
}

// Monitor starts runs while a probe's condition holds (R6).
type Monitor struct {
	Every time.Duration
	// Probe is a worker whose output is `output` in the trigger's rules.
	Probe string
	// Each is a list over the probe's output; unset: the condition is the trigger's `when`.
	Each source.Expr
	// As names an item; Key tells one condition from another.
	As       string
	Key      source.Value
	CoolDown time.Duration
	Source   *source.Node
}

// Budget bounds a run (R49).
type Budget struct {
	Cost     quantity.Money
	Deadline Deadline
	// Reviews and Approvals bound rounds by workers and requests to people; nil: no bound.
	Reviews   *int
	Approvals *int
	// PerDay bounds all runs of a day; the zero value: no bound.
	PerDay    quantity.Money
	Otherwise Exhausted
	Source    *source.Node
}

// Exhausted is what happens before the call that would break a budget.
type Exhausted string

// What happens at the end of a budget.
const (
	ExhaustedHalt Exhausted = "halt"
	ExhaustedAsk  Exhausted = "ask"
)

// Deadline is when a run must be done; exactly one field is set.
type Deadline struct {
	// Moment is a duration from the run's start, or the next such time in the loop's zone.
	Moment *schedule.Moment
	// At is a time computed from the input.
	At source.Value
}

// Set tells whether a deadline was given.
func (d Deadline) Set() bool { return d.Moment != nil || d.At.Set() }

// Defaults complete the steps' rules key by key, one level deep.
type Defaults struct {
	OnFailure *FailureRule
	Approval  *Approval
}

// Alert is when the owner is told (R57).
type Alert struct {
	// To is a group; the loop's owner if not given.
	To string
	// Stalled is 30m, Retries 2, Cost 3 (times the usual) if not given.
	Stalled time.Duration
	Retries int
	Cost    float64
}

// Baseline is the same work by hand (R55).
type Baseline struct {
	// Minutes is the work, Cleanup the repair of a failure; Failures is the share of runs that fail.
	Minutes  float64
	Failures quantity.Percent
	Cleanup  float64
}

// Score holds the five factors that say whether several workers are worth it (R14), each 0 to 2.
type Score struct {
	Variability, Specialisation, Risk, Volume, ErrorCost int
}

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
