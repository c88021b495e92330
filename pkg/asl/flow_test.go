package asl_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/asl/rehearse"
)

func load(t *testing.T, definition string) *asl.Machine {
	t.Helper()
	m, err := asl.Load([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// run rehearses a definition.
func run(t *testing.T, definition, input, mocks string) rehearse.Outcome {
	t.Helper()
	var answers rehearse.Mocks
	if mocks != "" {
		if err := json.Unmarshal([]byte(mocks), &answers); err != nil {
			t.Fatal(err)
		}
	}
	out, err := rehearse.Run(load(t, definition), json.RawMessage(input), answers)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// one wraps one state into a machine.
func one(state string) string {
	return `{"StartAt":"X","States":{"X":` + state + `}}`
}

func TestDataFlow(t *testing.T) {
	t.Parallel()
	input := `{"a":{"b":[1,2,3]},"n":null,"s":"text"}`
	for name, c := range map[string]struct{ state, want string }{
		"nothing":                {`{"Type":"Pass","End":true}`, input},
		"input path":             {`{"Type":"Pass","InputPath":"$.a","End":true}`, `{"b":[1,2,3]}`},
		"input path null":        {`{"Type":"Pass","InputPath":null,"End":true}`, `{}`},
		"output path null":       {`{"Type":"Pass","OutputPath":null,"End":true}`, `{}`},
		"result path null":       {`{"Type":"Pass","Result":1,"ResultPath":null,"End":true}`, input},
		"result null":            {`{"Type":"Pass","Result":null,"End":true}`, `null`},
		"result path new":        {`{"Type":"Pass","Result":1,"ResultPath":"$.x.y","End":true}`, `{"a":{"b":[1,2,3]},"n":null,"s":"text","x":{"y":1}}`},
		"result path element":    {`{"Type":"Pass","Result":9,"ResultPath":"$.a.b[1]","End":true}`, `{"a":{"b":[1,9,3]},"n":null,"s":"text"}`},
		"result path raw input":  {`{"Type":"Pass","InputPath":"$.a","ResultPath":"$.x","End":true}`, `{"a":{"b":[1,2,3]},"n":null,"s":"text","x":{"b":[1,2,3]}}`},
		"slice":                  {`{"Type":"Pass","InputPath":"$.a.b[1:]","End":true}`, `[2,3]`},
		"filter":                 {`{"Type":"Pass","OutputPath":"$.a.b[?(@ > 1)]","End":true}`, `[2,3]`},
		"scan":                   {`{"Type":"Pass","OutputPath":"$..b","End":true}`, `[[1,2,3]]`},
		"template":               {`{"Type":"Pass","Parameters":{"k.$":"$.n","l":["$.n",{"m.$":"$.s"}]},"End":true}`, `{"k":null,"l":["$.n",{"m":"text"}]}`},
		"intrinsic in template":  {`{"Type":"Pass","Parameters":{"k.$":"States.Format('{}-{}', $.s, $.n)"},"End":true}`, `{"k":"text-null"}`},
		"variable and own field": {`{"Type":"Pass","Assign":{"v.$":"$.s"},"Parameters":{"n.$":"$$.State.Name"},"End":true}`, "States.Runtime"},
		"choice":                 {`{"Type":"Succeed","InputPath":"$.a","OutputPath":"$.b[0]"}`, `1`},
		"missing input path":     {`{"Type":"Pass","InputPath":"$.x.y","End":true}`, "States.Runtime"},
		"conflict":               {`{"Type":"Pass","Result":1,"ResultPath":"$.s.x","End":true}`, "States.ReferencePathConflict"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := run(t, one(c.state), input, "")
			if got := string(out.Output); out.Status == asl.Succeeded && got != c.want || out.Status == asl.Failed && text(out.Error) != c.want {
				t.Errorf("output is %s (%s: %s), want %s", got, text(out.Error), text(out.Cause), c.want)
			}
		})
	}
}

// A variable is seen by later states and not by the state that assigns it.
func TestVariables(t *testing.T) {
	t.Parallel()
	out := run(t, `{"StartAt":"A","States":{
		"A":{"Type":"Pass","Result":{"x":1},"Assign":{"v.$":"$.x","w":"k"},"Next":"B"},
		"B":{"Type":"Pass","Assign":{"v":2},"Parameters":{"v.$":"$v"},"Next":"C"},
		"C":{"Type":"Pass","ResultPath":"$.later","Parameters":{"v.$":"$v","w.$":"States.Format('{}!', $w)"},"End":true}}}`, `{}`, "")
	if got, want := string(out.Output), `{"v":1,"later":{"v":2,"w":"k!"}}`; got != want {
		t.Errorf("output is %s, want %s", got, want)
	}
}

// Each retrier counts for itself, whichever of its errors came; the first that
// matches decides, also when it is used up.
func TestRetriersCountSeparately(t *testing.T) {
	t.Parallel()
	d := one(`{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","End":true,
		"Retry":[{"ErrorEquals":["A","B"],"IntervalSeconds":1,"MaxAttempts":2,"BackoffRate":2},{"ErrorEquals":["C"],"IntervalSeconds":5}]}`)
	out := run(t, d, `{}`, `{"X":[{"error":"A","cause":"1"},{"error":"B","cause":"2"},{"error":"C","cause":"3"},{"error":"B","cause":"4"}]}`)
	if out.Status != asl.Failed || text(out.Error) != "B" || text(out.Cause) != "4" {
		t.Fatalf("ended %s with %s: %s", out.Status, text(out.Error), text(out.Cause))
	}
	var scheduled []time.Time
	for _, h := range out.History {
		if h.Type == "TaskScheduled" {
			scheduled = append(scheduled, h.Time)
		}
	}
	var waits []time.Duration
	for i := 1; i < len(scheduled); i++ {
		waits = append(waits, scheduled[i].Sub(scheduled[i-1]))
	}
	if want := []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}; !slices.Equal(waits, want) {
		t.Errorf("waits are %v, want %v", waits, want)
	}
}

func TestRetryDelays(t *testing.T) {
	t.Parallel()
	answers := `{"X":[` + strings.Repeat(`{"error":"E","cause":null},`, 5) + `{"result":1}]}`
	delays := func(fields string) []time.Duration {
		out := run(t, one(`{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","End":true,"Retry":[{"ErrorEquals":["States.ALL"],"MaxAttempts":9,"IntervalSeconds":2`+fields+`}]}`), `{}`, answers)
		var at []time.Time
		for _, h := range out.History {
			if h.Type == "TaskScheduled" {
				at = append(at, h.Time)
			}
		}
		var d []time.Duration
		for i := 1; i < len(at); i++ {
			d = append(d, at[i].Sub(at[i-1]))
		}
		return d
	}
	s := time.Second
	if got, want := delays(``), []time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 32 * s}; !slices.Equal(got, want) {
		t.Errorf("delays are %v, want %v", got, want)
	}
	if got, want := delays(`,"MaxDelaySeconds":10,"BackoffRate":3`), []time.Duration{2 * s, 6 * s, 10 * s, 10 * s, 10 * s}; !slices.Equal(got, want) {
		t.Errorf("capped delays are %v, want %v", got, want)
	}
	jittered := delays(`,"JitterStrategy":"FULL"`)
	for i, limit := range delays(``) {
		if jittered[i] < 0 || jittered[i] > limit {
			t.Errorf("delay %d with jitter is %v, at most %v", i, jittered[i], limit)
		}
	}
	if slices.Equal(jittered, delays(``)) {
		t.Error("jitter changes nothing")
	}
}

func TestErrorMatching(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ err, equals, want string }{
		{`"E"`, `"E"`, "caught"},
		{`"E"`, `"e"`, "E"},
		{`"E"`, `"States.TaskFailed"`, "caught"},
		{`"E"`, `"States.ALL"`, "caught"},
		{`null`, `"States.ALL"`, "caught"},
		{`null`, `"States.TaskFailed"`, "null"},
		{`"States.Timeout"`, `"States.TaskFailed"`, "States.Timeout"},
		{`"States.Timeout"`, `"States.Timeout"`, "caught"},
	} {
		d := `{"StartAt":"X","States":{"X":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","TimeoutSeconds":9,"Next":"N","Catch":[{"ErrorEquals":[` + c.equals + `],"Next":"C"}]},
			"N":{"Type":"Succeed"},"C":{"Type":"Pass","Result":"caught","End":true}}}`
		out := run(t, d, `{}`, `{"X":[{"error":`+c.err+`,"cause":null}]}`)
		if got := strings.Trim(string(out.Output), `"`); got != c.want && text(out.Error) != c.want {
			t.Errorf("%s for %s gives %s, %s, want %s", c.equals, c.err, got, text(out.Error), c.want)
		}
	}
}

