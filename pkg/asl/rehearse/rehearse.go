// Package rehearse runs a state machine from start to end in virtual time, with
// the answers of its tasks given beforehand. Nothing is waited for and nothing
// outside is touched: a Wait of a year takes as long as one of a second. It
// takes any resource that its mocks answer.
package rehearse

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// ErrUnanswered says that a task has no answer (left) in the mocks and no time
// limit of its own that could end it.
var ErrUnanswered = errors.New("no answer for task")

// Outcome is how a rehearsal ended.
type Outcome struct {
	Status asl.Status      `json:"status"`
	Output json.RawMessage `json:"output"`
	Error  *string         `json:"error"`
	Cause  *string         `json:"cause"`
	// Events holds the types of the history's events in order.
	Events []asl.HistoryType `json:"events"`
	// History holds the whole events.
	History []asl.HistoryEvent `json:"-"`
}

// Stage says under which circumstances a machine is rehearsed. The zero Stage
// is ready to use.
type Stage struct {
	// Time is when the execution starts. Default: 2024-01-02 00:00 UTC.
	Time time.Time
	// Seed is where randomness comes from. Default: the zero seed, so that
	// rehearsals repeat.
	Seed asl.Seed
	// Details is what the execution knows about itself, without its input.
	// Default: made-up names and ARNs.
	Details asl.StartDetails
}

// Run rehearses the machine with the zero Stage. The error is ErrUnanswered or
// says that the input is no JSON; a failed execution is no error.
func Run(m *asl.Machine, input json.RawMessage, mocks Mocks) (Outcome, error) {
	return Stage{}.Run(m, input, mocks)
}

// Run rehearses the machine.
func (st Stage) Run(m *asl.Machine, input json.RawMessage, mocks Mocks) (Outcome, error) {
	st.fill(m)
	w := &world{stage: st, now: st.Time, hands: hands{mocks: mocks, used: map[string][]bool{}}}
	details := st.Details
	details.Input = input
	main := &run{x: asl.New(m), details: details}
	if err := w.apply(main, asl.Event{Kind: asl.Start, Start: &details}); err != nil {
		return Outcome{}, err
	}
	if err := w.turn(main); err != nil {
		return Outcome{}, err
	}
	return main.outcome(), nil
}

func (st *Stage) fill(m *asl.Machine) {
	if st.Time.IsZero() {
		st.Time = time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)
	}
	d := &st.Details
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&d.MachineName, "rehearsal")
	set(&d.Name, "rehearsal-1")
	set(&d.MachineID, "arn:aws:states:us-east-1:111111111111:stateMachine:"+d.MachineName)
	set(&d.RoleARN, "arn:aws:iam::111111111111:role/rehearsal")
	kind := ":execution:"
	suffix := ""
	if m.Type() == asl.Express {
		kind, suffix = ":express:", ":rehearsal"
	}
	set(&d.ID, strings.Replace(d.MachineID, ":stateMachine:", kind, 1)+":"+d.Name+suffix)
}

// run is one execution: the main one or a child of a distributed Map.
type run struct {
	x       *asl.Execution
	details asl.StartDetails
	history []asl.HistoryEvent
	parent  *run
	child   asl.ChildID
	// iterations are those of the Maps around a child.
	iterations []int
}

func (r *run) outcome() Outcome {
	o := Outcome{Status: r.x.Status(), Output: r.x.Output(), History: r.history}
	o.Error, o.Cause = r.x.Failure()
	for _, h := range r.history {
		o.Events = append(o.Events, h.Type)
	}
	return o
}

// apply lets an event happen to a run and carries out what follows.
func (w *world) apply(r *run, ev asl.Event) error {
	ev.Time = w.now
	ev.Seed = w.seed()
	step, err := r.x.Apply(ev)
	switch {
	case errors.Is(err, asl.ErrNotOpen) || errors.Is(err, asl.ErrEnded):
		return nil
	case err != nil:
		return fmt.Errorf("applying %s: %w", ev.Kind, err)
	}
	r.history = append(r.history, step.History...)
	for _, e := range step.Effects {
		if err := w.carryOut(r, e); err != nil {
			return err
		}
	}
	return nil
}
