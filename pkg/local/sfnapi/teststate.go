package sfnapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

type testRequest struct {
	Definition string `json:"definition"`
	Input      string `json:"input"`
	StateName  string `json:"stateName"`
	// Variables are those that the state finds, a JSON object.
	Variables string `json:"variables"`
	Mock      *struct {
		Result      *string `json:"result"`
		ErrorOutput *struct {
			Error *string `json:"error"`
			Cause *string `json:"cause"`
		} `json:"errorOutput"`
	} `json:"mock"`
}

// tested is the name of a tested state that has none; assigning is the state
// before it, which assigns its variables.
const (
	tested    = "TestedState"
	assigning = "TestedState's variables"
)

// testState runs one state with a mocked answer.
func (s *Server) testState(_ context.Context, req testRequest) (any, error) {
	machine, name, err := around(req)
	if err != nil {
		return nil, err
	}
	if req.Input == "" {
		req.Input = "{}"
	}
	x := asl.New(machine)
	step, err := x.Apply(asl.Event{Kind: asl.Start, Time: startOfTest, Start: &asl.StartDetails{
		Input: json.RawMessage(req.Input), Name: "test", MachineName: "test",
	}})
	if err != nil {
		return nil, faultf("InvalidExecutionInput", "%v", err)
	}
	answered := false
	for _, effect := range step.Effects {
		event := asl.Event{Time: startOfTest}
		switch e := effect.(type) {
		case asl.ScheduleTask:
			if req.Mock == nil {
				return nil, faultf("ValidationException", "a %s state needs a mock here: nothing is called", e.Resource.ARN)
			}
			answered = true
			event.Task = e.Task
			mocked(&event, req)
		case asl.StartTimer:
			event.Kind, event.Timer = asl.TimerFired, e.Timer
		default:
			continue
		}
		if step, err = x.Apply(event); err != nil {
			return nil, faultf("ValidationException", "applying the mock: %v", err)
		}
	}
	return judge(x, step, req, name, answered), nil
}

func mocked(event *asl.Event, req testRequest) {
	event.Kind = asl.TaskFailed
	switch {
	case req.Mock.Result != nil:
		event.Kind, event.Output = asl.TaskSucceeded, json.RawMessage(*req.Mock.Result)
	case req.Mock.ErrorOutput != nil:
		event.Error, event.Cause = req.Mock.ErrorOutput.Error, req.Mock.ErrorOutput.Cause
	}
}

// judge says what became of the state.
func judge(x *asl.Execution, step asl.Step, req testRequest, name string, answered bool) map[string]any {
	failed := answered && req.Mock.Result == nil
	answer := map[string]any{"status": "SUCCEEDED"}
	if failed {
		answer["error"], answer["cause"] = req.Mock.ErrorOutput.Error, req.Mock.ErrorOutput.Cause
	}
	if next, input := entered(step.History, name); next != "" {
		answer["nextState"], answer["output"] = next, string(input)
		if failed {
			answer["status"] = "CAUGHT_ERROR"
		}
		return answer
	}
	switch x.Status() {
	case asl.Running:
		answer["status"] = "RETRIABLE"
	case asl.Succeeded:
		answer["output"] = string(x.Output())
	default:
		answer["status"] = "FAILED"
		answer["error"], answer["cause"] = x.Failure()
	}
	return answer
}

// entered is the first state that was entered after the tested one.
func entered(history []asl.HistoryEvent, tested string) (name string, input json.RawMessage) {
	for _, event := range history {
		if strings.HasSuffix(string(event.Type), "StateEntered") && event.Details.Name != tested && event.Details.Name != assigning {
			return event.Details.Name, event.Details.Input
		}
	}
	return "", nil
}

// around makes a machine of one state: wherever it leads, it ends.
func around(req testRequest) (machine *asl.Machine, name string, err error) {
	var state map[string]json.RawMessage
	if err := json.Unmarshal([]byte(req.Definition), &state); err != nil {
		return nil, "", faultf("InvalidDefinition", "%v", err)
	}
	name = tested
	if whole, ok := state["States"]; ok {
		name = req.StateName
		if state, err = pick(whole, name); err != nil {
			return nil, "", err
		}
	}
	start, states, err := surrounded(req, name, state)
	if err != nil {
		return nil, "", err
	}
	if machine, err = load(start, states); err != nil || !works(state, "Parallel", "Map") {
		return machine, name, err
	}
	states[name] = mockable(state) // it was checked as it is
	machine, err = load(start, states)
	return machine, name, err
}

