package sfnapi_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/local/durable"
)

// TestThroughTheCLI works with the installed `aws` command against the endpoint,
// one call of each operation; without that command it is skipped.
func TestThroughTheCLI(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("aws")
	if err != nil {
		t.Skip("there is no aws command here")
	}
	_, core, url := setup(t)
	env := []string{
		"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_PAGER=", "HOME=" + t.TempDir(),
		"AWS_EC2_METADATA_DISABLED=true", "AWS_DISABLE_HOST_PREFIX_INJECTION=true", // else it calls sync-localhost for TestState
		"NO_PROXY=localhost,127.0.0.1", "PATH=/usr/bin:/bin",
	}
	call := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), path, append([]string{"stepfunctions", "--endpoint-url", url, "--output", "text"}, args...)...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("aws stepfunctions %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	see := func(want string, args ...string) {
		t.Helper()
		if got := call(args...); got != want {
			t.Errorf("aws stepfunctions %s: %q, want %q", strings.Join(args, " "), got, want)
		}
	}
	machine := durable.MachineARN("m")
	see(machine, "create-state-machine", "--name", "m", "--definition", waiting, "--role-arn", "arn:aws:iam::000000000000:role/x", "--query", "stateMachineArn")
	see("m", "describe-state-machine", "--state-machine-arn", machine, "--query", "name")
	see("FAIL", "validate-state-machine-definition", "--definition", `{"StartAt":"a"}`, "--query", "result")
	tokens := map[string]string{}
	for _, name := range []string{"one", "two", "three"} {
		see(durable.ExecutionARN("m", name), "start-execution", "--state-machine-arn", machine, "--name", name, "--input", `{"n":1}`, "--query", "executionArn")
		tokens[name] = receive(t, core)
	}
	call("send-task-heartbeat", "--task-token", tokens["one"])
	call("send-task-success", "--task-token", tokens["one"], "--task-output", `{"done":true}`)
	call("send-task-failure", "--task-token", tokens["two"], "--error", "Bad", "--cause", "day")
	call("stop-execution", "--execution-arn", durable.ExecutionARN("m", "three"))
	for name, status := range map[string]string{"one": "SUCCEEDED", "two": "FAILED", "three": "ABORTED"} {
		see(status, "describe-execution", "--execution-arn", durable.ExecutionARN("m", name), "--query", "status")
	}
	see("one", "list-executions", "--state-machine-arn", machine, "--status-filter", "SUCCEEDED", "--query", "executions[].name")
	see("ExecutionSucceeded", "get-execution-history", "--execution-arn", durable.ExecutionARN("m", "one"), "--query", "events[-1].type")
	see("7", "test-state", "--definition", `{"Type":"Pass","Parameters":{"v.$":"$v"},"OutputPath":"$.v","End":true}`, "--variables", `{"v":7}`, "--query", "output")
}
