package coordinator_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

const routeLoop = loopHead + `
steps:
  plan: {worker: writer, input: {text: "${input.key}"}}
  reply:
    route:
      - {task: [person], ask: leads}
      - {task: [first, second], worker: writer, backup: backup}
      - {worker: backup}
    by: {task: input.key}
    input: {text: "${plan.text}"}
    on_failure: {then: ask}
  end: {worker: board, input: {n: "${default(reply.n, 0) + 1}"}}
output: {text: "${reply.text}", n: "${end.n}"}
`

// The first row that fits does the step; its backup takes over; the gate knows
// no other worker (R51).
func TestRoute(t *testing.T) {
	t.Parallel()
	for key, output := range map[string]string{
		"first": `{"n":1,"text":"writer writer first"}`, "other": `{"n":1,"text":"backup writer other"}`,
		"second": `{"n":1,"text":"backup writer second"}`,
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(routeLoop, nil))
			usual(w)
			echo := w.work["writer"].do
			w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
				if t.Step == "reply" && strings.Contains(string(t.Input), "second") {
					return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "cannot"}
				}
				return echo(t)
			}}
			run := start(t, w, `{"key":"`+key+`"}`)
			w.run(10*time.Minute, 500)
			if view := want(t, w, run, outerloop.StatusCompleted); string(view.Output) != output {
				t.Errorf("output is %s", view.Output)
			}
		})
	}
}

// A row may ask a person, who fills in the output: checked by the schema, by a
// member of the group only (R51, R46).
func TestRouteAsksAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(routeLoop, nil))
	usual(w)
	run := start(t, w, `{"key":"person"}`)
	w.run(10*time.Minute, 500)
	want(t, w, run, outerloop.StatusAwaitingApproval)
	open, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
	if err != nil || len(open) != 1 || string(open[0].Content) != `{"text":"writer person"}` {
		t.Fatalf("%+v, %v", open, err)
	}
	decide := func(by, edit string) error {
		_, err := w.coord.Decide(w.ctx, coordinator.DecideRequest{Approval: open[0].ID, Verdict: coordinator.Approve, By: by, Edit: json.RawMessage(edit)})
		return err
	}
	for by, edit := range map[string]string{"eve": `{"text":"hi"}`, "ann": `{"txt":"hi"}`, "bob": ""} {
		if err := decide(by, edit); err == nil {
			t.Errorf("%s could answer %s", by, edit)
		}
	}
	if err := decide("bob", `{"text":"by hand","n":4}`); err != nil {
		t.Fatal(err)
	}
	w.run(10*time.Minute, 500)
	view := want(t, w, run, outerloop.StatusCompleted)
	if string(view.Output) != `{"n":5,"text":"by hand"}` {
		t.Errorf("output is %s", view.Output)
	}
}

// Rejected, the row's question is the step's failure, and its rule asks.
func TestRouteAnswerDeclined(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(routeLoop, nil))
	usual(w)
	run := start(t, w, `{"key":"person"}`)
	w.run(10*time.Minute, 500)
	open, _ := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{})
	if _, err := w.coord.Decide(w.ctx, coordinator.DecideRequest{Approval: open[0].ID, Verdict: coordinator.Reject, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	w.run(10*time.Minute, 500)
	view := show(t, w, run)
	if s := steps(view)["reply"]; s.Outcome != outerloop.OutcomeDeclined {
		t.Errorf("reply is %+v", s)
	}
}

const eventsProject = projectFile + `
events:
  session.closed: {type: object, properties: {key: {type: string}, n: {type: integer}}, required: [key], additionalProperties: false}
`

const waitLoop = loopHead + `
steps:
  first: {worker: writer, input: {text: "${input.key}"}}
  pause: {wait: {for: 2h}, after: [first]}
  closed:
    wait: {event: session.closed, match: event.key == input.key, within: 2d}
    after: [pause]
    on_failure: {then: {substitute: {key: late}}, say: No event came.}
  end: {worker: board, after: [closed], input: {n: 1}}
output: {key: "${closed.key}"}
`

func publish(t *testing.T, w *world, data string) {
	t.Helper()
	if _, err := w.coord.Publish(w.ctx, coordinator.PublishRequest{Event: "session.closed", Data: json.RawMessage(data)}); err != nil {
		t.Fatal(err)
	}
}

// A wait ends with the event that matches, whether it comes while the wait is
// open or before; too late is the failure `timeout`, which the rule decides (R9).
func TestWaitForEvent(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]time.Duration{"while waiting": 3 * time.Hour, "before": time.Hour, "never": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(strings.Replace(waitLoop, "deadline: 23h", "deadline: 5d", 1), map[string]string{"outerloop.yaml": eventsProject}))
			usual(w)
			run := start(t, w, `{"key":"a"}`)
			if when > 0 {
				w.at(w.now.Add(when), "the events", func() {
					publish(t, w, `{"key":"b"}`)
					publish(t, w, `{"key":"a","n":3}`)
				})
			}
			w.run(4*time.Hour, 500)
			output := `{"key":"a"}`
			if when == 0 {
				want(t, w, run, outerloop.StatusInProgress)
				w.run(60*time.Hour, 500)
				output = `{"key":"late"}`
			}
			view := want(t, w, run, outerloop.StatusCompleted)
			if string(view.Output) != output {
				t.Errorf("output is %s", view.Output)
			}
		})
	}
}

