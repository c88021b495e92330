package remote

import (
	"encoding/json"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// Start asks for a run of a loop: a coordinator.StartRequest whose check the
// caller has made.
type Start struct {
	Loop    string          `json:"loop"`
	Input   json.RawMessage `json:"input,omitempty"`
	AsOf    time.Time       `json:"as_of,omitzero"`
	Rerun   bool            `json:"rerun,omitempty"`
	Trigger string          `json:"trigger,omitempty"`
	By      string          `json:"by,omitempty"`
}

// StartOf is a start for the wire.
func StartOf(r coordinator.StartRequest) Start {
	return Start{Loop: r.Loop, Input: r.Input, AsOf: r.AsOf, Rerun: r.Rerun, Trigger: r.Trigger, By: r.By}
}

// Request is what the coordinator is asked.
func (s Start) Request() coordinator.StartRequest {
	return coordinator.StartRequest{Loop: s.Loop, Input: s.Input, AsOf: s.AsOf, Rerun: s.Rerun, Trigger: s.Trigger, By: s.By}
}

// Started says which run a start led to.
type Started struct {
	Run       string           `json:"run"`
	Subject   string           `json:"subject"`
	Duplicate bool             `json:"duplicate"`
	Status    outerloop.Status `json:"status"`
}

// Started is the answer as the coordinator gives it.
func (s Started) Started() coordinator.Started { return coordinator.Started(s) }

// Decide is a person's word on an approval.
type Decide struct {
	Approval string          `json:"approval"`
	Verdict  string          `json:"verdict"`
	By       string          `json:"by"`
	Reason   string          `json:"reason"`
	Edit     json.RawMessage `json:"edit,omitempty"`
}

// Resolve is a person's answer to an exception.
type Resolve struct {
	Exception string          `json:"exception"`
	Way       string          `json:"way"`
	By        string          `json:"by"`
	Reason    string          `json:"reason"`
	Value     json.RawMessage `json:"value,omitempty"`
	Outcome   string          `json:"outcome,omitempty"`
}

// Person names a run and who acts on it: cancel, redrive, rollback.
type Person struct {
	Run    string `json:"run"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Loop names a loop: pause and resume.
type Loop struct {
	Loop string `json:"loop"`
}

// Paused says whether a loop's triggers start nothing.
type Paused struct {
	ID     string `json:"id"`
	Paused bool   `json:"paused"`
}

// Publish is an event from outside.
type Publish struct {
	Event string          `json:"event"`
	ID    string          `json:"id,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	At    time.Time       `json:"at,omitzero"`
}

// Blob is content to keep, base64 in JSON: at most MaxInline bytes.
type Blob struct {
	Content []byte `json:"content"`
}

// Kept is the reference of content that is kept.
type Kept struct {
	Ref string `json:"ref"`
}

// Upload asks where content that is too large for Blob is to be put.
type Upload struct {
	// SHA256 is the content's hash in hex digits, Size its length in bytes.
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Uploading says where to put content: a PUT of exactly that content, with all
// these headers, until the time is over. No URL: the content is there already.
type Uploading struct {
	Ref     string            `json:"ref"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Until   time.Time         `json:"until,omitzero"`
}

// Prune says which closed runs may go: a coordinator.Retention.
type Prune struct {
	Before time.Time `json:"before,omitzero"`
	Loop   string    `json:"loop,omitempty"`
	Items  int       `json:"items,omitempty"`
}

// Stage is a person's word on how far an action is trusted.
type Stage struct {
	// Loop is one that the worker works in.
	Loop   string `json:"loop"`
	Worker string `json:"worker"`
	Action string `json:"action"`
	// Up raises the stage by one; false lowers it.
	Up     bool   `json:"up"`
	By     string `json:"by"`
	Reason string `json:"reason"`
	// Unmeasured raises it although the measured results do not propose it.
	Unmeasured bool `json:"unmeasured,omitempty"`
}

// Did says what people did where a worker only proposed.
type Did struct {
	Loop  string `json:"loop"`
	Entry string `json:"entry"`
	// Payload is what they did, in the form of the proposal; null: nothing.
	Payload json.RawMessage `json:"payload"`
	By      string          `json:"by"`
}

// MaxInline is the largest content that Blob takes, so that its base64 fits
// into one invocation of 6 MB.
const MaxInline = 4 << 20
