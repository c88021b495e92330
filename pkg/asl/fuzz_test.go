package asl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// definitions are machines that together use all that the language has.
var definitions = []string{
	`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f","Payload.$":"$"},"TimeoutSeconds":10,"ResultSelector":{"p.$":"$.Payload"},"ResultPath":"$.r","Retry":[{"ErrorEquals":["E1","E2"],"MaxAttempts":2,"JitterStrategy":"FULL"},{"ErrorEquals":["States.ALL"],"IntervalSeconds":5,"MaxDelaySeconds":7}],"Catch":[{"ErrorEquals":["States.ALL"],"ResultPath":"$.e","Next":"C"}],"Next":"C"},"C":{"Type":"Choice","Choices":[{"Variable":"$.r.p","IsPresent":true,"Next":"W"}],"Default":"F"},"W":{"Type":"Wait","SecondsPath":"$.r.p","Next":"S"},"S":{"Type":"Succeed"},"F":{"Type":"Fail","Error":"No"}}}`,
	`{"TimeoutSeconds":60,"StartAt":"P","States":{"P":{"Type":"Parallel","Branches":[{"StartAt":"B1","States":{"B1":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:f","Next":"B1b"},"B1b":{"Type":"Wait","Seconds":5,"End":true}}},{"StartAt":"B2","States":{"B2":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","Parameters":{"T.$":"$$.Task.Token"},"HeartbeatSeconds":5,"End":true}}}],"Retry":[{"ErrorEquals":["E1"],"MaxAttempts":1}],"Catch":[{"ErrorEquals":["States.TaskFailed"],"Next":"D"}],"Next":"D"},"D":{"Type":"Pass","Parameters":{"u.$":"States.UUID()","t.$":"$$.State.EnteredTime"},"End":true}}}`,
	`{"StartAt":"M","States":{"M":{"Type":"Map","ItemsPath":"$.items","MaxConcurrency":2,"ItemSelector":{"i.$":"$$.Map.Item.Index","v.$":"$$.Map.Item.Value"},"ItemProcessor":{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"arn:aws:states:us-east-1:1:activity:a","Assign":{"x.$":"$"},"Retry":[{"ErrorEquals":["States.ALL"],"MaxAttempts":1}],"Next":"U"},"U":{"Type":"Pass","Parameters":{"x.$":"$x"},"End":true}}},"Catch":[{"ErrorEquals":["States.ALL"],"Assign":{"c.$":"$.Error"},"Next":"E"}],"Next":"E"},"E":{"Type":"Pass","End":true}}}`,
	`{"StartAt":"M","States":{"M":{"Type":"Map","ItemsPath":"$.items","MaxConcurrency":2,"ToleratedFailurePercentage":50,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"T","States":{"T":{"Type":"Pass","End":true}}},"Retry":[{"ErrorEquals":["States.ALL"],"MaxAttempts":1}],"ResultPath":null,"End":true}}}`,
	`{"StartAt":"L","States":{"L":{"Type":"Pass","Next":"L2"},"L2":{"Type":"Choice","Choices":[{"And":[{"Variable":"$.items[0]","NumericGreaterThan":0},{"Not":{"Variable":"$.s","StringMatches":"a*\\*"}}],"Next":"L"}],"Default":"S"},"S":{"Type":"Succeed","OutputPath":"$.items[?(@ > 1)]"}}}`,
}

// FuzzExecution runs machines with random answers: nothing panics, an execution
// ends or waits for something, a snapshot restores to the same, and the journal
// replays to the same.
func FuzzExecution(f *testing.F) {
	input := `{"items":[1,2,3],"s":"a*"}`
	for _, d := range definitions {
		for _, script := range []string{"", "\x00\x00\x00\x00\x00\x00", "\x01\x05\x02\x07\x03\x01\x02\x09\x11", "\xff\xfe\x10\x20\x30\x44\x52\x61"} {
			f.Add([]byte(d), []byte(input), []byte(script))
		}
	}
	f.Fuzz(func(t *testing.T, definition, input, script []byte) {
		m, err := asl.Load(definition)
		if err != nil {
			return
		}
		runScript(t, m, input, script)
	})
}