const listener = `
loop: listener
version: 1
owner: ops
objective: Hears.
subject: ${input.key}/${input.n}
triggers:
  - event: session.closed
    when: event.key != "not me"
    input: {key: "${event.key}", n: "${default(event.n, 0)}"}
overlap: allow
input: {type: object, properties: {key: {type: string}, n: {type: integer}}, required: [key, n], additionalProperties: false}
budget: {cost: 1.00 USD, deadline: 23h, otherwise: ask}
defaults: {on_failure: {then: skip}}
steps:
  hear: {worker: writer, input: {text: "${input.key}"}}
output: {heard: "${hear.text}"}
`

const follower = `
loop: follower
version: 1
owner: ops
objective: Follows.
subject: ${input.of}
triggers:
  - after: test
    input: {of: "${event.subject}", n: "${event.output.n}"}
overlap: allow
input: {type: object, properties: {of: {type: string}, n: {type: integer}}, required: [of, n], additionalProperties: false}
budget: {cost: 1.00 USD, deadline: 23h, otherwise: ask}
defaults: {on_failure: {then: skip}}
steps:
  follow: {worker: board, input: {n: "${input.n + 1}"}}
output: {n: "${follow.n}"}
`

// A step's event starts the loops that subscribe, a completed run those that
// follow; a paused loop takes what it missed when it goes on (R11).
func TestEventsStartLoops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(loopHead+`
steps:
  first: {worker: board, input: {n: 1}, emit: {event: session.closed, data: {key: "${input.key}", n: "${output.n}"}}}
  second: {worker: board, after: [first], input: {n: 2}, emit: {event: session.closed, data: {key: "${input.key}", n: "${output.n}"}}}
output: {n: "${second.n}"}
`, map[string]string{"outerloop.yaml": eventsProject, "statemachines/listener.loop.yaml": listener, "statemachines/follower.loop.yaml": follower}))
	usual(w)
	if err := w.coord.Pause(w.ctx, "listener"); err != nil {
		t.Fatal(err)
	}
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 500)
	want(t, w, run, outerloop.StatusCompleted)
	runs := func(loop string) []coordinator.RunView {
		t.Helper()
		out, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{Loop: loop})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := runs("follower"); len(got) != 1 || got[0].Subject != "a" || string(got[0].Output) != `{"n":3}` {
		t.Errorf("followers %+v", got)
	}
	if got := runs("listener"); len(got) != 0 {
		t.Fatalf("a paused loop was started: %+v", got)
	}
	if err := w.coord.Resume(w.ctx, "listener"); err != nil {
		t.Fatal(err)
	}
	publish(t, w, `{"key":"not me"}`)
	w.run(10*time.Minute, 500)
	got := runs("listener")
	if len(got) != 2 || got[1].Subject != "a/1" || got[0].Subject != "a/2" {
		t.Errorf("listeners %+v", got)
	}
}

const inner = `
loop: inner
version: 1
owner: ops
objective: The inner one.
subject: ${input.text}
input: {type: object, properties: {text: {type: string}}, required: [text], additionalProperties: false}
budget: {cost: 0.50 USD, deadline: 20h, otherwise: ask}
defaults: {on_failure: {then: halt}}
steps:
  work: {worker: writer, input: {text: "${input.text}"}}
output: {text: "inner ${work.text}"}
`

