package sfnapi_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"

	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/local/sfnapi"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// setup serves a core that nobody drives: what the API does is done at once.
func setup(t *testing.T) (*sfn.Client, *durable.Core, string) {
	t.Helper()
	store, err := sqlitestore.Open(filepath.Join(t.TempDir(), "state.db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	core, err := durable.New(durable.Config{Store: store, Blobs: store.Relaxed(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := sfnapi.Listen("localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: sfnapi.New(sfnapi.Config{
		Core: core, Store: store, Blobs: store, Settle: store.Sync, Clock: time.Now,
	})}
	go server.Serve(listener) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { server.Close() })
	url := "http://" + listener.Addr().String()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, listener.Addr().String())
	}
	client := sfn.New(sfn.Options{
		Region: "local", BaseEndpoint: aws.String(url), RetryMaxAttempts: 1,
		HTTPClient:  &http.Client{Transport: &http.Transport{DialContext: dial}}, // the SDK calls sync-127.0.0.1 too
		Credentials: credentials.NewStaticCredentialsProvider("x", "x", ""),
	})
	return client, core, url
}

const waiting = `{"StartAt":"w","States":{"w":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken",
	"Parameters":{"QueueUrl":"https://queue.local/work","MessageBody":{"token.$":"$$.Task.Token"}},"HeartbeatSeconds":60,"End":true}}}`

func TestExecutionsThroughTheSDK(t *testing.T) {
	t.Parallel()
	client, core, _ := setup(t)
	ctx := t.Context()
	made, err := client.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: aws.String("m"), Definition: aws.String(waiting), RoleArn: aws.String("arn:aws:iam::000000000000:role/x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for _, name := range []string{"one", "two", "three"} {
		_, err := client.StartExecution(ctx, &sfn.StartExecutionInput{
			StateMachineArn: made.StateMachineArn, Name: aws.String(name), Input: aws.String(`{"n":1}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, receive(t, core))
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = client.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: &tokens[0]})
	check(err)
	_, err = client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &tokens[0], Output: aws.String(`{"done":true}`)})
	check(err)
	_, err = client.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: &tokens[1], Error: aws.String("Bad"), Cause: aws.String("day")})
	check(err)
	arn := func(name string) *string { return aws.String(durable.ExecutionARN("m", name)) }
	_, err = client.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: arn("three"), Error: aws.String("Enough")})
	check(err)

	one, err := client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: arn("one")})
	check(err)
	if one.Status != types.ExecutionStatusSucceeded || *one.Output != `{"done":true}` || *one.Input != `{"n":1}` || one.StopDate == nil {
		t.Errorf("one: %+v", one)
	}
	two, err := client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: arn("two")})
	check(err)
	if two.Status != types.ExecutionStatusFailed || *two.Error != "Bad" || *two.Cause != "day" {
		t.Errorf("two: %+v", two)
	}
	var timedOut *types.TaskTimedOut
	_, err = client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &tokens[0], Output: aws.String(`1`)})
	if !errors.As(err, &timedOut) {
		t.Errorf("second answer: %v", err)
	}
	list(ctx, t, client, made.StateMachineArn)
	historyOf(ctx, t, client, arn("one"))
}

func receive(t *testing.T, core *durable.Core) string {
	t.Helper()
	for {
		m, err := core.Receive(t.Context(), "work", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if m != nil {
			return strings.Split(string(m.Body), `"`)[3]
		}
	}
}

func list(ctx context.Context, t *testing.T, client *sfn.Client, machine *string) {
	t.Helper()
	seen := map[string]types.ExecutionStatus{}
	pages := sfn.NewListExecutionsPaginator(client, &sfn.ListExecutionsInput{StateMachineArn: machine, MaxResults: 2})
	for n := 0; pages.HasMorePages(); n++ {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Executions {
			seen[*e.Name] = e.Status
		}
	}
	if len(seen) != 3 || seen["three"] != types.ExecutionStatusAborted {
		t.Errorf("listed %v", seen)
	}
}

func historyOf(ctx context.Context, t *testing.T, client *sfn.Client, arn *string) {
	t.Helper()
	var kinds []string
	pages := sfn.NewGetExecutionHistoryPaginator(client, &sfn.GetExecutionHistoryInput{ExecutionArn: arn, MaxResults: 3})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			kinds = append(kinds, string(e.Type))
			if e.Type == types.HistoryEventTypeTaskSucceeded && *e.TaskSucceededEventDetails.Output != `{"done":true}` {
				t.Errorf("details %+v", e.TaskSucceededEventDetails)
			}
			if e.Timestamp == nil || time.Since(*e.Timestamp) > time.Hour {
				t.Errorf("time %v", e.Timestamp)
			}
		}
	}
	want := "ExecutionStarted TaskStateEntered TaskScheduled TaskStarted TaskSubmitted TaskSucceeded TaskStateExited ExecutionSucceeded"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("history %s", got)
	}
}

