package asl_test

import (
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// A driver applies one event after the other and carries out what comes back.
func ExampleExecution_Apply() {
	m, err := asl.Load([]byte(`{
		"StartAt": "Greet",
		"States": {
			"Greet": {
				"Type": "Task",
				"Resource": "arn:aws:states:::lambda:invoke",
				"Parameters": {"FunctionName": "greet", "Payload.$": "$.name"},
				"OutputPath": "$.Payload",
				"End": true
			}
		}
	}`))
	if err != nil {
		log.Fatal(err)
	}
	x := asl.New(m)
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	step, err := x.Apply(asl.Event{Kind: asl.Start, Time: now, Start: &asl.StartDetails{Input: json.RawMessage(`{"name":"Ada"}`)}})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range step.History {
		fmt.Println(h.ID, h.Type)
	}
	task := step.Effects[0].(asl.ScheduleTask)
	fmt.Println("to do:", task.Resource.HistoryResource(), string(task.Input))

	_, err = x.Apply(asl.Event{Kind: asl.TaskSucceeded, Time: now.Add(time.Second), Task: task.Task, Output: json.RawMessage(`{"Payload":"Hello, Ada"}`)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(x.Status(), string(x.Output()))
	// Output:
	// 1 ExecutionStarted
	// 2 TaskStateEntered
	// 3 TaskScheduled
	// 4 TaskStarted
	// to do: invoke {"FunctionName":"greet","Payload":"Ada"}
	// SUCCEEDED "Hello, Ada"
}

// Load reports everything that is wrong, with its place.
func ExampleLoad() {
	_, err := asl.Load([]byte(`{"StartAt":"A","States":{"A":{"Type":"Pass","ResultPath":"$.x[*]","Next":"B"}}}`))
	fmt.Println(err)
	// Output:
	// Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: Value is not a Reference Path: "$.x[*]" at /States/A/ResultPath, MISSING_TRANSITION_TARGET: Missing 'Next' target: B at /States/A/Next'
}
