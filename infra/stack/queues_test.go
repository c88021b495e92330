package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A message stays hidden at least six times as long as its function may run,
// and comes to an end in a queue that keeps it longer.
func TestQueues(t *testing.T) {
	t.Parallel()
	mapped := 0
	whole.every(func(name string, tpl template) {
		for _, id := range tpl.of("AWS::SQS::Queue") {
			q := tpl.Resources[id].Properties
			if at(q, "SqsManagedSseEnabled") != true {
				t.Errorf("%s: %s is not encrypted", name, id)
			}
			if strings.HasSuffix(fmt.Sprint(q["QueueName"]), "-dlq") || q["QueueName"] == "acme-missed" {
				continue // dead-letter queues
			}
			dead := flat(at(q, "RedrivePolicy", "deadLetterTargetArn"))
			_, target := tpl.one(t, "AWS::SQS::Queue", strings.TrimSuffix(strings.TrimPrefix(dead, "<"), ".Arn>"))
			if seconds(target.Properties["MessageRetentionPeriod"]) < seconds(q["MessageRetentionPeriod"])+86400 {
				t.Errorf("%s: %s: its dead letters are kept hardly longer than it keeps messages", name, id)
			}
		}
		for _, id := range tpl.of("AWS::Lambda::EventSourceMapping") {
			mapped++
			m := tpl.Resources[id].Properties
			queue := tpl.Resources[strings.TrimSuffix(strings.TrimPrefix(flat(m["EventSourceArn"]), "<"), ".Arn>")]
			function := tpl.Resources[strings.Trim(flat(m["FunctionName"]), "<>")]
			if seconds(queue.Properties["VisibilityTimeout"]) < 6*seconds(function.Properties["Timeout"]) {
				t.Errorf("%s: %v hides messages for %v s, its function runs up to %v", name, queue.Properties["QueueName"], queue.Properties["VisibilityTimeout"], function.Properties["Timeout"])
			}
			if got := list(m["FunctionResponseTypes"]); len(got) != 1 || got[0] != "ReportBatchItemFailures" {
				t.Errorf("%s: batches are answered %v", name, got)
			}
			if n := seconds(at(m, "ScalingConfig", "MaximumConcurrency")); n < 2 {
				t.Errorf("%s: maximum concurrency %v", name, n)
			}
			if strings.HasPrefix(name, "Worker") && m["BatchSize"] != 1.0 {
				t.Errorf("%s: batches of %v", name, m["BatchSize"])
			}
		}
	})
	if mapped < 15 {
		t.Errorf("%d queues are worked off", mapped)
	}
}

// What is sent asynchronously is kept where it cannot be delivered.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	whole.every(func(name string, tpl template) {
		for _, id := range tpl.of("AWS::Scheduler::Schedule") {
			if at(tpl.Resources[id].Properties, "Target", "DeadLetterConfig", "Arn") == nil {
				t.Errorf("%s: schedule %s has no dead-letter queue", name, id)
			}
		}
		for _, id := range tpl.of("AWS::Events::Rule") {
			for _, target := range list(tpl.Resources[id].Properties["Targets"]) {
				if at(target, "DeadLetterConfig", "Arn") == nil {
					t.Errorf("%s: rule %s has no dead-letter queue", name, id)
				}
			}
		}
	})
	root := whole.Templates[""]
	for _, prefix := range []string{"LoopsTrigger", "LoopsWatch"} {
		_, async := root.one(t, "AWS::Lambda::EventInvokeConfig", prefix)
		if at(async.Properties, "DestinationConfig", "OnFailure", "Destination") == nil {
			t.Errorf("%s loses what it fails at", prefix)
		}
	}
}

// state is what is read of a machine's states, at any depth.
type state struct {
	Type, Comment  string
	Resource       string
	TimeoutSeconds float64
	Parameters     struct{ FunctionName, QueueUrl string }
	States         map[string]state
	Branches       []struct{ States map[string]state }
	ItemProcessor  struct{ States map[string]state }
}

func (s state) visit(seen func(state)) {
	seen(s)
	for _, in := range []map[string]state{s.States, s.ItemProcessor.States} {
		for _, inner := range in {
			inner.visit(seen)
		}
	}
	for _, branch := range s.Branches {
		state{States: branch.States}.visit(seen)
	}
}

// A state waits longer than its function may run: the function is never left behind.
func TestStateTimeouts(t *testing.T) {
	t.Parallel()
	timeout := map[string]float64{}
	for name, f := range whole.functions() {
		timeout[name] = seconds(f.Properties["Timeout"])
	}
	longest := timeout["acme-approval"]
	files, err := filepath.Glob("../../statemachines/*.asl.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	checked := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var machine state
		if err := json.Unmarshal(raw, &machine); err != nil {
			t.Fatal(err)
		}
		machine.visit(func(s state) {
			if !strings.HasPrefix(s.Resource, "arn:aws:states:::") {
				return
			}
			checked++
			limit := longest
			for name, seconds := range timeout {
				worker := camel(strings.TrimPrefix(name, "acme-worker-"))
				if s.Parameters.FunctionName == "${Worker"+worker+"}" || s.Parameters.QueueUrl == "${Queue"+worker+"}" {
					limit = seconds
				}
			}
			if s.TimeoutSeconds <= limit {
				t.Errorf("%s: a state of %s%s waits %v s, its function runs up to %v", filepath.Base(file), s.Parameters.FunctionName, s.Parameters.QueueUrl, s.TimeoutSeconds, limit)
			}
		})
	}
	if checked < 100 {
		t.Errorf("%d states", checked)
	}
}

