// Package gate holds the wire types between a worker and the coordinator's
// gate: admit, begin, report, settle and heartbeat. It is a leaf, so that
// workers stay lean. The rules behind the calls are the gate protocol's;
// every call is idempotent by its nonce and may arrive twice, late or never.
package gate

import (
	"context"
	"encoding/json"
	"time"

	"github.com/outerloop-dev/outerloop"
)

// Gate is what a worker's wrapper calls. An implementation knows which worker
// calls from its own configuration, never from the request.
type Gate interface {
	// Admit asks whether this delivery may run its step now.
	Admit(ctx context.Context, req AdmitRequest) (AdmitAnswer, error)
	// Begin claims a business action immediately before its call (R37).
	Begin(ctx context.Context, req BeginRequest) (BeginAnswer, error)
	// Report records an action's outcome when more work follows, and what a
	// verification of an unknown outcome found.
	Report(ctx context.Context, req ReportRequest) (ReportAnswer, error)
	// Settle hands over the work: a result or a failure.
	Settle(ctx context.Context, req SettleRequest) (SettleAnswer, error)
	// Heartbeat extends the lease of the running attempt.
	Heartbeat(ctx context.Context, req HeartbeatRequest) (HeartbeatAnswer, error)
}

// Delivery is what a machine's state sends to a worker.
type Delivery struct {
	Run  string `json:"run"`
	Gen  int    `json:"gen"`
	Step string `json:"step"`
	Item string `json:"item"`
	// Token is the task token of a queued state; empty in direct mode.
	Token string `json:"token,omitempty"`
	// Next asks settle for what the next block of the machine needs; nil: nothing.
	Next *Next `json:"next,omitempty"`
	// Entered and Retry are the engine's, for the log only: they number nothing.
	Entered string `json:"entered,omitempty"`
	Retry   *int   `json:"retry,omitempty"`
}

// Next names the block that follows a step and the shape its state wants.
type Next struct {
	// Block is the static path of the switch, each or wait that follows.
	Block string `json:"block"`
	// Pages are the page sizes of a distributed Map from the outermost level
	// inwards; empty for an inline Map and for other blocks.
	Pages []int `json:"pages,omitempty"`
}

// Call identifies one gate call of one attempt.
type Call struct {
	Delivery
	// Nonce is the worker's request id and a call number; the same nonce is the same call.
	Nonce string `json:"nonce"`
	// Fence is the fencing token of the attempt, from Admit.
	Fence int64 `json:"fence,omitempty"`
}

// Note is the small object a machine gets for a step. All fields are present
// on every path, null where they do not apply, since a missing one would be an
// uncatchable error in the machine.
type Note struct {
	Outcome *outerloop.Outcome `json:"outcome"`
	Label   *string            `json:"label"`
	Until   *time.Time         `json:"until"`
	// Items are the item indexes [0,1,…] of an inline Map, or the inclusive
	// ranges [[0,39],[40,57]] of a distributed one.
	Items json.RawMessage `json:"items"`
}

// Verdict is what the machine is told about a delivery: a note, or a named error.
type Verdict struct {
	Note  Note   `json:"note"`
	Error string `json:"error,omitempty"`
	Cause string `json:"cause,omitempty"`
}

// Decision is Admit's answer in one word.
type Decision string

// The answers of Admit.
const (
	// Go: run the handler with the task.
	Go Decision = "go"
	// Answered: nothing to run; Verdict stands for this delivery (already
	// settled, not needed, needs approval, gave up, stop). The message may be
	// acknowledged: in queue mode the gate has completed its token.
	Answered Decision = "answered"
	// Later: busy, or not now. The message is not acknowledged; it becomes
	// visible again at Until.
	Later Decision = "later"
)

// AdmitRequest asks to run a step.
type AdmitRequest struct {
	Call
	// Contract is the charter contract number the worker's code speaks.
	Contract int `json:"contract"`
	// Limit is when this invocation must have ended at the latest.
	Limit time.Time `json:"limit"`
}

// AdmitAnswer tells what to do with a delivery.
type AdmitAnswer struct {
	Decision Decision  `json:"decision"`
	Task     *Task     `json:"task,omitempty"`
	Verdict  *Verdict  `json:"verdict,omitempty"`
	Until    time.Time `json:"until,omitzero"`
	Reason   string    `json:"reason,omitempty"`
}

