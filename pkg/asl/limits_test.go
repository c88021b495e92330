package asl_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/asl/rehearse"
)

// The last event of a full history is the failure, number 25,000.
func TestHistoryLimit(t *testing.T) {
	t.Parallel()
	out := run(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Pass","Next":"A"}}}`, `{}`, "")
	if out.Status != asl.Failed || text(out.Error) != "States.Runtime" || text(out.Cause) != "The execution reached the maximum number of history events (25000)." {
		t.Errorf("ended %s with %s: %s", out.Status, text(out.Error), text(out.Cause))
	}
	if n := len(out.Events); n != asl.MaxEvents || out.Events[n-1] != "ExecutionFailed" {
		t.Errorf("%d events, the last is %s", n, out.Events[n-1])
	}
}

// An express execution has no such limit but ends within five minutes.
func TestExpressEndsAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	m, err := asl.Load([]byte(`{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":100,"Next":"B"},"B":{"Type":"Pass","Next":"A"}}}`), asl.WithType(asl.Express))
	if err != nil {
		t.Fatal(err)
	}
	out, err := rehearse.Run(m, nil, nil)
	if err != nil || out.Status != asl.TimedOut {
		t.Errorf("ended %s, %v", out.Status, err)
	}
	if last := out.History[len(out.History)-1]; last.Time.Sub(out.History[0].Time) != 5*time.Minute {
		t.Errorf("ended after %v", last.Time.Sub(out.History[0].Time))
	}
}

// One Apply of a machine that never waits does not take long.
func TestRunawayMachinePauses(t *testing.T) {
	t.Parallel()
	x := asl.New(load(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"A"}}}`))
	step, err := x.Apply(asl.Event{Kind: asl.Start, Start: &asl.StartDetails{}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(step.History); n > 2100 || x.Status().Ended() {
		t.Errorf("%d events in one step, status %s", n, x.Status())
	}
}

// R: payloads of 256 KiB pass and one byte more does not, counted in UTF-8.
func TestPayloadLimit(t *testing.T) {
	t.Parallel()
	quoted := func(bytes int, last string) string { return `"` + strings.Repeat("x", bytes-2-len(last)) + last + `"` }
	d := `{"StartAt":"X","States":{"X":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","End":true,
		"Catch":[{"ErrorEquals":["States.ALL"],"Next":"C"}]},"C":{"Type":"Pass","End":true}}}`
	for _, c := range []struct {
		result string
		failed bool
	}{{quoted(asl.MaxPayload, ""), false}, {quoted(asl.MaxPayload, "🙂"), false}, {quoted(asl.MaxPayload+1, "🙂"), true}, {quoted(asl.MaxPayload+1024, ""), true}} {
		out := run(t, d, `{}`, `{"X":[{"result":`+c.result+`}]}`)
		if failed := strings.Contains(string(out.Output), "States.DataLimitExceeded"); failed != c.failed {
			t.Errorf("%d bytes: failed is %v, want %v (%s)", len(c.result), failed, c.failed, text(out.Error))
		}
	}
	out := run(t, one(`{"Type":"Pass","Parameters":{"a.$":"$","b.$":"$"},"End":true}`), quoted(200_000, ""), "")
	if text(out.Error) != "States.DataLimitExceeded" {
		t.Errorf("a Pass state over the limit: %s", text(out.Error))
	}
	x := asl.New(load(t, one(`{"Type":"Succeed"}`)))
	if _, err := x.Apply(asl.Event{Kind: asl.Start, Start: &asl.StartDetails{Input: json.RawMessage(quoted(asl.MaxPayload+1, ""))}}); !errors.Is(err, asl.ErrEvent) {
		t.Errorf("input over the limit: %v", err)
	}
}

func TestEventBound(t *testing.T) {
	t.Parallel()
	task := `"Type":"Task","Resource":"arn:aws:states:::lambda:invoke"`
	for name, c := range map[string]struct {
		definition string
		bounds     asl.Bounds
		want       int64
		fails      string
	}{
		"pass":    {one(`{"Type":"Pass","End":true}`), asl.Bounds{}, 4, ""},
		"task":    {one(`{` + task + `,"End":true}`), asl.Bounds{}, 7, ""},
		"retries": {one(`{` + task + `,"Retry":[{"ErrorEquals":["A"],"MaxAttempts":2},{"ErrorEquals":["States.ALL"]}],"End":true}`), asl.Bounds{}, 4 + 6*3, ""},
		"choice takes the longer way": {`{"StartAt":"C","States":{"C":{"Type":"Choice","Choices":[{"Variable":"$.a","IsPresent":true,"Next":"L"}],"Default":"S"},
			"L":{` + task + `,"Next":"S"},"S":{"Type":"Succeed"}}}`, asl.Bounds{}, 2 + 2 + 5 + 2, ""},
		"map":         {one(`{"Type":"Map","ItemProcessor":{"StartAt":"A","States":{"A":{` + task + `,"End":true}}},"End":true}`), asl.Bounds{Items: map[string]int{"X": 40}}, 2 + 4 + 1 + 40*(2+5), ""},
		"map open":    {one(`{"Type":"Map","ItemProcessor":{"StartAt":"A","States":{"A":{"Type":"Succeed"}}},"End":true}`), asl.Bounds{}, math.MaxInt64, "no bound of its items"},
		"cycle open":  {`{"StartAt":"A","States":{"A":{` + task + `,"Next":"B"},"B":{"Type":"Choice","Choices":[{"Variable":"$.a","IsPresent":true,"Next":"A"}],"Default":"S"},"S":{"Type":"Succeed"}}}`, asl.Bounds{}, math.MaxInt64, "A cycle through state"},
		"cycle bound": {`{"StartAt":"A","States":{"A":{` + task + `,"Next":"B"},"B":{"Type":"Choice","Choices":[{"Variable":"$.a","IsPresent":true,"Next":"A"}],"Default":"S"},"S":{"Type":"Succeed"}}}`, asl.Bounds{Visits: map[string]int{"A": 3}}, 2 + 3*5 + 4*2 + 2, ""},
		"too many":    {one(`{` + task + `,"Retry":[{"ErrorEquals":["States.ALL"],"MaxAttempts":9000}],"End":true}`), asl.Bounds{}, 4 + 9001*3, "at most 25000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := load(t, c.definition).EventBound(c.bounds)
			if got != c.want {
				t.Errorf("bound is %d, want %d", got, c.want)
			}
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("error is %v, want %q", err, c.fails)
			}
		})
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"crm-followup_1.x": true, "": false, strings.Repeat("é", 80): true, strings.Repeat("x", 81): false,
		"2026-11-30T10:00:00Z": false, "a b": false, "a/b": false, "a\x7f": false,
	} {
		if err := asl.CheckName(name); (err == nil) != ok || err != nil && !errors.Is(err, asl.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// What a state makes of its data nests no more deeply than what may come in, so
// that a snapshot and a history can always be read again (FuzzGenerated).
func TestDataThatNestsForEver(t *testing.T) {
	t.Parallel()
	out := run(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Parameters":{"in.$":"$"},"Next":"B"},"B":{"Type":"Pass","Next":"A"}}}`, `{}`, "")
	if out.Status != asl.Failed || text(out.Error) != "States.DataLimitExceeded" {
		t.Errorf("ended %s with %s: %s", out.Status, text(out.Error), text(out.Cause))
	}
}