// A failing branch stops the others, and its own error surfaces.
func TestParallelFailureStopsSiblings(t *testing.T) {
	t.Parallel()
	m := load(t, one(`{"Type":"Parallel","End":true,"Branches":[
		{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:lambda:r:1:function:f","End":true}}},
		{"StartAt":"B","States":{"B":{"Type":"Task","Resource":"arn:aws:lambda:r:1:function:f","End":true}}},
		{"StartAt":"C","States":{"C":{"Type":"Wait","Seconds":60,"End":true}}}]}`))
	x := asl.New(m)
	step, err := x.Apply(asl.Event{Kind: asl.Start, Start: &asl.StartDetails{}})
	if err != nil {
		t.Fatal(err)
	}
	name, cause := "Boom", "why"
	step, err = x.Apply(asl.Event{Kind: asl.TaskFailed, Task: step.Effects[0].(asl.ScheduleTask).Task, Error: &name, Cause: &cause})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range step.Effects {
		kinds = append(kinds, fmt.Sprintf("%T", e))
	}
	if want := []string{"asl.CancelTask", "asl.CancelTimer", "asl.End"}; !slices.Equal(kinds, want) {
		t.Errorf("effects are %v, want %v", kinds, want)
	}
	var types []asl.HistoryType
	for _, h := range step.History {
		types = append(types, h.Type)
	}
	want := []asl.HistoryType{"LambdaFunctionFailed", "TaskStateAborted", "TaskStateAborted", "WaitStateAborted", "ParallelStateFailed", "ExecutionFailed"}
	if !slices.Equal(types, want) {
		t.Errorf("history is %v, want %v", types, want)
	}
	if e, c := x.Failure(); text(e) != "Boom" || text(c) != "why" {
		t.Errorf("failed with %s: %s", text(e), text(c))
	}
}