// Task is the envelope of admitted work: the charter and the declared inputs,
// nothing more (R20).
type Task struct {
	Run      string    `json:"run"`
	Loop     string    `json:"loop"`
	Subject  string    `json:"subject"`
	Step     string    `json:"step"`
	Item     string    `json:"item"`
	Visit    int       `json:"visit"`
	Attempt  int       `json:"attempt"`
	Fence    int64     `json:"fence"`
	Worker   string    `json:"worker"`
	AsOf     time.Time `json:"as_of"`
	Deadline time.Time `json:"deadline"`
	// Lease is when the attempt's lease ends unless a heartbeat renews it.
	Lease    time.Time                  `json:"lease"`
	Charter  json.RawMessage            `json:"charter"`
	Input    json.RawMessage            `json:"input"`
	Facts    map[string]json.RawMessage `json:"facts,omitempty"`
	Feedback []Feedback                 `json:"feedback,omitempty"`
	// Handoff is the record of R19.
	Handoff json.RawMessage `json:"handoff,omitempty"`
	// Action is the business action the step may do; empty where it has none.
	Action string `json:"action,omitempty"`
	// Files are inputs kept as blobs, by property name; contents come by reference.
	Files map[string]string `json:"files,omitempty"`
	// Budget is what is left of the run's money for this step, in micro-units of its currency.
	Budget int64 `json:"budget,omitempty"`
	// Agent is set where the charter's kind is agent.
	Agent *Agent `json:"agent,omitempty"`
}

// Agent is what a worker that asks a language model gets beside its charter,
// from the definition that the run has pinned (R56).
type Agent struct {
	// Prompt is the text of the charter's prompt.
	Prompt string `json:"prompt"`
	// Calls are the workers it may use as tools (R8), in the charter's order.
	Calls []Callable `json:"calls,omitempty"`
	// Model is the model that it asks.
	Model *Model `json:"model,omitempty"`
}

// Model is a language model as a run's definition declares it: an agent asks
// this one, whatever the project has declared since.
type Model struct {
	// Name is the project's, ID the provider's.
	Name string `json:"name"`
	ID   string `json:"id"`
	// Connection is its name; empty where the project declares none for it. Kind
	// and URL are the connection's; Secret is the name of its secret.
	Connection string `json:"connection,omitempty"`
	Kind       string `json:"kind"`
	URL        string `json:"url,omitempty"`
	Secret     string `json:"secret,omitempty"`
	Price      Price  `json:"price"`
}

// Price is what a model's tokens cost, as of a date, in micro-units of the
// currency per million tokens.
type Price struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
	// CacheRead and CacheWrite are nil where the price list does not say.
	CacheRead  *int64 `json:"cache_read,omitempty"`
	CacheWrite *int64 `json:"cache_write,omitempty"`
	Currency   string `json:"currency"`
	AsOf       string `json:"as_of"`
}

// Callable is a worker that an agent may use as a tool.
type Callable struct {
	Worker    string `json:"worker"`
	Objective string `json:"objective"`
	// Input is the JSON Schema of its input.
	Input json.RawMessage `json:"input"`
}

// Feedback is why earlier work was not accepted, in words the worker can use.
type Feedback struct {
	From   string          `json:"from"`
	Faults []string        `json:"faults"`
	Detail json.RawMessage `json:"detail,omitempty"`
}

// BeginRequest claims an action.
type BeginRequest struct {
	Call
	Action string `json:"action"`
	// Payload is what the call will send; its canonical hash is the action's.
	Payload json.RawMessage `json:"payload"`
}

// Claim is Begin's answer in one word.
type Claim string

// The answers of Begin.
const (
	// ClaimGo: make the call, and end it before Until.
	ClaimGo Claim = "go"
	// ClaimDone: it was done before; Result is the recorded result. No call.
	ClaimDone Claim = "done"
	// ClaimVerify: the outcome of an earlier call is unknown; ask the provider
	// and Report what it says, with Seen as given here; then Begin again.
	ClaimVerify Claim = "verify"
	// ClaimBusy: another attempt is executing it until Until.
	ClaimBusy Claim = "busy"
	// ClaimRefused: it must not be done now; Class and Reason say why
	// (conflict of payloads, quota, a person must say, run stopped).
	ClaimRefused Claim = "refused"
)

