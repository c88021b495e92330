package rehearse

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Mocks holds the answers of each Task state, by its name, in order.
type Mocks map[string][]Answer

// Answer is one answer to a task: a result, or a failure.
type Answer struct {
	// Result is the task's result; nil for a failure.
	Result json.RawMessage
	// Error and Cause are those of a failure; either may be nil.
	Error, Cause *string
	// Event is the history event that carried the answer where it was
	// recorded, as in TaskTimedOut; may be empty.
	Event string
	// Index is the iteration of the nearest Map the answer is for; nil for
	// any.
	Index *int
}

type answerRecord struct {
	Result json.RawMessage `json:"result"`
	Error  *string         `json:"error"`
	Cause  *string         `json:"cause"`
	Event  string          `json:"event"`
	Index  *int            `json:"index"`
}

// UnmarshalJSON reads {"result": …} or {"error": …, "cause": …}, with "event"
// and "index" if they are known; other members are passed over.
func (a *Answer) UnmarshalJSON(data []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return fmt.Errorf("reading answer: %w", err)
	}
	var r answerRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("reading answer: %w", err)
	}
	_, failed := keys["error"]
	_, succeeded := keys["result"]
	if failed == succeeded {
		return fmt.Errorf("reading answer: it needs either a result or an error")
	}
	*a = Answer{Error: r.Error, Cause: r.Cause, Event: r.Event, Index: r.Index}
	if succeeded {
		if a.Result = keys["result"]; len(a.Result) == 0 {
			a.Result = json.RawMessage("null")
		}
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (a Answer) MarshalJSON() ([]byte, error) {
	m := map[string]any{}
	if a.Result != nil {
		m["result"] = a.Result
	} else {
		m["error"], m["cause"] = a.Error, a.Cause
	}
	if a.Event != "" {
		m["event"] = a.Event
	}
	if a.Index != nil {
		m["index"] = *a.Index
	}
	return json.Marshal(m)
}

// timesOut reports whether the answer is that nothing answered.
func (a Answer) timesOut() bool {
	if a.Result != nil {
		return false
	}
	return strings.HasSuffix(a.Event, "TimedOut") || a.Event == "" && a.Error != nil && *a.Error == "States.Timeout"
}

// hands gives out the answers of mocks.
type hands struct {
	mocks Mocks
	used  map[string][]bool
}

// next returns the next answer for a state in the given iteration, -1 for none.
func (h *hands) next(state string, index int) (Answer, bool) {
	answers := h.mocks[state]
	used := h.used[state]
	if used == nil {
		used = make([]bool, len(answers))
		h.used[state] = used
	}
	for i, a := range answers {
		if !used[i] && (a.Index == nil || index < 0 || *a.Index == index) {
			used[i] = true
			return a, true
		}
	}
	return Answer{}, false
}