func TestMapKeepsOrderAndConcurrency(t *testing.T) {
	t.Parallel()
	m := load(t, one(`{"Type":"Map","MaxConcurrency":2,"End":true,"ItemSelector":{"i.$":"$$.Map.Item.Index","v.$":"$$.Map.Item.Value"},
		"ItemProcessor":{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:lambda:r:1:function:f","End":true}}}}`))
	x := asl.New(m)
	ev := asl.Event{Kind: asl.Start, Start: &asl.StartDetails{Input: json.RawMessage(`["a","b","c"]`)}}
	for !x.Status().Ended() {
		if _, err := x.Apply(ev); err != nil {
			t.Fatal(err)
		}
		open := x.Open()
		if len(open) > 2 {
			t.Fatalf("%d tasks at a time", len(open))
		}
		if len(open) > 0 { // the youngest first
			task := open[len(open)-1].(asl.ScheduleTask)
			ev = asl.Event{Kind: asl.TaskSucceeded, Task: task.Task, Output: task.Input}
		}
	}
	if got, want := string(x.Output()), `[{"i":0,"v":"a"},{"i":1,"v":"b"},{"i":2,"v":"c"}]`; got != want {
		t.Errorf("output is %s, want %s", got, want)
	}
}

func TestDistributedMapRunsChildren(t *testing.T) {
	t.Parallel()
	d := one(`{"Type":"Map","End":true,"ToleratedFailureCount":1,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},
		"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:lambda:r:1:function:f","End":true}}}}`)
	out := run(t, d, `[1,2,3]`, `{"A":[{"result":"x","index":0},{"error":"E","cause":null,"index":1},{"result":"z","index":2}]}`)
	if string(out.Output) != `["x","z"]` {
		t.Errorf("output is %s (%s)", out.Output, text(out.Cause))
	}
	out = run(t, d, `[1,2,3]`, `{"A":[{"error":"E","cause":null},{"error":"E","cause":null},{"result":"z"}]}`)
	if text(out.Error) != "States.ExceedToleratedFailureThreshold" || text(out.Cause) != "The specified tolerated failure threshold was exceeded" {
		t.Errorf("failed with %s: %s", text(out.Error), text(out.Cause))
	}
	want := []asl.HistoryType{"ExecutionStarted", "MapStateEntered", "MapStateStarted", "MapRunStarted", "MapRunFailed", "MapStateFailed", "ExecutionFailed"}
	if !slices.Equal(out.Events, want) {
		t.Errorf("events are %v, want %v", out.Events, want)
	}
}