// BeginAnswer tells whether to call.
type BeginAnswer struct {
	Claim Claim `json:"claim"`
	// Entry is the action log entry, KEY:ACTION.
	Entry string `json:"entry"`
	// ProviderKey is the idempotency key for the provider, the same for every call of the entry.
	ProviderKey string          `json:"provider_key"`
	Until       time.Time       `json:"until,omitzero"`
	Result      json.RawMessage `json:"result,omitempty"`
	Seen        int64           `json:"seen,omitempty"`
	Class       outerloop.Class `json:"class,omitempty"`
	Reason      string          `json:"reason,omitempty"`
}

// ActionOutcome is what became of an action's call.
type ActionOutcome string

// The outcomes of a call. An unknown outcome is not reported: the action's
// time limit makes it unknown.
const (
	// ActionDone: the effect exists.
	ActionDone ActionOutcome = "done"
	// ActionFailed: the provider says certainly not done.
	ActionFailed ActionOutcome = "failed"
)

// ActionReport is the outcome of one action.
type ActionReport struct {
	Entry   string          `json:"entry"`
	Outcome ActionOutcome   `json:"outcome"`
	Result  json.RawMessage `json:"result,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	// Seen is the action's fence as the verifier saw it; 0 when the caller owns the action.
	Seen int64 `json:"seen,omitempty"`
}

// ReportRequest records an action's outcome.
type ReportRequest struct {
	Call
	Report ActionReport `json:"report"`
}

// ReportAnswer tells whether the outcome was recorded; false: a later begin
// owns the action, and an exception names a possible duplicate.
type ReportAnswer struct {
	Recorded bool `json:"recorded"`
}

// Evidence ties a claim of an output to a source of the run (R27).
type Evidence struct {
	Claim  string `json:"claim"`
	Source string `json:"source"`
	At     string `json:"at,omitempty"`
}

// Result is accepted or rejected by Settle.
type Result struct {
	Output     json.RawMessage      `json:"output"`
	Confidence outerloop.Confidence `json:"confidence,omitempty"`
	Reason     string               `json:"reason,omitempty"`
	Evidence   []Evidence           `json:"evidence,omitempty"`
	Decisions  []string             `json:"decisions,omitempty"`
	Unresolved []string             `json:"unresolved,omitempty"`
	Tokens     Tokens               `json:"tokens,omitzero"`
	// Cost is in micro-units of the budget's currency (1 USD = 1,000,000).
	Cost int64 `json:"cost,omitempty"`
}

// Tokens is a model's reported usage.
type Tokens struct {
	Input      int64  `json:"input,omitempty"`
	Output     int64  `json:"output,omitempty"`
	CacheRead  int64  `json:"cache_read,omitempty"`
	CacheWrite int64  `json:"cache_write,omitempty"`
	Model      string `json:"model,omitempty"`
}

// Failure is a classed error of a worker.
type Failure struct {
	Class   outerloop.Class `json:"class"`
	Message string          `json:"message"`
	// RetryAfter is the provider's floor for the next try; zero: none.
	RetryAfter time.Time `json:"retry_after,omitzero"`
	Tokens     Tokens    `json:"tokens,omitzero"`
	Cost       int64     `json:"cost,omitempty"`
}

// SettleRequest hands over a result or a failure, exactly one of them.
type SettleRequest struct {
	Call
	Result  *Result        `json:"result,omitempty"`
	Failure *Failure       `json:"failure,omitempty"`
	Actions []ActionReport `json:"actions,omitempty"`
}

// SettleAnswer is what the machine is told. Answered false: this attempt was
// superseded; the message must not be acknowledged.
type SettleAnswer struct {
	Answered bool    `json:"answered"`
	Verdict  Verdict `json:"verdict"`
}

// HeartbeatRequest extends a lease.
type HeartbeatRequest struct{ Call }

// HeartbeatAnswer gives the new end of the lease, or says stop: the attempt was
// superseded, or its run is closed or being cancelled.
type HeartbeatAnswer struct {
	Lease time.Time `json:"lease,omitzero"`
	Stop  bool      `json:"stop"`
}
