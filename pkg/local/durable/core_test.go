package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// bench is a core on a new store with a clock that stands still until it is moved.
type bench struct {
	*testing.T
	*durable.Core
	store *sqlitestore.Store
	path  string
	now   time.Time
	seeds uint64
	cfg   durable.Config
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, path: filepath.Join(t.TempDir(), "state.db"), now: time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)}
	b.open()
	t.Cleanup(func() { b.store.Close() })
	return b
}

func (b *bench) open() {
	b.Helper()
	var err error
	if b.store, err = sqlitestore.Open(b.path, sqlitestore.Options{}); err != nil {
		b.Fatal(err)
	}
	b.useStore()
}

func (b *bench) useStore() {
	b.Helper()
	var err error
	cfg := b.cfg
	cfg.Store, cfg.Blobs = b.store, b.store.Relaxed()
	cfg.Clock = func() time.Time { return b.now }
	cfg.Seed = func() (seed asl.Seed) {
		b.seeds++
		copy(seed[:], fmt.Sprintf("%016x", b.seeds))
		return seed
	}
	if b.Core, err = durable.New(cfg); err != nil {
		b.Fatal(err)
	}
	b.ok(b.Recover(b.Context()))
}

// restart does as a new process would: nothing but the file is left.
func (b *bench) restart() {
	b.Helper()
	b.ok(b.store.Close())
	b.open()
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) start(name, definition, input string) {
	b.Helper()
	hash, err := b.Publish(b.Context(), []byte(definition))
	b.ok(err)
	_, err = b.Start(b.Context(), durable.StartRequest{
		Name: name, Machine: hash, MachineName: "m", Input: json.RawMessage(input),
	})
	b.ok(err)
}

func (b *bench) describe(name string) durable.Description {
	b.Helper()
	d, err := durable.Reader{Store: b.store}.Describe(b.Context(), name)
	b.ok(err)
	return d
}

// types are the history's event types, checked for gaps in the ids.
func (b *bench) types(name string) []string {
	b.Helper()
	events, err := durable.Reader{Store: b.store}.History(b.Context(), name)
	b.ok(err)
	var types []string
	for i, e := range events {
		if e.ID != int64(i+1) {
			b.Fatalf("event %d has id %d", i+1, e.ID)
		}
		types = append(types, string(e.Type))
	}
	return types
}

func (b *bench) wants(name string, status asl.Status, output string) {
	b.Helper()
	d := b.describe(name)
	if d.Status != status || string(d.Output) != output {
		b.Fatalf("%s is %s with %s (%v, %v), want %s with %s", name, d.Status, d.Output, text(d.Error), text(d.Cause), status, output)
	}
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// serve answers all calls with a function until there are none.
func (b *bench) serve(f func(durable.Call) durable.Result) {
	b.Helper()
	for calls := b.Calls(); len(calls) > 0; calls = b.Calls() {
		for _, call := range calls {
			b.ok(b.Answer(b.Context(), call, f(call)))
		}
	}
}

func echo(call durable.Call) durable.Result { return durable.Result{Output: call.Payload} }

const twoCalls = `{"StartAt":"a","States":{
	"a":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f","Payload":{"n":1}},
	     "ResultSelector":{"p.$":"$.Payload"},"ResultPath":"$.a","TimeoutSeconds":60,
	     "Retry":[{"ErrorEquals":["Again"],"IntervalSeconds":5,"MaxAttempts":2,"BackoffRate":2}],"Next":"b"},
	"b":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"g","Payload.$":"$.a"},
	     "OutputPath":"$.Payload","End":true}}}`

func TestCallsSurviveRestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start("x", twoCalls, `{}`)
	b.restart()
	calls := b.Calls()
	if len(calls) != 1 || calls[0].Function != "f" || string(calls[0].Payload) != `{"n":1}` {
		t.Fatalf("calls %+v", calls)
	}
	b.ok(b.Answer(t.Context(), calls[0], durable.Result{Output: json.RawMessage(`7`)}))
	b.ok(b.Answer(t.Context(), calls[0], durable.Result{Output: json.RawMessage(`8`)})) // late: dropped
	b.restart()
	b.serve(echo)
	b.wants("x", asl.Succeeded, `{"p":7}`)
	want := "ExecutionStarted TaskStateEntered TaskScheduled TaskStarted TaskSucceeded TaskStateExited " +
		"TaskStateEntered TaskScheduled TaskStarted TaskSucceeded TaskStateExited ExecutionSucceeded"
	if got := strings.Join(b.types("x"), " "); got != want {
		t.Errorf("history %s", got)
	}
	b.restart()
	if calls := b.Calls(); len(calls) != 0 {
		t.Errorf("after the end: %+v", calls)
	}
}

func TestRetryWaitsAndTimersSurviveRestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start("x", twoCalls, `{}`)
	fail := func(durable.Call) durable.Result { return durable.Result{Error: "Again", Cause: "busy"} }
	for _, wait := range []time.Duration{5 * time.Second, 10 * time.Second} {
		b.serve(fail)
		b.restart()
		due, err := b.NextDue(t.Context())
		b.ok(err)
		if due.Sub(b.now) != wait {
			t.Fatalf("next due in %s, want %s", due.Sub(b.now), wait)
		}
		b.now = b.now.Add(wait - time.Second)
		if n, err := b.Fire(t.Context()); n != 0 || err != nil {
			t.Fatalf("fired %d, %v before its time", n, err)
		}
		b.now = b.now.Add(time.Second)
		if n, err := b.Fire(t.Context()); n != 1 || err != nil {
			t.Fatalf("fired %d, %v", n, err)
		}
	}
	b.serve(fail) // no attempts left
	b.wants("x", asl.Failed, ``)
	if d := b.describe("x"); text(d.Error) != "Again" {
		t.Errorf("error %s", text(d.Error))
	}
}

func TestTimeLimitOfACallUnderWay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start("x", twoCalls, `{}`)
	calls := b.Calls()
	b.now = b.now.Add(time.Minute)
	if n, err := b.Fire(t.Context()); n != 1 || err != nil {
		t.Fatalf("fired %d, %v", n, err)
	}
	b.ok(b.Answer(t.Context(), calls[0], durable.Result{Output: json.RawMessage(`1`)}))
	if d := b.describe("x"); d.Status != asl.Failed || text(d.Error) != "States.Timeout" {
		t.Errorf("%s, %s", d.Status, text(d.Error))
	}
}

const queued = `{"StartAt":"w","States":{"w":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken",
	"Parameters":{"QueueUrl":"https://queue.local/work","MessageBody":{"token.$":"$$.Task.Token","v.$":"$.v"}},
	"TimeoutSeconds":36000,"End":true}}}`

func (b *bench) receive() (*durable.Message, string) {
	b.Helper()
	m, err := b.Receive(b.Context(), "work", time.Minute)
	b.ok(err)
	if m == nil {
		return nil, ""
	}
	var body struct{ Token string }
	b.ok(json.Unmarshal(m.Body, &body))
	return m, body.Token
}

func TestTokensAndMessagesSurviveRestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start("x", queued, `{"v":1}`)
	b.restart()
	m, token := b.receive()
	if m == nil || m.Receives != 1 {
		t.Fatalf("message %+v", m)
	}
	if again, _ := b.receive(); again != nil {
		t.Fatalf("received twice: %+v", again)
	}
	b.restart() // the receiver died: the message is there at once
	if left, err := b.InFlight(t.Context()); err != nil || len(left) != 1 || left[0].ID != m.ID || left[0].Receives != 1 {
		t.Fatalf("in flight %+v, %v", left, err)
	}
	m, _ = b.receive()
	if m == nil || m.Receives != 2 {
		t.Fatalf("message %+v", m)
	}
	b.ok(b.Succeed(t.Context(), token, json.RawMessage(`"done"`)))
	b.ok(b.Delete(t.Context(), m))
	b.wants("x", asl.Succeeded, `"done"`)
	for _, late := range []string{token, strings.Replace(token, token[:4], "0000", 1)} {
		if err := b.Succeed(t.Context(), late, json.RawMessage(`1`)); !errors.Is(err, durable.ErrTokenGone) {
			t.Errorf("late answer: %v", err)
		}
	}
	if err := b.Fail(t.Context(), "nonsense", nil, nil); !errors.Is(err, durable.ErrToken) {
		t.Errorf("malformed token: %v", err)
	}
	b.restart()
	if m, _ := b.receive(); m != nil {
		t.Errorf("answered message came again: %+v", m)
	}
}