// R62: schedules carry the fire's nominal time and their zone; a late fire is given up soon.
func TestSchedules(t *testing.T) {
	t.Parallel()
	fires := whole.Templates["Fires"]
	got := map[string]string{}
	for _, id := range fires.of("AWS::Scheduler::Schedule") {
		s := fires.Resources[id].Properties
		got[fmt.Sprint(s["Name"])] = fmt.Sprintf("%v %v", s["ScheduleExpression"], s["ScheduleExpressionTimezone"])
		var input struct {
			Trigger struct {
				Loop, Scheduled string
				Index           *int
			}
		}
		if err := json.Unmarshal([]byte(fmt.Sprint(at(s, "Target", "Input"))), &input); err != nil {
			t.Fatal(err)
		}
		if input.Trigger.Scheduled != "<aws.scheduler.scheduled-time>" || input.Trigger.Index == nil || input.Trigger.Loop == "" {
			t.Errorf("%v sends %v", s["Name"], at(s, "Target", "Input"))
		}
		if age := time.Duration(seconds(at(s, "Target", "RetryPolicy", "MaximumEventAgeInSeconds"))) * time.Second; age > 15*time.Minute {
			t.Errorf("%v is tried for %s", s["Name"], age)
		}
		if at(s, "FlexibleTimeWindow", "Mode") != "OFF" {
			t.Errorf("%v is not punctual", s["Name"])
		}
	}
	for name, want := range map[string]string{
		"acme-crm-followup-0":    "cron(0 7 ? * MON-FRI *) Europe/Berlin",
		"acme-inventory-watch-0": "rate(30 minutes) UTC",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// A machine is made after its definition was published; a version of it is named
// after that; nothing fires before. Workers that runs need are asked for first.
func TestOrder(t *testing.T) {
	t.Parallel()
	root := whole.Templates[""]
	after := func(kind, id string) []string {
		key, r := root.one(t, kind, "Loops"+id)
		var out []string
		for _, on := range list(r.DependsOn) {
			out = append(out, strings.TrimPrefix(fmt.Sprint(on), "Loops"))
		}
		_ = key
		return out
	}
	tests := []struct{ kind, id, before string }{
		{"Custom::OuterloopDefinition", "DefinitionCrmFollowup", "Workers"},
		{"AWS::CloudFormation::Stack", "WorkerCrmScan", "Workers"},
		{"AWS::CloudFormation::Stack", "LoopCrmFollowup", "DefinitionCrmFollowup"},
		{"Custom::OuterloopLatest", "LatestCrmFollowup", "LoopCrmFollowup"},
		{"AWS::CloudFormation::Stack", "Fires", "LatestCrmFollowup"},
	}
	for _, tt := range tests {
		if got := after(tt.kind, tt.id); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, tt.before) }) {
			t.Errorf("%s comes after %v, and not after %s", tt.id, got, tt.before)
		}
	}
}

// The machines read like the loops in Step Functions' console: each says which
// loop and version it is, each state what it does. Definitions are assets, so
// that no template comes near its limit.
func TestMachines(t *testing.T) {
	t.Parallel()
	machines := 0
	whole.every(func(name string, tpl template) {
		for _, id := range tpl.of("AWS::StepFunctions::StateMachine") {
			machines++
			m := tpl.Resources[id].Properties
			if m["DefinitionS3Location"] == nil || m["DefinitionString"] != nil || m["StateMachineType"] != "STANDARD" {
				t.Errorf("%s: %v of type %v", name, slices.Sorted(maps.Keys(m)), m["StateMachineType"])
			}
		}
	})
	files, err := filepath.Glob("../../statemachines/*.asl.json")
	if err != nil || len(files) != machines {
		t.Fatalf("%d machines, %d files, %v", machines, len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		loop := strings.TrimSuffix(filepath.Base(file), ".asl.json")
		var top struct{ Comment string }
		var machine state
		if err := errors.Join(json.Unmarshal(raw, &top), json.Unmarshal(raw, &machine)); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(top.Comment, loop+", version ") || len(raw) > 500_000 {
			t.Errorf("%s of %d bytes says %q", loop, len(raw), top.Comment)
		}
		machine.visit(func(s state) {
			if s.Type != "" && s.Type != "Parallel" && s.Comment == "" { // a Parallel is named by its branches
				t.Errorf("%s: a %s says nothing", loop, s.Type)
			}
		})
	}
}
