package asl_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

func start(t *testing.T, m *asl.Machine, input string) (*asl.Execution, asl.Step) {
	t.Helper()
	x := asl.New(m)
	step, err := x.Apply(asl.Event{Kind: asl.Start, Time: time.Unix(1_700_000_000, 0), Start: &asl.StartDetails{Input: json.RawMessage(input), Name: "n"}})
	if err != nil {
		t.Fatal(err)
	}
	return x, step
}

// Answers that nobody waits for change nothing: a second answer, one after a
// time-out, one to an earlier attempt.
func TestLateAnswersAreRefused(t *testing.T) {
	t.Parallel()
	m := load(t, one(`{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","TimeoutSeconds":5,"End":true,"Retry":[{"ErrorEquals":["States.ALL"],"IntervalSeconds":1}]}`))
	x, step := start(t, m, `{}`)
	first := step.Effects[0].(asl.ScheduleTask)
	if _, err := x.Apply(asl.Event{Kind: asl.TimerFired, Timer: 99}); !errors.Is(err, asl.ErrNotOpen) {
		t.Errorf("unknown timer: %v", err)
	}
	if _, err := x.Apply(asl.Event{Kind: asl.TaskSucceeded, Task: first.Task, Output: json.RawMessage(`{`)}); !errors.Is(err, asl.ErrEvent) {
		t.Errorf("output that is no JSON: %v", err)
	}
	step, err := x.Apply(asl.Event{Kind: asl.TaskTimedOut, Task: first.Task, Time: first.Deadline})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Apply(asl.Event{Kind: asl.TaskSucceeded, Task: first.Task, Output: json.RawMessage(`1`)}); !errors.Is(err, asl.ErrNotOpen) {
		t.Errorf("answer after the time-out: %v", err)
	}
	timer := step.Effects[0].(asl.StartTimer)
	step, err = x.Apply(asl.Event{Kind: asl.TimerFired, Timer: timer.Timer, Time: timer.At, Seed: asl.Seed{1}})
	if err != nil {
		t.Fatal(err)
	}
	second := step.Effects[0].(asl.ScheduleTask)
	if name, ok := asl.TokenExecution(second.Token); !ok || name != "n" {
		t.Errorf("the token %q is that of %q", second.Token, name)
	}
	if name, ok := asl.TokenExecution("n"); ok {
		t.Errorf("a text that is no token is that of %q", name)
	}
	if second.Token == first.Token || second.Task == first.Task {
		t.Error("a retry has the token or id of the first attempt")
	}
	if _, err := x.Apply(asl.Event{Kind: asl.TaskSucceeded, Task: second.Task, Output: json.RawMessage(`1`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Apply(asl.Event{Kind: asl.TaskSucceeded, Task: second.Task, Output: json.RawMessage(`1`)}); !errors.Is(err, asl.ErrEnded) {
		t.Errorf("answer after the end: %v", err)
	}
}

// What waits is small: the machine and its past are not in the snapshot.
func TestSnapshotOfWhatWaitsIsSmall(t *testing.T) {
	t.Parallel()
	x, _ := start(t, fourTasks(t), `{"run":"r1","o":{}}`)
	s, err := x.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if len(s) > 1000 {
		t.Errorf("the snapshot has %d bytes: %s", len(s), s)
	}
}

func TestRestoreRefusesOtherMachines(t *testing.T) {
	t.Parallel()
	x, _ := start(t, fourTasks(t), `{"run":"r1","o":{}}`)
	s, err := x.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{one(`{"Type":"Pass","End":true}`), strings.ReplaceAll(one(`{"Type":"Wait","Seconds":1,"End":true}`), "X", "S1")} {
		if _, err := asl.Restore(load(t, d), s); !errors.Is(err, asl.ErrSnapshot) {
			t.Errorf("error is %v", err)
		}
	}
	if _, err := asl.Restore(fourTasks(t), []byte(`{`)); !errors.Is(err, asl.ErrSnapshot) {
		t.Errorf("error is %v", err)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	x, step := start(t, load(t, one(`{"Type":"Wait","Seconds":100,"End":true}`)), `{}`)
	name := "Operator"
	stopped, err := x.Apply(asl.Event{Kind: asl.Stop, Error: &name})
	if err != nil {
		t.Fatal(err)
	}
	want := []asl.Effect{asl.CancelTimer{Timer: step.Effects[0].(asl.StartTimer).Timer}, asl.End{Status: asl.Aborted, Error: &name}}
	if diff := cmp.Diff(want, stopped.Effects); diff != "" {
		t.Error(diff)
	}
}

// The history has the form that `aws stepfunctions get-execution-history`
// prints.
func TestHistoryJSON(t *testing.T) {
	t.Parallel()
	m := load(t, one(`{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","TimeoutSeconds":5,"HeartbeatSeconds":2,"Parameters":{"q":"<&>"},"Assign":{"v":1},"End":true}`))
	x, step := start(t, m, `{"in":"é"}`)
	history := step.History
	step, err := x.Apply(asl.Event{Kind: asl.TaskSucceeded, Time: time.Unix(1_700_000_001, 5e8), Task: step.Effects[0].(asl.ScheduleTask).Task, Output: json.RawMessage(`{"a": 1}`)})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, h := range append(history, step.History...) {
		line, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	golden(t, "history.golden", strings.Join(lines, "\n")+"\n")
}

// golden compares with a file, and writes it where UPDATE_GOLDEN is set.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	d := asl.Object{}.Add("Comment", "<b> & é").Add("StartAt", "Z").Add("States", asl.Object{}.
		Add("Z", asl.Object{}.Add("Type", "Pass").Add("Parameters", asl.Object{}.Add("long", strings.Repeat("x", 90)).Add("list", asl.List{1, "a", nil, 2.5})).Add("Next", "A")).
		Add("A", asl.Object{}.Add("Type", "Succeed").AddIf(false, "Comment", "no")))
	got, err := asl.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "encode.golden", string(got))
	again, err := asl.Format(got)
	if err != nil || string(again) != string(got) {
		t.Errorf("formatted again it is %s, %v", again, err)
	}
	if _, err := asl.Encode(asl.Object{}.Add("a", 1).Add("a", 2)); err == nil {
		t.Error("a member twice is taken")
	}
}

func TestStartExecutionAnswers(t *testing.T) {
	t.Parallel()
	r, err := asl.ParseStartExecution(json.RawMessage(`{"StateMachineArn":"arn:m","Name":"n","Input":"{\"a\": 1}"}`))
	if err != nil || r.MachineARN != "arn:m" || string(r.Input) != `{"a":1}` {
		t.Errorf("request is %+v, %v", r, err)
	}
	d := asl.ExecutionDescription{ARN: "arn:x", MachineARN: "arn:m", Name: "n", Status: asl.Succeeded, Input: r.Input, Output: json.RawMessage(`{"b":2}`), Started: time.UnixMilli(1), Stopped: time.UnixMilli(2)}
	ev, err := d.Answer(7, asl.Sync)
	want := `{"ExecutionArn":"arn:x","Input":"{\"a\":1}","InputDetails":{"Included":true},"Name":"n","Output":"{\"b\":2}","OutputDetails":{"Included":true},"StartDate":1,"StateMachineArn":"arn:m","Status":"SUCCEEDED","StopDate":2}`
	if err != nil || ev.Kind != asl.TaskSucceeded || string(ev.Output) != want {
		t.Errorf("answer is %s %s, %v", ev.Kind, ev.Output, err)
	}
	if ev, _ = d.Answer(7, asl.Sync2); !strings.Contains(string(ev.Output), `"Output":{"b":2}`) {
		t.Errorf("answer is %s", ev.Output)
	}
	name := "States.Timeout"
	d.Status, d.Error = asl.Failed, &name
	if ev, _ = d.Answer(7, asl.Sync); ev.Kind != asl.TaskFailed || text(ev.Error) != "States.TaskFailed" || !strings.HasPrefix(text(ev.Cause), `{"Error":"States.Timeout","ExecutionArn"`) {
		t.Errorf("answer is %s %s: %s", ev.Kind, text(ev.Error), text(ev.Cause))
	}
}