// surrounded are the tested state, an end for each state that it leads to, and
// what assigns its variables; start is the first of them.
func surrounded(req testRequest, name string, state map[string]json.RawMessage) (start string, states map[string]any, err error) {
	switch mocked := req.Mock != nil; {
	case mocked && !works(state, "Task", "Parallel", "Map"):
		return "", nil, faultf("ValidationException", "State type %s is not supported when a mock is specified", quoted(state["Type"]))
	case !mocked && works(state, "Parallel", "Map"):
		return "", nil, faultf("ValidationException", "State type %s needs a mock here: it stands for what the state would run", quoted(state["Type"]))
	case mocked && (req.Mock.Result == nil) == (req.Mock.ErrorOutput == nil):
		return "", nil, faultf("ValidationException", "a mock has either a result or an errorOutput")
	}
	states = map[string]any{name: state}
	for _, next := range targets(state) {
		if next != name {
			states[next] = map[string]any{"Type": "Pass", "End": true}
		}
	}
	start, err = assign(req.Variables, name, states)
	return start, states, err
}

func load(start string, states map[string]any) (*asl.Machine, error) {
	text, err := json.Marshal(map[string]any{"StartAt": start, "States": states})
	if err != nil {
		return nil, fmt.Errorf("encoding the tested state: %w", err)
	}
	return asl.Load(text)
}

// works tells whether a state is of one of the types.
func works(state map[string]json.RawMessage, types ...string) bool {
	kind := ""
	return json.Unmarshal(state["Type"], &kind) == nil && slices.Contains(types, kind)
}

// quoted is a state's type as AWS's messages show it.
func quoted(kind json.RawMessage) string { return "'" + strings.Trim(string(kind), `"`) + "'" }

// mockable is a task with the data flow of a Parallel or Map: its mock stands for
// the branches or iterations.
func mockable(state map[string]json.RawMessage) map[string]json.RawMessage {
	task := map[string]json.RawMessage{"Type": json.RawMessage(`"Task"`), "Resource": json.RawMessage(`"arn:aws:states:::lambda:invoke"`)}
	for _, field := range []string{"InputPath", "OutputPath", "ResultPath", "ResultSelector", "Assign", "Retry", "Catch", "Next", "End"} {
		if value, ok := state[field]; ok {
			task[field] = value
		}
	}
	return task
}

// assign puts a state before the tested one that assigns its variables, where
// there are any, and answers the first state's name.
func assign(variables, name string, states map[string]any) (start string, err error) {
	if variables == "" {
		return name, nil
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(variables), &values); err != nil {
		return "", faultf("ValidationException", "the variables are no JSON object: %v", err)
	}
	if len(values) == 0 {
		return name, nil
	}
	states[assigning] = map[string]any{"Type": "Pass", "Assign": values, "Next": name}
	return assigning, nil
}

// pick takes one state of a whole machine.
func pick(states json.RawMessage, name string) (map[string]json.RawMessage, error) {
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(states, &all); err != nil {
		return nil, faultf("InvalidDefinition", "%v", err)
	}
	state, ok := all[name]
	if !ok {
		return nil, faultf("ValidationException", "the definition has no state %q: name it in stateName", name)
	}
	return state, nil
}

// targets are the states that a state leads to.
func targets(state map[string]json.RawMessage) []string {
	var names []string
	add := func(raw json.RawMessage) {
		if name := ""; json.Unmarshal(raw, &name) == nil && name != "" {
			names = append(names, name)
		}
	}
	add(state["Next"])
	add(state["Default"])
	for _, list := range []string{"Catch", "Choices"} {
		var rules []map[string]json.RawMessage
		if json.Unmarshal(state[list], &rules) == nil {
			for _, rule := range rules {
				add(rule["Next"])
			}
		}
	}
	return names
}
