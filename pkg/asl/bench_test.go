package asl_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// fourTasks is a run of four tasks in a row.
func fourTasks(tb testing.TB) *asl.Machine {
	tb.Helper()
	states := asl.Object{}
	for i := 1; i <= 4; i++ {
		s := asl.Object{}.Add("Type", "Task").Add("Resource", "arn:aws:states:::sqs:sendMessage.waitForTaskToken").
			Add("TimeoutSeconds", 60).
			Add("Parameters", asl.Object{}.Add("QueueUrl", "https://sqs/q").Add("MessageBody",
				asl.Object{}.Add("token.$", "$$.Task.Token").Add("run.$", "$.run").Add("step", fmt.Sprint(i)).Add("n.$", "$$.State.RetryCount"))).
			Add("ResultPath", fmt.Sprintf("$.o.s%d", i)).
			Add("Retry", asl.List{asl.Object{}.Add("ErrorEquals", asl.List{"Worker.Transient"})})
		if i == 4 {
			s = s.Add("End", true)
		} else {
			s = s.Add("Next", fmt.Sprintf("S%d", i+1))
		}
		states = states.Add(fmt.Sprintf("S%d", i), s)
	}
	d, err := asl.Encode(asl.Object{}.Add("StartAt", "S1").Add("States", states))
	if err != nil {
		tb.Fatal(err)
	}
	m, err := asl.Load(d)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// BenchmarkFourTasks is one execution of four tasks with 1 KB of input and
// output: five transitions, each with a snapshot and its history as JSON.
func BenchmarkFourTasks(b *testing.B) {
	m := fourTasks(b)
	input := json.RawMessage(`{"run":"r1","o":{},"text":"` + strings.Repeat("x", 1000) + `"}`)
	output := json.RawMessage(`{"outcome":"ok"}`)
	for _, mode := range []string{"apply", "apply+snapshot", "apply+snapshot+history"} {
		b.Run(mode, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x := asl.New(m)
				ev := asl.Event{Kind: asl.Start, Time: time.Unix(0, 0), Start: &asl.StartDetails{Input: input, Name: "n", ID: "arn:aws:states:us-east-1:1:execution:m:n"}}
				for {
					step, err := x.Apply(ev)
					if err != nil {
						b.Fatal(err)
					}
					if mode != "apply" {
						if _, err := x.Snapshot(); err != nil {
							b.Fatal(err)
						}
					}
					if mode == "apply+snapshot+history" {
						for _, h := range step.History {
							if _, err := h.MarshalJSON(); err != nil {
								b.Fatal(err)
							}
						}
					}
					task, ok := step.Effects[len(step.Effects)-1].(asl.ScheduleTask)
					if !ok {
						break
					}
					ev = asl.Event{Kind: asl.TaskSucceeded, Time: time.Unix(1, 0), Task: task.Task, Output: output}
				}
			}
		})
	}
}

// BenchmarkMap is an inline Map of many items of one Pass each.
func BenchmarkMap(b *testing.B) {
	m, err := asl.Load([]byte(`{"StartAt":"M","States":{"M":{"Type":"Map","ItemProcessor":{"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}},"End":true}}}`))
	if err != nil {
		b.Fatal(err)
	}
	input := json.RawMessage("[" + strings.TrimSuffix(strings.Repeat(`{"id":1},`, 1000), ",") + "]")
	b.ReportAllocs()
	for b.Loop() {
		x := asl.New(m)
		due := []asl.Event{{Kind: asl.Start, Start: &asl.StartDetails{Input: input}}}
		for !x.Status().Ended() {
			step, err := x.Apply(due[0])
			if err != nil {
				b.Fatal(err)
			}
			due = due[1:]
			for _, e := range step.Effects {
				if timer, ok := e.(asl.StartTimer); ok {
					due = append(due, asl.Event{Kind: asl.TimerFired, Timer: timer.Timer})
				}
			}
		}
	}
}