func TestVisibilityAndDeadLetters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cfg.MaxReceive, b.cfg.DeadLetter = 3, "Crashed"
	b.restart()
	b.start("x", queued, `{"v":1}`)
	m, _ := b.receive()
	b.now = b.now.Add(59 * time.Second)
	b.Extend(m, b.now.Add(time.Minute))
	b.now = b.now.Add(time.Minute - time.Second)
	if again, _ := b.receive(); again != nil {
		t.Fatalf("received while extended: %+v", again)
	}
	b.now = b.now.Add(time.Second)
	if m, _ = b.receive(); m == nil || m.Receives != 2 {
		t.Fatalf("after visibility: %+v", m)
	}
	b.ok(b.Return(t.Context(), m, b.now.Add(time.Hour)))
	if left, err := b.InFlight(t.Context()); err != nil || len(left) != 0 {
		t.Fatalf("in flight %+v, %v", left, err)
	}
	if again, _ := b.receive(); again != nil {
		t.Fatalf("received while returned: %+v", again)
	}
	b.restart()
	if again, _ := b.receive(); again != nil {
		t.Fatalf("received while returned, after restart: %+v", again)
	}
	if due, err := b.NextDue(t.Context()); err != nil || due.Sub(b.now) != time.Hour {
		t.Fatalf("next due in %s, %v", due.Sub(b.now), err)
	}
	b.now = b.now.Add(time.Hour)
	if m, _ = b.receive(); m == nil || m.Receives != 3 {
		t.Fatalf("after an hour: %+v", m)
	}
	b.ok(b.Postpone(t.Context(), m, b.now)) // does not count
	b.now = b.now.Add(time.Second)
	if m, _ = b.receive(); m == nil || m.Receives != 3 {
		t.Fatalf("after it was postponed: %+v", m)
	}
	b.ok(b.Return(t.Context(), m, b.now))
	b.now = b.now.Add(time.Second)
	if m, _ = b.receive(); m != nil {
		t.Fatalf("received more often than allowed: %+v", m)
	}
	dead, err := b.Dead(t.Context(), "work", 10)
	b.ok(err)
	if len(dead) != 1 || dead[0].Receives != 3 || dead[0].Execution != "x" || string(dead[0].Body) != `{"v":1}` {
		t.Errorf("dead letters %+v", dead)
	}
	if d := b.describe("x"); d.Status != asl.Failed || text(d.Error) != "Crashed" {
		t.Errorf("the task of a dead letter: %s, %s", d.Status, text(d.Error))
	}
	for range 2 { // the second time it is gone
		b.ok(b.Bury(t.Context(), &dead[0], "Crashed", "again"))
		if left, err := b.Dead(t.Context(), "work", 10); err != nil || len(left) != 0 {
			t.Errorf("dead letters after they were buried: %+v, %v", left, err)
		}
	}
}

// A message that nobody can read leaves its queue for good, and its task fails,
// also where nobody had noted so before a crash.
func TestBuriedMessageFailsItsTask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start("x", queued, `{"v":1}`)
	m, _ := b.receive()
	if m == nil {
		t.Fatal("no message")
	}
	b.restart()
	b.ok(b.Bury(t.Context(), m, "Worker.Fatal", "it is not JSON"))
	if d := b.describe("x"); d.Status != asl.Failed || text(d.Error) != "Worker.Fatal" || text(d.Cause) != "it is not JSON" {
		t.Errorf("its task: %s, %s, %s", d.Status, text(d.Error), text(d.Cause))
	}
	b.now = b.now.Add(time.Hour)
	if again, _ := b.receive(); again != nil {
		t.Errorf("received again: %+v", again)
	}
}

