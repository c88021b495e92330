package rehearse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/asl/rehearse"
)

// A machine with a wait of a day, a failing attempt and a callback, run at once.
func ExampleRun() {
	m, err := asl.Load([]byte(`{"StartAt":"Wait","States":{
		"Wait":{"Type":"Wait","Seconds":86400,"Next":"Ask"},
		"Ask":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","TimeoutSeconds":60,
			"Retry":[{"ErrorEquals":["States.Timeout"],"MaxAttempts":1}],"End":true}}}`))
	if err != nil {
		log.Fatal(err)
	}
	var mocks rehearse.Mocks
	err = json.Unmarshal([]byte(`{"Ask":[{"error":"States.Timeout","cause":null},{"result":"yes"}]}`), &mocks)
	if err != nil {
		log.Fatal(err)
	}
	out, err := rehearse.Run(m, nil, mocks)
	if err != nil {
		log.Fatal(err)
	}
	last := out.History[len(out.History)-1]
	fmt.Println(out.Status, string(out.Output), last.Time.Sub(out.History[0].Time))
	fmt.Println(out.Events[5:9])
	// Output:
	// SUCCEEDED "yes" 24h1m1s
	// [TaskStarted TaskSubmitted TaskTimedOut TaskScheduled]
}

func TestRunWithoutAnswer(t *testing.T) {
	t.Parallel()
	m, err := asl.Load([]byte(`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","End":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rehearse.Run(m, nil, nil); !errors.Is(err, rehearse.ErrUnanswered) {
		t.Errorf("error is %v", err)
	}
	if _, err := rehearse.Run(m, json.RawMessage(`{`), nil); !errors.Is(err, asl.ErrEvent) {
		t.Errorf("input that is no JSON: %v", err)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"result":null}`:                         `{"result":null}`,
		`{"error":null,"cause":null}`:             `{"cause":null,"error":null}`,
		`{"error":"E","cause":"c","index":2}`:     `{"cause":"c","error":"E","index":2}`,
		`{"result":{"a":1},"event":"X","more":1}`: `{"event":"X","result":{"a":1}}`,
		`{}`:                     "refused",
		`{"result":1,"error":2}`: "refused",
		`1`:                      "refused",
	} {
		var a rehearse.Answer
		got := "refused"
		if json.Unmarshal([]byte(text), &a) == nil {
			b, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != want {
			t.Errorf("%s reads as %s, want %s", text, got, want)
		}
	}
}

// Virtual time stands still unless something is due.
func TestStageSetsTheClock(t *testing.T) {
	t.Parallel()
	m, err := asl.Load([]byte(`{"StartAt":"A","States":{"A":{"Type":"Pass","Parameters":{"t.$":"$$.Execution.StartTime","n.$":"$$.StateMachine.Name"},"End":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	st := rehearse.Stage{Time: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC), Details: asl.StartDetails{MachineName: "m"}}
	out, err := st.Run(m, nil, nil)
	if err != nil || string(out.Output) != `{"t":"2030-01-01T12:00:00.000Z","n":"m"}` {
		t.Errorf("output is %s, %v", out.Output, err)
	}
}
