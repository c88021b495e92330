package asl_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// Definition errors are found together, each with its place.
func TestLoadFindsErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		definition string
		want       []string
	}{
		"not JSON":      {`{"StartAt":`, []string{`INVALID_JSON_DESCRIPTION at /`}},
		"nothing":       {`{}`, []string{`These fields are required: [StartAt, States] at /`}},
		"duplicate key": {`{"StartAt":"A","States":{"A":{"Type":"Succeed"},"A":{"Type":"Succeed"}}}`, []string{`INVALID_JSON_DESCRIPTION at /States`, `"A"`}},
		"duplicate name": {`{"StartAt":"A","States":{"A":{"Type":"Parallel","End":true,"Branches":[{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}]}}}`,
			[]string{`DUPLICATE_STATE_NAME at /States/A/Branches[0]/States/A`}},
		"missing start":   {`{"StartAt":"B","States":{"A":{"Type":"Succeed"}}}`, []string{`MISSING_TRANSITION_TARGET at /StartAt`}},
		"missing next":    {`{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"}}}`, []string{`Missing 'Next' target: B at /States/A/Next`}},
		"unreachable":     {`{"StartAt":"A","States":{"A":{"Type":"Pass","End":true},"B":{"Type":"Succeed"}}}`, []string{`State "B" is not reachable. at /States/B`}},
		"next and end":    {`{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B","End":true},"B":{"Type":"Succeed"}}}`, []string{`SCHEMA_VALIDATION_FAILED at /States/A`}},
		"neither":         {`{"StartAt":"A","States":{"A":{"Type":"Pass"}}}`, []string{`One of these fields is required: [End, Next] at /States/A`}},
		"field of others": {`{"StartAt":"A","States":{"A":{"Type":"Succeed","Next":"A"}}}`, []string{`Field is not supported at /States/A/Next`}},
		"bad path":        {`{"StartAt":"A","States":{"A":{"Type":"Pass","InputPath":"$.a[","End":true}}}`, []string{`/States/A/InputPath`}},
		"bad result path": {`{"StartAt":"A","States":{"A":{"Type":"Pass","ResultPath":"$.a[*]","End":true}}}`, []string{`Value is not a Reference Path`, `/States/A/ResultPath`}},
		"no dollar":       {`{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[{"Variable":"States.ArrayLength($.a)","NumericEquals":0,"Next":"B"}]},"B":{"Type":"Succeed"}}}`, []string{`SCHEMA_VALIDATION_FAILED: Value is not a Reference Path: Reference path didn't start with '$'`}},
		"bad template":    {`{"StartAt":"A","States":{"A":{"Type":"Pass","Parameters":{"x":[{"y.$":"z"}]},"End":true}}}`, []string{`/States/A/Parameters/x[0]/y.$`}},
		"bad intrinsic":   {`{"StartAt":"A","States":{"A":{"Type":"Pass","Parameters":{"y.$":"States.Nope()"},"End":true}}}`, []string{`there is no function States.Nope`}},
		"arity":           {`{"StartAt":"A","States":{"A":{"Type":"Pass","Parameters":{"y.$":"States.MathAdd(1)"},"End":true}}}`, []string{`does not take 1 arguments`}},
		"no choices":      {`{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[]}}}`, []string{`Value cannot be empty at /States/A/Choices`}},
		"no comparison":   {`{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[{"Variable":"$.a","Next":"B"}]},"B":{"Type":"Succeed"}}}`, []string{`/States/A/Choices[0]`}},
		"literal type":    {`{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[{"Variable":"$.a","NumericEquals":"1","Next":"B"}]},"B":{"Type":"Succeed"}}}`, []string{`Expected value of type [Number] at /States/A/Choices[0]/NumericEquals`}},
		"ALL not alone":   {`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Retry":[{"ErrorEquals":["X","States.ALL"]}],"End":true}}}`, []string{`/States/A/Retry[0]/ErrorEquals`}},
		"ALL not last":    {`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Retry":[{"ErrorEquals":["States.ALL"]},{"ErrorEquals":["X"]}],"End":true}}}`, []string{`/States/A/Retry[0]/ErrorEquals`}},
		"bad resource":    {`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"lambda","End":true}}}`, []string{`/States/A/Resource`}},
		"heartbeat":       {`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","TimeoutSeconds":5,"HeartbeatSeconds":5,"End":true}}}`, []string{`/States/A/HeartbeatSeconds`}},
		"timestamp":       {`{"StartAt":"A","States":{"A":{"Type":"Wait","Timestamp":"2024-01-01","End":true}}}`, []string{`String does not match RFC3339 timestamp at /States/A/Timestamp`}},
		"two waits":       {`{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":1,"SecondsPath":"$.s","End":true}}}`, []string{`at /States/A`}},
		"JSONata":         {`{"QueryLanguage":"JSONata","StartAt":"A","States":{"A":{"Type":"Pass","Output":"{% 1 %}","End":true}}}`, []string{`UNSUPPORTED at /QueryLanguage`, `UNSUPPORTED at /States/A/Output`}},
		"item reader":     {`{"StartAt":"A","States":{"A":{"Type":"Map","ItemReader":{},"ResultWriter":{},"ItemProcessor":{"StartAt":"B","States":{"B":{"Type":"Succeed"}}},"End":true}}}`, []string{`UNSUPPORTED at /States/A/ItemReader`, `UNSUPPORTED at /States/A/ResultWriter`}},
		"shadowing":       {`{"StartAt":"A","States":{"A":{"Type":"Pass","Assign":{"x":1},"Next":"M"},"M":{"Type":"Map","ItemProcessor":{"StartAt":"B","States":{"B":{"Type":"Pass","Assign":{"x":2},"End":true}}},"End":true}}}`, []string{`outer scope`, `/States/M/ItemProcessor/States/B/Assign`}},
		"unknown var":     {`{"StartAt":"A","States":{"A":{"Type":"Pass","Parameters":{"a.$":"$nope"},"End":true}}}`, []string{`Variable 'nope'`}},
		"long name":       {`{"StartAt":"` + strings.Repeat("x", 81) + `","States":{"` + strings.Repeat("x", 81) + `":{"Type":"Succeed"}}}`, []string{`1 to 80 characters`}},
		"not UTF-8":       {"{\"StartAt\":\"\xff\",\"States\":{\"\xff\":{\"Type\":\"Succeed\"}}}", []string{`INVALID_JSON_DESCRIPTION at /`}},
		"deep":            {strings.Repeat("[", 2000) + strings.Repeat("]", 2000), []string{`INVALID_JSON_DESCRIPTION at /`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := asl.Load([]byte(c.definition))
			var bad *asl.DefinitionError
			if !errors.As(err, &bad) || !errors.Is(err, asl.ErrDefinition) {
				t.Fatalf("error is %v, want a DefinitionError", err)
			}
			text := describe(bad)
			for _, w := range c.want {
				if !strings.Contains(text, w) {
					t.Errorf("diagnostics are\n%swant %q among them", text, w)
				}
			}
		})
	}
}

