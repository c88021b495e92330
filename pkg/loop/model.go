package loop

import (
	"time"

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
	// Keep is how long its closed runs are kept; 0: as the project says.
	Keep   time.Duration
	Source *source.Node
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
