package rehearse

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// StateStatus is how the test of one state came out, in AWS's words.
type StateStatus string

// The outcomes of the test of a state.
const (
	StateSucceeded StateStatus = "SUCCEEDED"
	StateFailed    StateStatus = "FAILED"
	// StateRetriable says that the state failed and would be tried again.
	StateRetriable StateStatus = "RETRIABLE"
	// StateCaught says that the state failed and a catcher took it.
	StateCaught StateStatus = "CAUGHT_ERROR"
)

// StateOutcome is how one state came out.
type StateOutcome struct {
	Status StateStatus     `json:"status"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  *string         `json:"error,omitempty"`
	Cause  *string         `json:"cause,omitempty"`
	// NextState is where the machine would go on; empty at an end.
	NextState string `json:"nextState,omitempty"`
}

// ErrMock says that a state cannot be tested with the mock given, or without
// one.
var ErrMock = errors.New("mock does not fit the state")

// tested is the name of the state under test.
const tested = "State"

// TestState runs one state on an input. A Task, Parallel or Map needs a mock,
// which stands for its task, its branches or its iterations; other states take
// none. Errors are those of the definition (*asl.DefinitionError), ErrMock, and
// input that is no JSON.
func TestState(definition, input json.RawMessage, mock *Answer) (StateOutcome, error) {
	members, kind, err := stateMembers(definition)
	if err != nil {
		return StateOutcome{}, err
	}
	works := slices.Contains([]string{"Task", "Parallel", "Map"}, kind)
	switch {
	case works && mock == nil:
		return StateOutcome{}, fmt.Errorf("%w: a %s state needs one", ErrMock, kind)
	case !works && mock != nil:
		return StateOutcome{}, fmt.Errorf("%w: State type '%s' is not supported when a mock is specified", ErrMock, kind)
	}
	m, err := aroundState(members, kind)
	if err != nil {
		return StateOutcome{}, err
	}
	mocks := Mocks{}
	if mock != nil {
		mocks[tested] = []Answer{*mock}
	}
	out, err := Run(m, input, mocks)
	if errors.Is(err, ErrUnanswered) {
		return StateOutcome{Status: StateRetriable, Error: mock.Error, Cause: mock.Cause}, nil
	}
	if err != nil {
		return StateOutcome{}, err
	}
	return stateOutcome(out, mock), nil
}

func stateMembers(definition json.RawMessage) (map[string]json.RawMessage, string, error) {
	var members map[string]json.RawMessage
	var head struct{ Type string }
	if err := json.Unmarshal(definition, &members); err != nil {
		return nil, "", fmt.Errorf("reading state: %w", err)
	}
	if err := json.Unmarshal(definition, &head); err != nil {
		return nil, "", fmt.Errorf("reading state: %w", err)
	}
	return members, head.Type, nil
}

// aroundState makes a machine of the state and of ends for all that may follow.
// A Parallel or Map is checked as it is, and then replaced by a task with the
// same data flow.
func aroundState(members map[string]json.RawMessage, kind string) (*asl.Machine, error) {
	m, err := wrap(members)
	if err != nil || kind != "Parallel" && kind != "Map" {
		return m, err
	}
	task := map[string]json.RawMessage{"Type": json.RawMessage(`"Task"`), "Resource": json.RawMessage(`"arn:aws:states:::lambda:invoke"`)}
	for _, field := range []string{"InputPath", "OutputPath", "ResultPath", "ResultSelector", "Assign", "Retry", "Catch", "Next", "End"} {
		if v, ok := members[field]; ok {
			task[field] = v
		}
	}
	return wrap(task)
}

func wrap(members map[string]json.RawMessage) (*asl.Machine, error) {
	state := asl.Object{}
	for _, name := range sortedKeys(members) {
		state = state.Add(name, members[name])
	}
	states := asl.Object{}.Add(tested, state)
	for _, name := range targets(members) {
		if name != tested {
			states = states.Add(name, asl.Object{}.Add("Type", "Succeed"))
		}
	}
	d, err := asl.Encode(asl.Object{}.Add("StartAt", tested).Add("States", states))
	if err != nil {
		return nil, err
	}
	return asl.Load(d)
}

func sortedKeys(m map[string]json.RawMessage) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// targets returns the names of the states that may follow, each once.
func targets(members map[string]json.RawMessage) []string {
	var named struct {
		Next, Default  string
		Choices, Catch []struct{ Next string }
	}
	d, err := json.Marshal(members)
	if err == nil {
		// What has another type is reported by asl.Load.
		_ = json.Unmarshal(d, &named)
	}
	list := []string{named.Next, named.Default}
	for _, c := range append(named.Choices, named.Catch...) {
		list = append(list, c.Next)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func stateOutcome(out Outcome, mock *Answer) StateOutcome {
	o := StateOutcome{Status: StateFailed, Error: out.Error, Cause: out.Cause}
	entered, attempts := 0, 0
	for _, h := range out.History {
		switch name := string(h.Type); {
		case strings.HasSuffix(name, "Scheduled"):
			if attempts++; attempts == 2 {
				return StateOutcome{Status: StateRetriable, Error: mock.Error, Cause: mock.Cause}
			}
		case strings.HasSuffix(name, "StateEntered"):
			if entered++; entered == 2 {
				o.NextState = h.Details.Name
			}
		case strings.HasSuffix(name, "StateExited") && entered == 1:
			o.Status, o.Output, o.Error, o.Cause = StateSucceeded, h.Details.Output, nil, nil
			if mock != nil && mock.Result == nil {
				o.Status, o.Error, o.Cause = StateCaught, mock.Error, mock.Cause
			}
		}
	}
	return o
}