func TestItemBatcher(t *testing.T) {
	t.Parallel()
	out := run(t, one(`{"Type":"Map","End":true,"ItemBatcher":{"MaxItemsPerBatch":2,"BatchInput":{"k.$":"$$.State.Name"}},
		"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}}`), `[1,2,3]`, "")
	if got, want := string(out.Output), `[{"BatchInput":{"k":"X"},"Items":[1,2]},{"BatchInput":{"k":"X"},"Items":[3]}]`; got != want {
		t.Errorf("output is %s, want %s", got, want)
	}
}

// Nothing catches States.Runtime, whatever the catcher says.
func TestRuntimeErrorsAreNotCaught(t *testing.T) {
	t.Parallel()
	out := run(t, `{"StartAt":"P","States":{"P":{"Type":"Parallel","Next":"C","Branches":[{"StartAt":"A","States":{"A":{"Type":"Pass","InputPath":"$.no","End":true}}}],
		"Catch":[{"ErrorEquals":["States.ALL"],"Next":"C"}]},"C":{"Type":"Succeed"}}}`, `{}`, "")
	if out.Status != asl.Failed || text(out.Error) != "States.Runtime" {
		t.Errorf("ended %s with %s", out.Status, text(out.Error))
	}
}

func TestNoChoiceMatched(t *testing.T) {
	t.Parallel()
	out := run(t, `{"StartAt":"C","States":{"C":{"Type":"Choice","Choices":[{"Variable":"$.a","IsPresent":true,"Next":"S"}]},"S":{"Type":"Succeed"}}}`, `{}`, "")
	want := "An error occurred while executing the state 'C' (entered at the event id #2). Failed to transition out of the state. The state does not point to a next state."
	if text(out.Error) != "States.Runtime" || text(out.Cause) != want {
		t.Errorf("failed with %s: %s", text(out.Error), text(out.Cause))
	}
}

// An iteration that was about to begin when another failed does not begin.
func TestFailureStopsWhatIsAboutToBegin(t *testing.T) {
	t.Parallel()
	out := run(t, `{"StartAt":"M","States":{"M":{"Type":"Map","MaxConcurrency":2,"Catch":[{"ErrorEquals":["E"],"Next":"C"}],"Next":"C",
		"ItemProcessor":{"StartAt":"A","States":{
			"A":{"Type":"Choice","Choices":[{"Variable":"$","NumericEquals":1,"Next":"F"}],"Default":"P"},
			"P":{"Type":"Succeed"},"F":{"Type":"Fail","Error":"E"}}}},
		"C":{"Type":"Wait","Seconds":1,"Next":"S"},"S":{"Type":"Pass","Result":"done","End":true}}}`, `[0,1,2,3]`, "")
	if string(out.Output) != `"done"` {
		t.Fatalf("output is %s (%s: %s)", out.Output, text(out.Error), text(out.Cause))
	}
	failed := slices.Index(out.Events, "MapStateFailed")
	if failed < 0 || slices.Contains(out.Events[failed:], "ChoiceStateEntered") {
		t.Errorf("events are %v", out.Events)
	}
}
