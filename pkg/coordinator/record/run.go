package record

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// The numbers of a run that preconditions test without reading its body.
const (
	// RunOpen is 1 while steps may move: new or in progress, not being cancelled.
	RunOpen = "open"
	// RunClosed is 1 once the run is completed or failed.
	RunClosed = "closed"
	// RunCancelling is 1 from the word to cancel until the run is closed.
	RunCancelling = "cancelling"
	// RunGen is the generation; older ones are refused.
	RunGen = "gen"
	// RunLeft is the money not yet spent or reserved, in micro-units.
	RunLeft = "left"
	// RunSpent is the money spent.
	RunSpent = "spent"
	// RunAwaiting counts undecided approvals, RunQuestions open exceptions that hold one step.
	RunAwaiting  = "awaiting"
	RunQuestions = "questions"
	// RunApprovalsLeft and RunReviewsLeft are what the budget still allows;
	// absent where it sets no limit.
	RunApprovalsLeft = "approvals_left"
	RunReviewsLeft   = "reviews_left"

	reservation = "res."
)

// Run is the record of one run.
type Run struct {
	ID         string           `json:"id"`
	Loop       string           `json:"loop"`
	Version    int              `json:"version"`
	Definition string           `json:"definition"`
	Subject    string           `json:"subject"`
	Status     outerloop.Status `json:"status"`
	Reason     string           `json:"reason,omitempty"`
	Input      Value            `json:"input"`
	InputHash  string           `json:"input_hash"`
	AsOf       time.Time        `json:"as_of"`
	Started    time.Time        `json:"started"`
	Ended      time.Time        `json:"ended,omitzero"`
	Deadline   time.Time        `json:"deadline"`
	Trigger    string           `json:"trigger,omitempty"`
	// Parent is the step that this run does, of a sub-loop's run.
	Parent *Parent `json:"parent,omitempty"`
	// Subs are the definitions of the sub-loops as they were at the start, by name.
	Subs map[string]string `json:"subs,omitempty"`
	// Queued: it waits for others of its loop to end before it starts.
	Queued bool `json:"queued,omitempty"`
	// Rollback is set on a run that undoes another's actions.
	Rollback *Rollback `json:"rollback,omitempty"`
	// Followed: what follows the end of a failed run has been done: its execution
	// is stopped, its requests are void, its children cancelled, its slot is free.
	Followed bool `json:"followed,omitempty"`
	// Drawn are the purses that the run's money is from.
	Drawn []string `json:"drawn,omitempty"`
	// Exception is the open exception of a blocked run.
	Exception string         `json:"exception,omitempty"`
	Output    Value          `json:"output,omitzero"`
	Counts    map[string]int `json:"counts,omitempty"`
	Log       []Entry        `json:"log,omitempty"`

	Gen        int              `json:"-"`
	Cancelling bool             `json:"-"`
	Numbers    map[string]int64 `json:"-"`
	Stored     int64            `json:"-"`
}

// RunKey addresses a run's record.
func RunKey(id string) store.Key { return store.Key{Part: "RUN#" + id, Sort: "RUN"} }

// RunListPart is the partition of the list index with a loop's open or closed runs, by start.
func RunListPart(loop string, open bool) string {
	if open {
		return "RUNS#" + loop + "#open"
	}
	return "RUNS#" + loop + "#closed"
}

// DecodeRun reads a run; nil gives nil.
func DecodeRun(item *store.Item) (*Run, error) {
	if item == nil {
		return nil, nil
	}
	r := &Run{}
	if err := decode(item, r); err != nil {
		return nil, err
	}
	r.beside(item)
	return r, nil
}

// beside takes over what stands beside the body.
func (r *Run) beside(item *store.Item) {
	r.Stored, r.Numbers = item.Version, item.Numbers
	r.Gen = int(item.Numbers[RunGen])
	r.Cancelling = item.Numbers[RunCancelling] == 1
}

// Clone is a copy whose changes do not show in r.
func (r *Run) Clone() *Run {
	out := *r
	out.Log, out.Parent, out.Rollback = slices.Clone(r.Log), copied(r.Parent), copied(r.Rollback)
	out.Subs, out.Counts, out.Numbers = maps.Clone(r.Subs), maps.Clone(r.Counts), maps.Clone(r.Numbers)
	return &out
}

// Open tells whether steps may move.
func (r *Run) Open() bool {
	return (r.Status == outerloop.StatusNew || r.Status == outerloop.StatusInProgress) && !r.Cancelling
}

// Note adds a decision to the run's log.
func (r *Run) Note(e Entry) { r.Log = addEntry(r.Log, e) }

// Fold returns every reservation to what is left: whatever closes or blocks a run for good does.
func (r *Run) Fold() {
	for name, amount := range r.Numbers {
		if strings.HasPrefix(name, reservation) {
			r.Numbers[RunLeft] += amount
			delete(r.Numbers, name)
		}
	}
}

// Put writes the run as it stands in r, at the version it was read at. It
// carries the numbers as read, but for those that follow from the status.
func (r *Run) Put() store.Op {
	numbers := maps.Clone(r.Numbers)
	if numbers == nil {
		numbers = map[string]int64{}
	}
	numbers[RunOpen] = truth(r.Open())
	numbers[RunClosed] = truth(r.Status.Closed())
	numbers[RunCancelling] = truth(r.Cancelling)
	numbers[RunGen] = int64(r.Gen)
	key := RunKey(r.ID)
	item := store.Item{
		Key: key, Version: r.Stored, Body: encode(r), Numbers: numbers,
		List: &store.IndexKey{Part: RunListPart(r.Loop, !r.Status.Closed()), Sort: store.TimeKey(r.Started) + "#" + r.ID},
	}
	switch {
	case !r.Status.Closed():
		item.Due = due(r.Deadline, key)
	case r.Status == outerloop.StatusFailed && !r.Followed:
		item.Due = due(r.Ended, key)
	}
	return put(item)
}

// OpenAt are the conditions of every write that moves a step: the run is in
// progress and of this generation.
func OpenAt(gen int) []store.Cond {
	return []store.Cond{store.Equal(RunOpen, 1), store.Equal(RunGen, int64(gen))}
}

// CheckRun demands that a run is in progress and of a generation.
func CheckRun(id string, gen int) store.Op { return store.Check(RunKey(id), OpenAt(gen)...) }

// Reservation is the number of a run that holds the money reserved for a nonce.
func Reservation(nonce string) string { return reservation + ShortID(nonce) }

// ForCalls is the number beside a reservation that holds what the attempt's tool
// calls may cost. A call's own reservation is taken out of it and named below it.
func ForCalls(reservation string) string { return reservation + ".calls" }

// Held is what stands under a reservation, by number: the attempt's own money,
// what its tool calls may still take, and what they have taken.
func (r *Run) Held(reservation string) map[string]int64 {
	held := map[string]int64{}
	for name, amount := range r.Numbers {
		if name == reservation || strings.HasPrefix(name, reservation+".") {
			held[name] = amount
		}
	}
	return held
}
