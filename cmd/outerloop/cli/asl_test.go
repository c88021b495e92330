package cli_test

import (
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

const machine = `{"StartAt": "Pause", "States": {
  "Pause": {"Type": "Wait", "Seconds": 31536000, "Next": "Charge"},
  "Charge": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "charge", "Payload.$": "$"},
    "ResultSelector": {"id.$": "$.Payload.id"},
    "Retry": [{"ErrorEquals": ["Service.Down"], "IntervalSeconds": 1, "MaxAttempts": 2}], "End": true}}}`

// A machine is rehearsed with prepared answers, in no time.
func TestASLRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("machine.json", machine)
	b.write("answers.json", `{"Charge": [{"error": "Service.Down", "cause": "503"}, {"result": {"Payload": {"id": 7}}}]}`)
	b.want(0, "asl", "run", "machine.json", "--mocks", "answers.json").has(t, "SUCCEEDED", `{"id":7}`, "TaskFailed")
	doc := decode[struct {
		Status string
		Output map[string]int
		Events []string
	}](t, b.want(0, "asl", "run", "machine.json", "--mocks", "answers.json", "-o", "json").out)
	if doc.Status != "SUCCEEDED" || doc.Output["id"] != 7 || len(doc.Events) == 0 {
		t.Errorf("asl run -o json: %+v", doc)
	}
	b.write("down.json", `{"Charge": [{"error": "Service.Gone", "cause": "410"}]}`)
	b.want(cli.ExitFailed, "asl", "run", "machine.json", "--mocks", "down.json").has(t, "FAILED", "Service.Gone")
	b.want(cli.ExitUsage, "asl", "run", "machine.json").has(t, "Charge", "--mocks FILE")
	b.write("odd.json", `{"Charge": [{}]}`)
	b.want(cli.ExitUsage, "asl", "run", "machine.json", "--mocks", "odd.json").has(t, "odd.json", "either a result or an error")
	b.in = `{"n": 3} trailing`
	b.want(cli.ExitUsage, "asl", "run", "machine.json", "--input", "-").has(t, "not JSON")
	b.want(cli.ExitUsage, "asl", "run", "machine.json", "--at", "noon").has(t, "--at")
}

// Every error of a definition is reported, in text and as data.
func TestASLValidate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("good.json", machine)
	b.write("bad.json", strings.Replace(machine, `"Next": "Charge"`, `"Next": "Chrage"`, 1))
	b.want(0, "asl", "validate", "good.json").has(t, "1 definition is valid")
	b.want(cli.ExitUsage, "asl", "validate", "good.json", "bad.json").has(t, "bad.json", "MISSING_TRANSITION_TARGET", "Chrage")
	found := decode[[]map[string]string](t, b.want(cli.ExitUsage, "asl", "validate", "bad.json", "-o", "json").out)
	if len(found) == 0 || found[0]["code"] == "" || found[0]["path"] == "" || found[0]["file"] != "bad.json" {
		t.Errorf("asl validate -o json: %v", found)
	}
	if got := b.want(0, "asl", "validate", "good.json", "-o", "json").out; strings.TrimSpace(got) != "[]" {
		t.Errorf("a valid definition gives %q", got)
	}
	b.want(cli.ExitUsage, "asl", "validate", "nowhere.json").has(t, "no such file")
	b.want(cli.ExitUsage, "asl", "run", "bad.json").has(t, "bad.json", "Chrage")
}