// describe lists diagnostics in both forms that the tests look for.
func describe(e *asl.DefinitionError) string {
	var b strings.Builder
	for _, d := range e.Diagnostics {
		b.WriteString(d.String() + " | " + d.Code + " at " + d.Path + "\n")
	}
	return b.String()
}

func TestLoadReportsAllErrorsInOrder(t *testing.T) {
	t.Parallel()
	_, err := asl.Load([]byte(`{"StartAt":"A","States":{
		"A":{"Type":"Pass","ResultPath":"x","Next":"C"},
		"B":{"Type":"Wait","Seconds":-1,"End":true},
		"D":{"Type":"Bogus"}}}`))
	var bad *asl.DefinitionError
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	var paths []string
	for _, d := range bad.Diagnostics {
		paths = append(paths, d.Path)
	}
	want := []string{"/States/A/ResultPath", "/States/B/Seconds", "/States/D/Type", "/States/A/Next", "/States/B"}
	if !slices.Equal(paths, want) {
		t.Errorf("diagnostics are at %v, want %v", paths, want)
	}
}

func TestLoadRefusesForExpress(t *testing.T) {
	t.Parallel()
	d := []byte(`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","End":true}}}`)
	if _, err := asl.Load(d); err != nil {
		t.Fatal(err)
	}
	_, err := asl.Load(d, asl.WithType(asl.Express))
	if err == nil || !strings.Contains(err.Error(), "Express state machine does not support '.waitForTaskToken' service integration") {
		t.Errorf("error is %v", err)
	}
}

func TestLoadKeepsTheSizeLimit(t *testing.T) {
	t.Parallel()
	d := `{"Comment":"` + strings.Repeat("x", asl.MaxDefinition) + `","StartAt":"A","States":{"A":{"Type":"Succeed"}}}`
	if _, err := asl.Load([]byte(d)); err == nil {
		t.Error("a definition over 1 MiB is taken")
	}
}

// A driver learns from the machine what it needs: the resources of all states,
// and the machines of child executions.
func TestMachineSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	d := `{"Comment":"c","StartAt":"M","States":{"M":{"Type":"Map","End":true,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"EXPRESS"},
		"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Next":"B"},"B":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","End":true}}}}}}`
	m := load(t, d)
	if r := m.Resources(); len(r) != 1 || r[0].Action != "invoke" || m.Comment() != "c" || m.Type() != asl.Standard {
		t.Errorf("resources are %v, comment %q, type %s", r, m.Comment(), m.Type())
	}
	if p := m.Processor("M"); p == nil || p.Type() != asl.Express || m.Processor("A") != nil {
		t.Errorf("processor is %v", p)
	}
	_, err := asl.Load([]byte(strings.Replace(d, "lambda:invoke\",\"Next", "sqs:sendMessage.waitForTaskToken\",\"Next", 1)))
	if err == nil || !strings.Contains(err.Error(), "/States/M/ItemProcessor/States/A/Resource") {
		t.Errorf("a callback in an express child: %v", err)
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	for arn, want := range map[string]asl.Resource{
		"arn:aws:states:::sqs:sendMessage.waitForTaskToken":     {Kind: asl.ServiceTask, Service: "sqs", Action: "sendMessage", Pattern: asl.WaitForTaskToken},
		"arn:aws:states:::states:startExecution.sync:2":         {Kind: asl.ServiceTask, Service: "states", Action: "startExecution", Pattern: asl.Sync2},
		"arn:aws:states:::aws-sdk:dynamodb:putItem":             {Kind: asl.ServiceTask, Service: "aws-sdk:dynamodb", Action: "putItem"},
		"arn:aws:lambda:eu-west-1:123456789012:function:f:live": {Kind: asl.LambdaFunction, Region: "eu-west-1"},
		"arn:aws:states:eu-west-1:123456789012:activity:a":      {Kind: asl.Activity, Region: "eu-west-1"},
	} {
		want.ARN = arn
		if got, ok := asl.ParseResource(arn); !ok || got != want {
			t.Errorf("%s is %+v (%v), want %+v", arn, got, ok, want)
		}
	}
	for _, arn := range []string{"", "arn", "arn:aws:states:::", "arn:aws:states:::sqs", "arn:aws:lambda:r:1:function:", "arn:aws:s3:::bucket"} {
		if _, ok := asl.ParseResource(arn); ok {
			t.Errorf("%q is taken", arn)
		}
	}
}