const outer = loopHead + `
steps:
  plan: {worker: lister, input: {n: 2}}
  parts:
    each: plan.items
    as: part
    key: ${part.id}
    max_items: 10
    join: {need: 1, otherwise: halt}
    steps:
      sub: {loop: inner, input: {text: "${part.id}"}, budget: {cost: 0.20 USD}, on_failure: {then: skip}}
    output: {text: "${sub.text}"}
output: {parts: "${parts.results}"}
`

// A step may be a loop of its own: its run has the parent's subject, step and
// money; its output is the step's (R10).
func TestSubLoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(outer, map[string]string{"statemachines/inner.loop.yaml": inner}))
	usual(w)
	run := start(t, w, `{"key":"a"}`)
	w.run(10*time.Minute, 1000)
	view := want(t, w, run, outerloop.StatusCompleted)
	if string(view.Output) != `{"parts":[{"text":"inner writer D-0"},{"text":"inner writer D-1"}]}` {
		t.Errorf("output is %s", view.Output)
	}
	subs, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{Loop: "inner"})
	if err != nil || len(subs) != 2 || !strings.HasPrefix(subs[0].Subject, "a/parts[D-") {
		t.Errorf("%+v %v", subs, err)
	}
}

// A cancelled parent cancels its children; a child that is closed by a person
// is a failure of the parent's step.
func TestSubLoopEnds(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"cancel parent", "cancel child", "close child", "retry child"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(outer, map[string]string{"statemachines/inner.loop.yaml": inner}))
			usual(w)
			echo := w.work["writer"].do
			broken := true
			w.work["writer"] = worker{do: func(t gate.Task) (any, *gate.Failure) {
				if broken && strings.Contains(string(t.Input), "D-1") {
					return nil, &gate.Failure{Class: outerloop.ClassFatal, Message: "cannot"}
				}
				return echo(t)
			}}
			run := start(t, w, `{"key":"a"}`)
			w.run(10*time.Minute, 1000)
			want(t, w, run, outerloop.StatusInProgress)
			exc := exceptionOf(t, w)
			if exc.Loop != "inner" {
				t.Fatalf("exception %+v", exc)
			}
			status, output := outerloop.StatusCompleted, `{"parts":[{"text":"inner writer D-0"}]}`
			var err error
			switch way {
			case "cancel parent":
				_, err = w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: run, By: "ann"})
				status, output = outerloop.StatusFailed, ""
			case "cancel child":
				_, err = w.coord.Cancel(w.ctx, coordinator.PersonRequest{Run: exc.Run, By: "ann"})
			case "close child":
				_, err = w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: coordinator.WayClose, By: "ann"})
			case "retry child":
				broken = false
				_, err = w.coord.Resolve(w.ctx, coordinator.ResolveRequest{Exception: exc.ID, Way: coordinator.WayRetry, By: "ann"})
				output = `{"parts":[{"text":"inner writer D-0"},{"text":"inner writer D-1"}]}`
			}
			if err != nil {
				t.Fatal(err)
			}
			w.run(10*time.Minute, 1000)
			if view := want(t, w, run, status); string(view.Output) != output {
				t.Errorf("output is %s", view.Output)
			}
			if child := show(t, w, exc.Run); !child.Status.Closed() {
				t.Errorf("the child is %s", child.Status)
			}
		})
	}
}