func TestErrorsHaveTheAPIsNames(t *testing.T) {
	t.Parallel()
	client, _, _ := setup(t)
	ctx := t.Context()
	_, err := client.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: aws.String(durable.MachineARN("none"))})
	var noMachine *types.StateMachineDoesNotExist
	if !errors.As(err, &noMachine) {
		t.Errorf("unknown machine: %v", err)
	}
	_, err = client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: aws.String(durable.ExecutionARN("m", "none"))})
	var noExecution *types.ExecutionDoesNotExist
	if !errors.As(err, &noExecution) {
		t.Errorf("unknown execution: %v", err)
	}
	_, err = client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: aws.String("x"), Output: aws.String("1")})
	var badToken *types.InvalidToken
	if !errors.As(err, &badToken) {
		t.Errorf("bad token: %v", err)
	}
	_, err = client.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: aws.String("m"), Definition: aws.String(`{"StartAt":"a"}`), RoleArn: aws.String("arn:aws:iam::000000000000:role/x"),
	})
	var badDefinition *types.InvalidDefinition
	if !errors.As(err, &badDefinition) {
		t.Errorf("bad definition: %v", err)
	}
	valid, err := client.ValidateStateMachineDefinition(ctx, &sfn.ValidateStateMachineDefinitionInput{Definition: aws.String(`{"StartAt":"a"}`)})
	if err != nil || valid.Result != types.ValidateStateMachineDefinitionResultCodeFail || len(valid.Diagnostics) == 0 {
		t.Errorf("validated %+v, %v", valid, err)
	}
}