// FuzzGenerated is FuzzExecution with machines made of random bytes.
func FuzzGenerated(f *testing.F) {
	f.Add([]byte("\x01\x02\x03"), []byte("\x00\x01\x02"))
	f.Add([]byte("abcdefghijklmnopqrstuvwxyz"), []byte("0123456789012345678901234567890123456789"))
	f.Add([]byte("\x03\x05\x02\x01\x07\x06\x05\x04\x03\x02\x01\x09\x0b\x0d\x0f\x11"), []byte("\x05\x0a\x14\x28\x50\xa0"))
	f.Fuzz(func(t *testing.T, machine, script []byte) {
		g := &generator{bytes: machine}
		d, err := asl.Encode(g.machine())
		if err != nil {
			t.Fatal(err)
		}
		m, err := asl.Load(d)
		if err != nil {
			t.Fatalf("%v\n%s", err, d)
		}
		runScript(t, m, []byte(`{"items":[1,2,3],"a":{"a":1},"s":"abc"}`), script).bounded()
	})
}

// FuzzLoad reads random definitions: nothing panics, and what is refused says
// where and why.
func FuzzLoad(f *testing.F) {
	for _, d := range definitions {
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := asl.Load(data)
		if err != nil {
			var bad *asl.DefinitionError
			if !errors.As(err, &bad) || len(bad.Diagnostics) == 0 {
				t.Fatalf("error without diagnostics: %v", err)
			}
			return
		}
		if _, err := m.EventBound(asl.Bounds{}); err != nil && !errors.Is(err, asl.ErrDefinition) {
			t.Fatal(err)
		}
		again, err := asl.Load(m.Definition())
		if err != nil {
			t.Fatalf("the definition of a machine does not load: %v", err)
		}
		if !bytes.Equal(again.Definition(), m.Definition()) {
			t.Fatal("the definition changes when it is loaded again")
		}
	})
}

// FuzzIntrinsic evaluates random calls in a Pass state.
func FuzzIntrinsic(f *testing.F) {
	for _, call := range []string{
		`States.Array()`, `States.Array(1,'a',$,null,true)`, `States.ArrayPartition($.a,2)`, `States.ArrayContains($.a,1)`,
		`States.ArrayRange(1,9,2)`, `States.ArrayGetItem($.a,0)`, `States.ArrayLength($.a)`, `States.ArrayUnique($.a)`,
		`States.Base64Encode($.s)`, `States.Base64Decode('YQ==')`, `States.Hash($.s,'SHA-256')`, `States.JsonMerge($,$.o,false)`,
		`States.MathRandom(1,5)`, `States.MathRandom(1,5,7)`, `States.MathAdd($.a[0],-1)`, `States.StringSplit($.s,'b')`, `States.UUID()`,
		`States.Format('\'{}\{\}',$.s)`, `States.StringToJson('{}')`, `States.JsonToString($)`, `$..a[?(@>1)].length()`, `$$.Execution`,
	} {
		f.Add(call, `{"a":[1,2,2.0],"s":"abc","o":{"k":null}}`)
	}
	f.Fuzz(func(t *testing.T, call, input string) {
		d, err := asl.Encode(asl.Object{}.Add("StartAt", "P").Add("States", asl.Object{}.Add("P",
			asl.Object{}.Add("Type", "Pass").Add("Parameters", asl.Object{}.Add("x.$", call)).Add("End", true))))
		if err != nil {
			t.Fatal(err)
		}
		m, err := asl.Load(d)
		if err != nil {
			return
		}
		r := &rehearsal{t: t, machine: m, x: asl.New(m), now: time.Unix(0, 0)}
		if r.apply(asl.Event{Kind: asl.Start, Start: &asl.StartDetails{Input: json.RawMessage(input)}}) == nil && !r.x.Status().Ended() {
			t.Fatal("a Pass state waits")
		}
		if out := r.x.Output(); out != nil && !json.Valid(out) {
			t.Fatalf("output is not JSON: %q", out)
		}
	})
}
