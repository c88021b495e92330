package asl_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// The order of events and what each follows, as AWS records them.
func TestHistoryOfGroups(t *testing.T) {
	t.Parallel()
	fails := `{"StartAt":"B","States":{"B":{"Type":"Fail","Error":"E","Cause":"c"}}}`
	breaks := `{"StartAt":"B","States":{"B":{"Type":"Pass","Parameters":{"m.$":"$.nope"},"End":true}}}`
	passes := `{"StartAt":"B","States":{"B":{"Type":"Pass","End":true}}}`
	for name, c := range map[string]struct{ state, input, want string }{
		"branch fails": {`{"Type":"Parallel","Branches":[` + fails + `],"End":true}`, `{}`,
			"ExecutionStarted 0, ParallelStateEntered 0, ParallelStateStarted 2, FailStateEntered 3, ParallelStateFailed 4, ExecutionFailed 5"},
		"branch breaks": {`{"Type":"Parallel","Branches":[` + breaks + `],"Catch":[{"ErrorEquals":["States.ALL"],"Next":"X"}],"End":true}`, `{}`,
			"ExecutionStarted 0, ParallelStateEntered 0, ParallelStateStarted 2, PassStateEntered 3, ExecutionFailed 4"},
		"retried": {`{"Type":"Parallel","Branches":[` + fails + `],"Retry":[{"ErrorEquals":["States.ALL"],"MaxAttempts":1}],"End":true}`, `{}`,
			"ExecutionStarted 0, ParallelStateEntered 0, ParallelStateStarted 2, FailStateEntered 3, ParallelStateStarted 4, FailStateEntered 5, ParallelStateFailed 6, ExecutionFailed 7"},
		"selector breaks": {`{"Type":"Parallel","Branches":[` + passes + `],"ResultSelector":{"m.$":"$.nope"},"End":true}`, `{}`,
			"ExecutionStarted 0, ParallelStateEntered 0, ParallelStateStarted 2, PassStateEntered 3, PassStateExited 4, ParallelStateSucceeded 5, ExecutionFailed 6"},
		"task fails in branch": {`{"Type":"Parallel","Branches":[{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage","End":true}}}],"End":true}`, `{}`,
			"ExecutionStarted 0, ParallelStateEntered 0, ParallelStateStarted 2, TaskStateEntered 3, TaskScheduled 4, TaskStarted 5, TaskFailed 6, TaskStateAborted 7, ParallelStateFailed 7, ExecutionFailed 9"},
		"iterations": {`{"Type":"Map","MaxConcurrency":1,"ItemProcessor":` + passes + `,"End":true}`, `[1]`,
			"ExecutionStarted 0, MapStateEntered 0, MapStateStarted 2, MapIterationStarted 3, PassStateEntered 4, PassStateExited 5, MapIterationSucceeded 6, MapStateSucceeded 7, MapStateExited 7, ExecutionSucceeded 9"},
		"no items": {`{"Type":"Map","ItemProcessor":` + passes + `,"End":true}`, `[]`,
			"ExecutionStarted 0, MapStateEntered 0, MapStateStarted 2, MapStateSucceeded 3, MapStateExited 3, ExecutionSucceeded 5"},
		"iteration fails": {`{"Type":"Map","ItemProcessor":` + fails + `,"End":true}`, `[1]`,
			"ExecutionStarted 0, MapStateEntered 0, MapStateStarted 2, MapIterationStarted 3, FailStateEntered 4, MapIterationFailed 5, MapStateFailed 5, ExecutionFailed 7"},
		"iteration breaks": {`{"Type":"Map","ItemProcessor":` + breaks + `,"End":true}`, `[1]`,
			"ExecutionStarted 0, MapStateEntered 0, MapStateStarted 2, MapIterationStarted 3, PassStateEntered 4, ExecutionFailed 5"},
		"distributed": {`{"Type":"Map","ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"B","States":{"B":{"Type":"Pass","End":true}}},"End":true}`, `[1,2]`,
			"ExecutionStarted 0, MapStateEntered 0, MapStateStarted 2, MapRunStarted 3, MapRunSucceeded 4, MapStateSucceeded 5, MapStateExited 4, ExecutionSucceeded 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, h := range run(t, one(c.state), c.input, `{"T":[{"error":"E","cause":null}]}`).History {
				got = append(got, fmt.Sprintf("%s %d", h.Type, h.PreviousID))
			}
			if list := strings.Join(got, ", "); list != c.want {
				t.Errorf("history is\n%s\nwant\n%s", list, c.want)
			}
		})
	}
}

// What a path does not find is said in AWS's words.
func TestMissingPaths(t *testing.T) {
	t.Parallel()
	input := `{"items":[1,2],"other":1}`
	pass := func(path string) string { return `{"Type":"Pass","Parameters":{"v.$":"` + path + `"},"End":true}` }
	prefix := "States.Runtime: An error occurred while executing the state 'X' (entered at the event id #2). "
	iterate := `,"ItemProcessor":{"StartAt":"B","States":{"B":{"Type":"Pass","End":true}}},"End":true}`
	for state, want := range map[string]string{
		pass("$.items[5]"):  `{"v":null}`,
		pass("$.nope.deep"): prefix + `The JSONPath '$.nope.deep' specified for the field 'v.$' could not be found in the input '` + input + `'`,
		pass("States.Format('{}', States.Format('{}', $.nope))"):         prefix + `The function 'States.Format('{}', States.Format('{}', $.nope))' had the following error: The JsonPath argument for the field '$.nope' could not be found in the input '` + input + `'`,
		pass("States.Format('{}', $.items[5])"):                          prefix + `The function 'States.Format('{}', $.items[5])' had the following error: The JsonPath argument for the field '$.items[5]' could not be found in the input '` + input + `'`,
		pass("States.Format('{}', $$.Nope.Deep)"):                        prefix + `The function 'States.Format('{}', $$.Nope.Deep)' had the following error: The JsonPath argument for the field '$.Nope.Deep' could not be found in the input '` + input + `'`,
		pass("States.Format('{}', $.other[0])"):                          prefix + `The function 'States.Format('{}', $.other[0])' had the following error: Filter: [0] can only be applied to arrays. Current context is: 1`,
		`{"Type":"Map","ItemsPath":"$.list"` + iterate:                   `States.ReferencePathConflict: Unable to apply step "list" to input ` + input,
		`{"Type":"Map","ItemsPath":"$.other"` + iterate:                  prefix + `Reference path "$.other" must point to array.`,
		`{"Type":"Map"` + iterate:                                        prefix + `Map state input must be an array but was: ` + input,
		`{"Type":"Pass","Result":1,"ResultPath":"$.items.x","End":true}`: `States.ReferencePathConflict: Unable to apply step "x" to input ` + input,
	} {
		out := run(t, one(state), input, "")
		got := string(out.Output)
		if out.Status == asl.Failed {
			got = text(out.Error) + ": " + text(out.Cause)
		}
		if got != want {
			t.Errorf("%s gives\n%s\nwant\n%s", state, got, want)
		}
	}
}

// Causes are cut: one that shows an input must not grow each time around.
func TestCausesAreCut(t *testing.T) {
	t.Parallel()
	out := run(t, one(`{"Type":"Pass","InputPath":"$.x","Parameters":{"a.$":"$.nope"},"End":true}`), `{"x":"`+strings.Repeat("é", 100_000)+`"}`, "")
	if n := len(text(out.Cause)); n > 32768 || n < 32000 || !utf8.ValidString(text(out.Cause)) {
		t.Errorf("the cause has %d bytes", n)
	}
}