// StartExecution is idempotent by name and input while the execution runs (FACTS 1.11).
func TestStartIsIdempotent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start("x", twoCalls, `{"a":1}`)
	b.start("x", twoCalls, `{"a":1}`)
	if calls := b.Calls(); len(calls) != 1 {
		t.Fatalf("%d calls", len(calls))
	}
	b.restart()
	hash, err := b.Publish(t.Context(), []byte(twoCalls))
	b.ok(err)
	req := durable.StartRequest{Name: "x", Machine: hash, MachineName: "m", Input: json.RawMessage(`{"a":2}`)}
	if _, err := b.Start(t.Context(), req); !errors.Is(err, durable.ErrExists) || errors.Is(err, durable.ErrEnded) {
		t.Errorf("other input: %v", err)
	}
	b.ok(b.Stop(t.Context(), "x", nil, nil))
	b.ok(b.Stop(t.Context(), "x", nil, nil))
	req.Input = json.RawMessage(`{"a":1}`)
	if _, err := b.Start(t.Context(), req); !errors.Is(err, durable.ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
	for _, name := range []string{"", "a b", "a:b", "a/b", strings.Repeat("x", 81), "a\x01", "ü\xff"} {
		req.Name = name
		if _, err := b.Start(t.Context(), req); !errors.Is(err, durable.ErrName) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	req.Name, req.Input = "y", json.RawMessage(`"`+strings.Repeat("x", asl.MaxPayload)+`"`)
	if _, err := b.Start(t.Context(), req); !errors.Is(err, durable.ErrTooLarge) {
		t.Errorf("large input: %v", err)
	}
}

const pages = `{"StartAt":"m","States":{"m":{"Type":"Map","ItemsPath":"$.items","MaxConcurrency":0,
	"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"p","States":{
	 "p":{"Type":"Map","ItemsPath":"$","ItemProcessor":{"StartAt":"w","States":{"w":{"Type":"Task",
	  "Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken",
	  "Parameters":{"QueueUrl":"https://queue.local/work","MessageBody":{"token.$":"$$.Task.Token","v.$":"$"}},"End":true}}},
	  "End":true}}},
	"End":true}}}`

// A page that starts sends more messages than one write holds.
func TestDistributedMapAcrossRestarts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var items [][]int
	for page := range 30 {
		items = append(items, nil)
		for i := range 40 {
			items[page] = append(items[page], page*40+i)
		}
	}
	input, err := json.Marshal(map[string]any{"items": items})
	b.ok(err)
	b.start("x", pages, string(input))
	done := 0
	for {
		m, token := b.receive()
		if m == nil {
			break
		}
		b.ok(b.Succeed(t.Context(), token, json.RawMessage(`0`)))
		b.ok(b.Delete(t.Context(), m))
		if done++; done%200 == 0 {
			b.restart()
		}
	}
	if done != 1200 {
		t.Errorf("%d messages", done)
	}
	children, err := durable.Reader{Store: b.store}.Children(t.Context(), "x")
	b.ok(err)
	if len(children) != 30 {
		t.Errorf("children %v", children)
	}
	before := b.types(children[7])
	_, err = b.Fold(t.Context(), 1)
	b.ok(err)
	if after := b.types(children[7]); len(after) != len(before) || len(after) < 40 {
		t.Errorf("folded child has %d events, not %d", len(after), len(before))
	}
	row := "[" + strings.TrimSuffix(strings.Repeat("0,", 40), ",") + "]"
	b.wants("x", asl.Succeeded, "["+strings.TrimSuffix(strings.Repeat(row+",", 30), ",")+"]")
}

func TestFoldAndPrune(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		b.start(fmt.Sprintf("x%d", i), twoCalls, `{}`)
		b.serve(echo)
		b.now = b.now.Add(time.Hour)
	}
	before := b.types("x3")
	for n := 1; n > 0; {
		var err error
		n, err = b.Fold(t.Context(), 2)
		b.ok(err)
	}
	if after := b.types("x3"); strings.Join(before, " ") != strings.Join(after, " ") {
		t.Errorf("folded history differs: %v", after)
	}
	n, err := b.Prune(t.Context(), b.now.Add(-90*time.Minute), 100)
	b.ok(err)
	var left []durable.Description
	b.ok(durable.Reader{Store: b.store}.Each(t.Context(), func(d durable.Description) bool {
		left = append(left, d)
		return true
	}))
	if n != 4 || len(left) != 1 || left[0].Name != "x4" {
		t.Errorf("pruned %d, left %+v", n, left)
	}
	if _, err := (durable.Reader{Store: b.store}).Describe(t.Context(), "x3"); !errors.Is(err, durable.ErrAbsent) {
		t.Errorf("pruned execution: %v", err)
	}
}

func TestChildExecution(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, want string }{
		{".sync:2", `{"n":1}`}, {".sync", `"{\"n\":1}"`},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			hash, err := b.Publish(t.Context(), []byte(`{"StartAt":"f","States":{"f":{"Type":"Task","Resource":"arn:aws:lambda:local:000000000000:function:f","End":true}}}`))
			b.ok(err)
			b.ok(b.Name(t.Context(), "inner", hash))
			b.start("x", `{"StartAt":"c","States":{"c":{"Type":"Task","Resource":"arn:aws:states:::states:startExecution`+c.pattern+`",
				"Parameters":{"StateMachineArn":"`+durable.MachineARN("inner")+`","Input":{"n":1}},"OutputPath":"$.Output","End":true}}}`, `{}`)
			b.restart()
			b.serve(echo)
			b.wants("x", asl.Succeeded, c.want)
		})
	}
}

func TestReadOnlyStoreBreaksTheCore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start("x", twoCalls, `{}`)
	b.ok(b.store.Close())
	calls := b.Calls()
	if err := b.Answer(context.Background(), calls[0], durable.Result{}); err == nil {
		t.Fatal("a failed write was not reported")
	}
	if err := b.Answer(context.Background(), calls[0], durable.Result{}); !errors.Is(err, durable.ErrBroken) {
		t.Errorf("after a failed write: %v", err)
	}
}