// Where runs do not overlap, a start waits for its turn, in order (R63).
func TestOverlap(t *testing.T) {
	t.Parallel()
	for policy, wanted := range map[string]string{
		"overlap: queue":              "a b c",
		"overlap: allow\nat_once: 2":  "a b c",
		"overlap: replace":            "c",
		"overlap: skip":               "a",
		"overlap: allow\nat_once: 10": "a b c",
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(strings.Replace(loopHead, "subject:", policy+"\nsubject:", 1)+`
steps:
  one: {worker: writer, input: {text: "${input.key}"}}
  pause: {wait: {for: 1h}, after: [one]}
  two: {worker: writer, after: [pause], input: {text: "${input.key}"}}
`, nil))
			usual(w)
			most := 0
			for _, key := range []string{"a", "b", "c"} {
				_, err := w.coord.Start(w.ctx, coordinator.StartRequest{Loop: "test", Input: json.RawMessage(`{"key":"` + key + `"}`)})
				if err != nil && policy != "overlap: skip" {
					t.Fatal(err)
				}
				w.run(time.Minute, 500)
				w.now = w.now.Add(time.Second)
			}
			for range 5 {
				open, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{Loop: "test", Open: true})
				if err != nil {
					t.Fatal(err)
				}
				working := 0
				for _, r := range open {
					if r.Status == outerloop.StatusInProgress {
						working++
					}
				}
				most = max(most, working)
				w.run(61*time.Minute, 1000)
			}
			if bound := map[string]int{"overlap: allow\nat_once: 2": 2, "overlap: allow\nat_once: 10": 3}[policy]; most != max(bound, 1) {
				t.Errorf("%d runs at a time", most)
			}
			all, err := w.coord.Runs(w.ctx, coordinator.RunsQuery{Loop: "test"})
			if err != nil {
				t.Fatal(err)
			}
			var done []string
			for i := len(all) - 1; i >= 0; i-- {
				if all[i].Status == outerloop.StatusCompleted {
					done = append(done, all[i].Subject)
				}
			}
			if got := strings.Join(done, " "); got != wanted {
				t.Errorf("completed %q, want %q\n%s", got, wanted, w.tail(40))
			}
		})
	}
}

// A row's work is reviewed like any other, and goes back to the row that was
// chosen (R7, R51).
func TestRouteWithReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files(strings.Replace(routeLoop, "    on_failure: {then: ask}", `    review:
      worker: checker
      input: {text: "${output.text}"}
      pass: verdict.faults.size() == 0
      revisions: 2
      otherwise: approve`, 1), nil))
	usual(w)
	looked := 0
	w.work["checker"] = worker{do: func(gate.Task) (any, *gate.Failure) {
		if looked++; looked == 1 {
			return map[string]any{"faults": []string{"too short"}}, nil
		}
		return map[string]any{"faults": []string{}}, nil
	}}
	run := start(t, w, `{"key":"first"}`)
	w.run(10*time.Minute, 500)
	view := want(t, w, run, outerloop.StatusCompleted)
	if s := steps(view)["reply"]; looked != 2 || s.Worker != "writer" || string(view.Output) != `{"n":1,"text":"writer writer first"}` {
		t.Errorf("reviewed %d times, reply %+v, output %s", looked, s, view.Output)
	}
}

// People may be asked about a sub-loop's output; what they edit is what later
// steps read (R46).
func TestSubLoopApproved(t *testing.T) {
	t.Parallel()
	for _, verdict := range []string{coordinator.Approve, coordinator.Reject} {
		t.Run(verdict, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, files(loopHead+`
steps:
  sub:
    loop: inner
    input: {text: a}
    approval: {when: output.text.size() > 3, ask: "Take ${output.text}?"}
  end: {worker: writer, input: {text: "${sub.text}"}}
output: {text: '${default(end.text, "none")}'}
`, map[string]string{"statemachines/inner.loop.yaml": inner}))
			usual(w)
			run := start(t, w, `{"key":"a"}`)
			w.run(10*time.Minute, 1000)
			want(t, w, run, outerloop.StatusAwaitingApproval)
			open, err := w.coord.Approvals(w.ctx, coordinator.ApprovalsQuery{Run: run})
			if err != nil || len(open) != 1 || open[0].Ask != "Take inner writer a?" {
				t.Fatalf("%+v %v", open, err)
			}
			req := coordinator.DecideRequest{Approval: open[0].ID, Verdict: verdict, By: "ann"}
			output := `{"text":"none"}`
			if verdict == coordinator.Approve {
				req.Edit, output = json.RawMessage(`{"text":"edited"}`), `{"text":"writer edited"}`
			}
			if _, err := w.coord.Decide(w.ctx, req); err != nil {
				t.Fatal(err)
			}
			w.run(10*time.Minute, 1000)
			if view := want(t, w, run, outerloop.StatusCompleted); string(view.Output) != output {
				t.Errorf("output is %s", view.Output)
			}
		})
	}
}
