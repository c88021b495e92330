package coordinator

import (
	"encoding/json"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// RunView is a run as people and scripts see it. Times are UTC; what has not
// happened yet is null.
type RunView struct {
	ID         string           `json:"id"`
	Loop       string           `json:"loop"`
	Version    int              `json:"version"`
	Status     outerloop.Status `json:"status"`
	Subject    string           `json:"subject"`
	Reason     string           `json:"reason,omitempty"`
	Definition string           `json:"definition"`
	StartedAt  *time.Time       `json:"started_at"`
	EndedAt    *time.Time       `json:"ended_at"`
	Deadline   *time.Time       `json:"deadline,omitempty"`
	// Counts are steps by outcome; steps under way count by state.
	Counts map[string]int `json:"counts"`
	// Output is the run's declared output, once it has completed.
	Output json.RawMessage `json:"output,omitempty"`
	// Waiting lists what stands still for a person.
	Waiting []WaitView `json:"waiting"`
	// Spent and Left are money in the budget's currency; what attempts under
	// way have reserved is in neither.
	Spent float64 `json:"spent,omitempty"`
	Left  float64 `json:"left,omitempty"`
	// Parent is the run whose step this one does; empty: it is nobody's sub-loop.
	Parent string `json:"parent,omitempty"`
}

// ShowView is a run with its steps.
type ShowView struct {
	RunView
	Steps []StepView `json:"steps"`
	// Models are the agents that worked in it, with the versions that it used.
	Models []ModelView `json:"models,omitempty"`
}

// StepView is one step of a run. Steps inside `each` have one entry per item,
// named by the item's key: "follow_up[D-1042]/send".
type StepView struct {
	Path      string              `json:"path"`
	Worker    string              `json:"worker"`
	Status    outerloop.StepState `json:"status"`
	Attempts  int                 `json:"attempts"`
	StartedAt *time.Time          `json:"started_at"`
	EndedAt   *time.Time          `json:"ended_at"`
	Outcome   outerloop.Outcome   `json:"outcome"`
	Reason    string              `json:"reason"`
	// Cost is what its attempts cost so far, in the budget's currency; of a
	// sub-loop its run's. Tokens are all attempts' together.
	Cost   float64     `json:"cost,omitempty"`
	Tokens gate.Tokens `json:"tokens,omitzero"`
	// Unresolved are the questions that its work left to the step's owner.
	Unresolved []string `json:"unresolved,omitempty"`
}

// WaitView is one thing that waits for a person: an approval or a question.
type WaitView struct {
	// Kind is "approval" or "exception".
	Kind      string     `json:"kind"`
	ID        string     `json:"id"`
	Step      string     `json:"step"`
	Since     time.Time  `json:"since"`
	ExpiresAt *time.Time `json:"expires_at"`
}

// ApprovalView is one request for approval.
type ApprovalView struct {
	ID        string    `json:"id"`
	Run       string    `json:"run"`
	Step      string    `json:"step"`
	Ask       string    `json:"ask"`
	Reasons   []string  `json:"reasons"`
	Since     time.Time `json:"since"`
	ExpiresAt time.Time `json:"expires_at"`
	Approvers []string  `json:"approvers"`
	// Content is what will be sent or used: an action's input, else the step's output.
	Content  json.RawMessage `json:"content"`
	Decision string          `json:"decision,omitempty"`
	By       string          `json:"by,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	At       *time.Time      `json:"at,omitempty"`
}

// ExceptionView is the record of R39, to be understood in 30 seconds.
type ExceptionView struct {
	ID     string `json:"id"`
	Run    string `json:"run"`
	Loop   string `json:"loop"`
	Step   string `json:"step"`
	Cause  string `json:"cause"`
	Class  string `json:"class,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Tried says what was done before a person was asked.
	Tried string `json:"tried"`
	// State says how things stand now; Needed the decision asked for.
	State  string `json:"state"`
	Needed string `json:"needed"`
	// Ways are the resolutions that are possible.
	Ways       []string   `json:"ways"`
	Owner      string     `json:"owner"`
	Since      time.Time  `json:"since"`
	Status     string     `json:"status"`
	Resolution string     `json:"resolution,omitempty"`
	By         string     `json:"by,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	At         *time.Time `json:"at,omitempty"`
	// Entry is the action asked about, where its outcome is unknown.
	Entry string `json:"entry,omitempty"`
	// Queue and Body are those of a message that nobody can read, which belongs to
	// no run: at most LetterKept bytes, without its task token.
	Queue string `json:"queue,omitempty"`
	Body  string `json:"body,omitempty"`
}

// ActionView is one entry of the action log (R37).
type ActionView struct {
	ID          string          `json:"id"`
	Loop        string          `json:"loop"`
	Run         string          `json:"run"`
	Step        string          `json:"step"`
	Worker      string          `json:"worker"`
	State       string          `json:"state"`
	ProviderKey string          `json:"provider_key"`
	PayloadHash string          `json:"payload_hash"`
	Result      json.RawMessage `json:"result,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	BegunAt     time.Time       `json:"begun_at"`
	EndedAt     *time.Time      `json:"ended_at"`
	Calls       int64           `json:"calls"`
}

// LogView is one decision of the coordinator (R53).
type LogView struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Run    string    `json:"run"`
	Step   string    `json:"step"`
	Worker string    `json:"worker,omitempty"`
	// Kind is what was decided: started, admitted, settled, parked, …
	Kind string `json:"kind"`
	// Rule is the rule that decided, with what it said.
	Rule    string `json:"rule,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Input   string `json:"input,omitempty"`
	Output  string `json:"output,omitempty"`
	Ms      int64  `json:"ms,omitempty"`
	By      string `json:"by,omitempty"`
	// Decisions are what the worker says it decided, of the work that settled the step.
	Decisions []string `json:"decisions,omitempty"`
}

// RunsQuery selects runs, newest first.
type RunsQuery struct {
	// Loop is one loop's name; empty: all loops.
	Loop string
	// Open leaves out closed runs.
	Open bool
	// Limit is at most 1,000; 0: 50.
	Limit int
	// After is the Next of the page before; empty: the first page.
	After string
}

// ApprovalsQuery selects undecided approvals, oldest first.
type ApprovalsQuery struct {
	// Run is one run's id; empty: of all runs.
	Run string
	// Limit is a page's, at most 1,000; 0: all in a list, 100 in a page.
	Limit int
	// After is the Next of the page before; empty: the first page.
	After string
}

// ExceptionsQuery selects open exceptions, oldest first.
type ExceptionsQuery struct {
	// Run is one run's id; empty: of all runs.
	Run string
	// Limit is a page's, at most 1,000; 0: all in a list, 100 in a page.
	Limit int
	// After is the Next of the page before; empty: the first page.
	After string
}

// ActionsQuery selects entries of the action log.
type ActionsQuery struct {
	// Loop is one loop's name; empty: all loops.
	Loop string
	// Key is what the entries begin with; empty: all.
	Key string
	// Limit is at most 1,000; 0: 1,000.
	Limit int
	// After is the Next of the page before; empty: the first page.
	After string
}

// Tick says what one round of the watch found and repaired.
type Tick struct {
	Looked   int      `json:"looked"`
	Repaired []string `json:"repaired"`
	// Next is when something is due next; zero: nothing is.
	Next time.Time `json:"next,omitzero"`
}