func TestTestState(t *testing.T) {
	t.Parallel()
	client, _, _ := setup(t)
	const task = `{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f","Payload.$":"$"},
		"ResultPath":"$.r","Retry":[{"ErrorEquals":["Again"]}],"Catch":[{"ErrorEquals":["Bad"],"ResultPath":"$.e","Next":"oops"}],"Next":"n"}`
	fails := func(name string) *types.MockInput {
		return &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: aws.String(name), Cause: aws.String("c")}}
	}
	cases := []struct {
		state, output, next string
		mock                *types.MockInput
		status              types.TestExecutionStatus
		variables           string
	}{
		{task, `{"a":1,"r":{"x":2}}`, "n", &types.MockInput{Result: aws.String(`{"x":2}`)}, types.TestExecutionStatusSucceeded, ""},
		{task, `{"a":1,"e":{"Error":"Bad","Cause":"c"}}`, "oops", fails("Bad"), types.TestExecutionStatusCaughtError, `{}`},
		{task, ``, "", fails("Again"), types.TestExecutionStatusRetriable, ""},
		{task, ``, "", fails("Other"), types.TestExecutionStatusFailed, ""},
		{`{"Type":"Choice","Choices":[{"Variable":"$.a","NumericEquals":1,"Next":"one"}],"Default":"d"}`, `{"a":1}`, "one", nil, types.TestExecutionStatusSucceeded, ""},
		{`{"Type":"Choice","Choices":[{"Variable":"$n","NumericEquals":2,"Next":"two"}],"Default":"d"}`, `{"a":1}`, "two", nil, types.TestExecutionStatusSucceeded, `{"n":2}`},
		{`{"Type":"Pass","Parameters":{"v.$":"$v.x"},"End":true}`, `{"v":[1]}`, "", nil, types.TestExecutionStatusSucceeded, `{"v":{"x":[1]}}`},
		{`{"Type":"Wait","Seconds":9,"Next":"n"}`, `{"a":1}`, "n", nil, types.TestExecutionStatusSucceeded, ""},
		{`{"Type":"Pass","Result":5,"End":true}`, `5`, "", nil, types.TestExecutionStatusSucceeded, ""},
		{`{"Type":"Map","ResultSelector":{"n.$":"States.ArrayLength($)"},"End":true,"ItemProcessor":{"StartAt":"B","States":{"B":{"Type":"Succeed"}}}}`,
			`{"n":2}`, "", &types.MockInput{Result: aws.String(`[1,2]`)}, types.TestExecutionStatusSucceeded, ""},
		{`{"Type":"Parallel","Branches":[{"StartAt":"B","States":{"B":{"Type":"Succeed"}}}],"Catch":[{"ErrorEquals":["States.ALL"],"Next":"c"}],"End":true}`,
			`{"Error":"Bad","Cause":"c"}`, "c", fails("Bad"), types.TestExecutionStatusCaughtError, ""},
		{`{"Type":"Fail","Error":"F"}`, ``, "", nil, types.TestExecutionStatusFailed, ""},
	}
	for _, c := range cases {
		req := &sfn.TestStateInput{Definition: &c.state, Input: aws.String(`{"a":1}`), Mock: c.mock}
		if c.variables != "" {
			req.Variables = &c.variables
		}
		got, err := client.TestState(t.Context(), req)
		if err != nil {
			t.Errorf("%s: %v", c.state, err)
			continue
		}
		if got.Status != c.status || aws.ToString(got.Output) != c.output || aws.ToString(got.NextState) != c.next {
			t.Errorf("%s: %s, %s, next %s", c.state, got.Status, aws.ToString(got.Output), aws.ToString(got.NextState))
		}
	}
}

// What cannot be tested is refused by name, not answered with something.
func TestTestStateRefuses(t *testing.T) {
	t.Parallel()
	client, _, _ := setup(t)
	result := &types.MockInput{Result: aws.String(`1`)}
	for _, c := range []struct {
		state, kind string
		mock        *types.MockInput
	}{
		{`{"Type":"Pass","End":true}`, "ValidationException", result},
		{`{"Type":"Map","End":true,"ItemProcessor":{"StartAt":"B","States":{"B":{"Type":"Succeed"}}}}`, "ValidationException", nil},
		{`{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","End":true}`, "ValidationException", nil},
		{`{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","End":true}`, "ValidationException", &types.MockInput{}},
		{`{"Type":"Map","End":true,"ItemProcessor":{"StartAt":"no","States":{"B":{"Type":"Succeed"}}}}`, "InvalidDefinition", result},
		{`{"Type":"Wait","Seconds":-1,"End":true}`, "InvalidDefinition", nil},
		{`[`, "InvalidDefinition", nil},
	} {
		_, err := client.TestState(t.Context(), &sfn.TestStateInput{Definition: &c.state, Mock: c.mock})
		var failed smithy.APIError
		if !errors.As(err, &failed) || failed.ErrorCode() != c.kind {
			t.Errorf("%s: %v", c.state, err)
		}
	}
}

func TestOnlyLocalClients(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80"} {
		if _, err := sfnapi.Listen(address); !errors.Is(err, sfnapi.ErrNotLoopback) {
			t.Errorf("%s: %v", address, err)
		}
	}
	_, _, url := setup(t)
	for name, change := range map[string]func(*http.Request){
		"origin": func(r *http.Request) { r.Header.Set("Origin", "https://example.com") },
		"host":   func(r *http.Request) { r.Host = "rebound.example.com" },
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "AWSStepFunctions.ListExecutions")
		change(req)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			t.Errorf("%s: answered", name)
		}
	}
}
