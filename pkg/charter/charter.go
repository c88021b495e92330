// Package charter models what a worker may do and must deliver (R15): its
// charter, read from charter.yaml. The model holds what was written, with
// defaults filled in; rules are still text here and are compiled by package
// loop, where the schemas are known.
package charter

import (
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// Charter is the contract of one worker.
type Charter struct {
	// Worker is the worker's name: lower-case letters, digits and hyphens.
	Worker string
	// Version rises with every change of meaning.
	Version int
	// Contract is the number of the code's contract, which the worker states at admit; 1 if not given.
	Contract int
	// Owner is a group of the project.
	Owner     string
	Objective string
	Kind      Kind
	Input     source.Schema
	Output    source.Schema
	// Reads and Writes are names of facts; a trailing * stands for any end.
	Reads  []string
	Writes []string
	Tools  []Tool
	// Actions are all the business actions the worker may do.
	Actions   []Action
	Authority Authority
	Autonomy  Autonomy
	Risk      Risk
	Limits    []Limit
	Escalate  []Escalation
	// Evidence tells whether every result must carry evidence.
	Evidence bool
	Success  Success
	// FailsWith lists the declared failure classes.
	FailsWith []outerloop.Class
	Dispatch  Dispatch
	// Agent is set for kind agent only.
	Agent *Agent
	// Variant is how a language model does the work of a worker of kind go, in
	// runs that have chosen one; nil: none does.
	Variant *Agent
	// Lambda, HTTP and Command are set for the kind of that name only.
	Lambda  *Lambda
	HTTP    *HTTP
	Command *Command
	// Faulty tells that reading the file found errors, so that fields may be missing.
	Faulty bool
	// Source is the whole file, for messages and for the worker's copy.
	Source *source.Node
}

// Kind is how the worker is built.
type Kind string

// The kinds of workers.
const (
	KindGo      Kind = "go"
	KindAgent   Kind = "agent"
	KindLambda  Kind = "lambda"
	KindHTTP    Kind = "http"
	KindCommand Kind = "command"
)

// Tool is a connection the worker may use, and what it may do there.
type Tool struct {
	Connection string
	May        []string
}

// Effect is what an action touches.
type Effect string

// The effects; all but EffectNone are consequential (R46).
const (
	EffectNone         Effect = "none"
	EffectFinancial    Effect = "financial"
	EffectLegal        Effect = "legal"
	EffectReputational Effect = "reputational"
	EffectSafety       Effect = "safety"
)

// Unknown is what happens with an action whose outcome is unknown (R37).
type Unknown string

// The rules for unknown outcomes.
const (
	UnknownVerify Unknown = "verify"
	UnknownRetry  Unknown = "retry"
	UnknownAsk    Unknown = "ask"
)

// UndoNone says that an action cannot be undone.
const UndoNone = "none"

// Action is one business action of a worker.
type Action struct {
	Name string
	// Key and Resource hold where the step gives none; they see the worker's input.
	Key      source.Value
	Resource source.Value
	Effect   Effect
	// Undo names the action that reverses this one, or UndoNone.
	Undo    string
	Unknown Unknown
	// AtMost is the quota; nil: none.
	AtMost *Quota
	// Start is the action's own first stage; empty: the charter's.
	Start Stage
	// Source is the action's entry.
	Source *source.Node
}

// Consequential tells whether the action needs a person below limited autonomy.
func (a Action) Consequential() bool { return a.Effect != EffectNone || a.Undo == UndoNone }

// Quota bounds an action across runs (R73): at most Count per Per for each value of By.
type Quota struct {
	Count int
	Per   time.Duration
	// By is a value over the worker's input; unset: the action's key.
	By source.Value
}

// Authority is the most a worker may ever do (R42).
type Authority string

// The authorities, from least to most.
const (
	AuthorityRecommend Authority = "recommend"
	AuthorityPrepare   Authority = "prepare"
	AuthorityExecute   Authority = "execute"
)

// Stage is how far a worker is trusted now (R43); people raise it.
type Stage string

// The stages, from least to most.
const (
	StageObserve   Stage = "observe"
	StageRecommend Stage = "recommend"
	StageApproval  Stage = "approval"
	StageLimited   Stage = "limited"
	StageBroad     Stage = "broad"
)

var stages = []Stage{StageObserve, StageRecommend, StageApproval, StageLimited, StageBroad}

// AtLeast tells whether s is stage other or beyond it.
func (s Stage) AtLeast(other Stage) bool {
	return slices.Index(stages, s) >= slices.Index(stages, other)
}

// Autonomy is where a worker starts and what promotes it.
type Autonomy struct {
	// Start is the first stage: approval if not given.
	Start Stage
	// Promote is what measured results propose the next stage; nil: people only.
	Promote *Promotion
}

// Promotion is a measured result.
type Promotion struct {
	Reviewed int
	Accepted quantity.Percent
	Breaches int
}

// Risk is the class of harm a worker's mistakes can do (R45).
type Risk string

// The risks, from least to most.
const (
	RiskLow      Risk = "low"
	RiskMedium   Risk = "medium"
	RiskHigh     Risk = "high"
	RiskCritical Risk = "critical"
)

var risks = []Risk{RiskLow, RiskMedium, RiskHigh, RiskCritical}

// AtMost tells whether r is no worse than other. An unknown risk is worse than
// any, and nothing is at most it.
func (r Risk) AtMost(other Risk) bool {
	mine, limit := slices.Index(risks, r), slices.Index(risks, other)
	return mine >= 0 && mine <= limit
}

// Otherwise is what a limit does when its rule does not hold.
type Otherwise string

// What limits do, from the mildest to the strictest.
const (
	OtherwiseApprove  Otherwise = "approve"
	OtherwiseEscalate Otherwise = "escalate"
	OtherwiseRefuse   Otherwise = "refuse"
)

// Limit is a hard rule (R44).
type Limit struct {
	Rule      source.Expr
	Otherwise Otherwise
	Say       source.Value
}

// Escalation sends work to a group when its rule holds.
type Escalation struct {
	Rule   source.Expr
	To     string
	Say    source.Value
	Source *source.Node
}

// Success is the measure of the worker's work.
type Success struct {
	Metric  string
	AtLeast quantity.Percent
}

// Mode is how work reaches a worker.
type Mode string

// The modes.
const (
	ModeQueue  Mode = "queue"
	ModeDirect Mode = "direct"
)

// Dispatch is how work is handed over.
type Dispatch struct {
	// Mode is empty where the charter leaves it to the step's place (see loop.Node.Mode).
	Mode Mode
	// AtOnce bounds the worker's attempts at one time; 0: no bound.
	AtOnce int
	// Timeout bounds one attempt.
	Timeout time.Duration
	// Heartbeat is how often the wrapper renews the lease; 0: a third of the lease.
	Heartbeat time.Duration
	// LongestWait is how long work may wait in the queue; 1d if not given.
	LongestWait time.Duration
}

// ModelTime is the part of an attempt's time that one call of a model may take: a
// slow one then fails in time to be tried again, with a class. 0: no bound of its own.
func (d Dispatch) ModelTime() time.Duration { return d.Timeout / 5 * 4 }

// Agent is what kind agent needs.
type Agent struct {
	// Model names a model of the project; empty in a variant, which a run's
	// chosen model does.
	Model string
	// Prompt is a path from the project's root.
	Prompt string
	// Calls names workers that the agent may use as tools (R8).
	Calls    []string
	MaxCalls int
	// MaxTokens bounds one answer.
	MaxTokens int
	Source    *source.Node
}

// Payload is what a worker that is no Go code is sent, and answers.
type Payload string

// The payloads.
const (
	// PayloadInput: the step's input as it is; the answer is the output.
	PayloadInput Payload = "input"
	// PayloadTask: the whole task, with facts, feedback and files; the answer is
	// a result, with confidence, evidence and cost, or a failure of a class.
	PayloadTask Payload = "task"
)

// Lambda is an existing function used as a worker (R71).
type Lambda struct {
	// Function is its name, partial ARN or ARN, with or without a qualifier.
	Function string
	Payload  Payload
}

// HTTP is an HTTPS endpoint used as a worker.
type HTTP struct {
	URL string
	// Connection names the project's connection with its secret and rate.
	Connection string
	Payload    Payload
}

// Command is a local program used as a worker.
type Command struct {
	Run     []string
	Payload Payload
}

// Action finds a declared action.
func (c *Charter) Action(name string) (Action, bool) {
	for _, action := range c.Actions {
		if action.Name == name {
			return action, true
		}
	}
	return Action{}, false
}

// Connections are the names of the connections that the worker itself uses: of
// its tools, and of its endpoint. That of an agent's model is the model's.
func (c *Charter) Connections() []string {
	var names []string
	for _, tool := range c.Tools {
		names = append(names, tool.Connection)
	}
	if h := c.HTTP; h != nil && h.Connection != "" && !slices.Contains(names, h.Connection) {
		names = append(names, h.Connection)
	}
	return names
}

// Stage is the stage at which the action starts.
func (c *Charter) Stage(action Action) Stage {
	if action.Start != "" {
		return action.Start
	}
	return c.Autonomy.Start
}

// Ask lets a model do the worker's work: an agent asks it in place of its own,
// and a worker of kind go with a variant becomes an agent. Nothing else of the
// charter changes, so that its contract, limits and authority hold as before.
func (c *Charter) Ask(model string) {
	asks := c.Agent
	if asks == nil {
		asks = c.Variant
	}
	if asks == nil {
		return
	}
	chosen := *asks
	chosen.Model = model
	c.Kind, c.Agent, c.Variant = KindAgent, &chosen, nil
}

// Declares tells whether a failure of the class is expected of the worker: the
// charter lists it, or it is one that the gate and the wrapper find themselves
// with any worker.
func (c *Charter) Declares(class outerloop.Class) bool {
	switch class {
	case outerloop.ClassTimeout, outerloop.ClassInvalidOutput, outerloop.ClassMissingInput, outerloop.ClassConflict:
		return true
	}
	return slices.Contains(c.FailsWith, class)
}
