package asl

import (
	"encoding/json"
	"time"
)

// snapshot is all that an execution is, apart from its machine. It holds no
// finished work: what waits is small.
type snapshot struct {
	Status    Status       `json:"status"`
	Start     StartDetails `json:"start"`
	StartTime time.Time    `json:"start_time"`
	LastEvent int64        `json:"last_event"`
	// LastID numbers tasks, timers and children.
	LastID  int64           `json:"last_id"`
	Limit   TimerID         `json:"limit,omitempty"` // of TimeoutSeconds
	LimitAt time.Time       `json:"limit_at,omitzero"`
	Flow    *flow           `json:"flow,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
	Error   *string         `json:"error,omitempty"`
	Cause   *string         `json:"cause,omitempty"`
}

// flow is a thread of control: the top of the machine, a branch of a Parallel
// or an iteration of a Map. It stands at one state.
type flow struct {
	parent *flow
	state  *state
	// gone is set when the flow was aborted while it had work queued.
	gone bool

	State string `json:"state"`
	// Index is the branch or iteration.
	Index int `json:"index,omitempty"`
	// Entered is the id of the StateEntered event, At its time.
	Entered int64     `json:"entered"`
	At      time.Time `json:"at,omitzero"`
	// Last is the newest history event of this flow.
	Last  int64           `json:"last"`
	Input json.RawMessage `json:"input"`
	// Item is the item of a Map's iteration, for the context object.
	Item json.RawMessage `json:"item,omitempty"`
	Vars []Variable      `json:"vars,omitempty"`
	// Retries counts the retries of the current state, Used those of each
	// retrier.
	Retries int   `json:"retries,omitempty"`
	Used    []int `json:"used,omitempty"`

	Task  *openTask  `json:"task,omitempty"`
	Timer *openTimer `json:"timer,omitempty"`
	Group *group     `json:"group,omitempty"`
}

// openTask is a task that has no answer yet.
type openTask struct {
	ID        TaskID          `json:"id"`
	Input     json.RawMessage `json:"input"`
	Token     string          `json:"token,omitempty"`
	Started   bool            `json:"started,omitempty"`
	Submitted bool            `json:"submitted,omitempty"`
	Deadline  time.Time       `json:"deadline,omitzero"`
	Heartbeat time.Duration   `json:"heartbeat,omitempty"`
}

// openTimer is a timer that has not fired: the end of a Wait, of the delay
// before a retry, or of a pause before a state is executed.
type openTimer struct {
	ID    TimerID   `json:"id"`
	At    time.Time `json:"at"`
	Pause bool      `json:"pause,omitempty"`
}

// group is what a Parallel or Map works on.
type group struct {
	// Total is how many branches, iterations or children there are, Next the
	// first that has not started, Done how many ended.
	Total int `json:"total"`
	Next  int `json:"next"`
	Done  int `json:"done"`
	// Input is what the branches get, or the input of ItemSelector.
	Input json.RawMessage `json:"input,omitempty"`
	// Items holds the items not yet started, first at Next.
	Items       []json.RawMessage `json:"items,omitempty"`
	Outputs     []partOutput      `json:"outputs,omitempty"`
	Concurrency int               `json:"concurrency,omitempty"`
	Flows       []*flow           `json:"flows,omitempty"`
	Children    []openChild       `json:"children,omitempty"`
	Failed      int               `json:"failed,omitempty"`
	MapRun      string            `json:"map_run,omitempty"`
	// TolerateCount and ToleratePart (in percent) are the failures that a Map
	// takes; nil where not given.
	TolerateCount *int64   `json:"tolerate_count,omitempty"`
	ToleratePart  *float64 `json:"tolerate_part,omitempty"`
}

// partOutput is the output of a branch, iteration or child. Outputs are kept in
// the order in which they came.
type partOutput struct {
	Index int             `json:"index"`
	Value json.RawMessage `json:"value"`
}

type openChild struct {
	ID    ChildID         `json:"id"`
	Index int             `json:"index"`
	Input json.RawMessage `json:"input"`
}

type rawMessage = json.RawMessage
