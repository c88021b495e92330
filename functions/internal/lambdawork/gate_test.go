package lambdawork_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/functions/internal/lambdawork"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// functions answers invocations one after the other.
type functions struct {
	answers []func(payload []byte) (string, error)
	asked   []string
	names   []string
}

func (f *functions) Invoke(_ context.Context, in *lambda.InvokeInput, _ ...func(*lambda.Options)) (*lambda.InvokeOutput, error) {
	f.asked, f.names = append(f.asked, string(in.Payload)), append(f.names, *in.FunctionName)
	answer := f.answers[0]
	if len(f.answers) > 1 {
		f.answers = f.answers[1:]
	}
	out, err := answer(in.Payload)
	var failure *gatewire.FunctionFailure
	if errors.As(err, &failure) {
		body, _ := json.Marshal(failure)
		return &lambda.InvokeOutput{FunctionError: aws.String("Unhandled"), Payload: body}, nil
	}
	if err != nil {
		return nil, err
	}
	return &lambda.InvokeOutput{Payload: []byte(out)}, nil
}

func says(answer string) func([]byte) (string, error) {
	return func([]byte) (string, error) { return answer, nil }
}

func fails(err error) func([]byte) (string, error) {
	return func([]byte) (string, error) { return "", err }
}

var throttled = &types.TooManyRequestsException{Message: aws.String("Rate Exceeded.")}

func gateOf(f *functions) *lambdawork.Gate {
	return &lambdawork.Gate{Client: f, Function: "acme-gate-x", Clock: worker.SystemClock{}}
}

// A throttled gate is asked again, with jitter and within the call's patience;
// everything else without an answer is left to who asked, who repeats it with
// the same nonce.
func TestGateThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &functions{answers: []func([]byte) (string, error){fails(throttled), fails(throttled), says(`{"answer":{"stop":false,"lease":"2026-11-30T07:00:00Z"}}`)}}
		out, err := gateOf(f).Heartbeat(t.Context(), gate.HeartbeatRequest{Call: gate.Call{Nonce: "r/1"}})
		if err != nil || out.Lease.IsZero() || len(f.asked) != 3 || f.asked[0] != f.asked[2] {
			t.Errorf("%+v, %v after %d", out, err, len(f.asked))
		}
		start := time.Now()
		f = &functions{answers: []func([]byte) (string, error){fails(throttled)}}
		_, err = gateOf(f).Admit(t.Context(), gate.AdmitRequest{})
		var many *types.TooManyRequestsException
		if took := time.Since(start); !errors.As(err, &many) || took > 5*time.Second || took < time.Second {
			t.Errorf("admit gave up after %s: %v", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start = time.Now()
		if _, err := gateOf(f).Settle(ctx, gate.SettleRequest{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 3*time.Second {
			t.Errorf("settle past its deadline: after %s, %v", time.Since(start), err)
		}
	})
}

func TestGateWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func([]byte) (string, error)
		says   string
	}{
		"the gate's own error": {says(`{"error":{"name":"unavailable","message":"store is throttled"}}`), "unavailable: store is throttled"},
		"it died":              {fails(&gatewire.FunctionFailure{Type: "Runtime.ExitError", Message: "exit status 1"}), "Runtime.ExitError"},
		"the network":          {fails(errors.New("connection reset")), "connection reset"},
		"nonsense":             {says(`{"answer":3}`), "reading the gate's answer"},
		"nothing":              {says(`{}`), "is empty"},
	} {
		f := &functions{answers: []func([]byte) (string, error){c.answer}}
		if _, err := gateOf(f).Begin(t.Context(), gate.BeginRequest{}); err == nil || !strings.Contains(err.Error(), c.says) || len(f.asked) != 1 {
			t.Errorf("%s: %v, asked %d times", name, err, len(f.asked))
		}
	}
}

// A result that no invocation carries becomes a failure that says so, with what
// it cost; it is handed over under the same nonce.
func TestSettleTooLarge(t *testing.T) {
	t.Parallel()
	var settled gate.SettleRequest
	f := &functions{answers: []func([]byte) (string, error){func(payload []byte) (string, error) {
		var req gatewire.Request
		if err := json.Unmarshal(payload, &req); err != nil {
			return "", err
		}
		return `{"answer":{"answered":true,"verdict":{"note":{}}}}`, json.Unmarshal(req.Request, &settled)
	}}}
	large := json.RawMessage(`"` + strings.Repeat("x", gatewire.MaxPayload) + `"`)
	out, err := gateOf(f).Settle(t.Context(), gate.SettleRequest{Call: gate.Call{Nonce: "r/2"}, Result: &gate.Result{Output: large, Cost: 7}})
	if err != nil || !out.Answered || settled.Result != nil || settled.Failure == nil {
		t.Fatalf("%+v, %v; settled %+v", out, err, settled)
	}
	if fail := settled.Failure; fail.Class != outerloop.ClassFatal || fail.Cost != 7 || !strings.HasPrefix(fail.Message, "too_large: ") || settled.Nonce != "r/2" {
		t.Errorf("settled %+v", settled)
	}
}

// An answer that no invocation carries is fetched, and checked.
func TestAnswerTooLarge(t *testing.T) {
	t.Parallel()
	const answer = `{"decision":"later","reason":"busy"}`
	const ref = "sha256:bd6c9bd3b9e7e1f8cd79f1d2fe3b8de8e97ad3cbfcbc2c4d8f2cbf4c2fda4d13"
	served := answer
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, served) }))
	defer web.Close()
	files := lambdawork.NewFiles(http.DefaultClient)
	right := refOf(answer)
	for want, ref := range map[string]string{"": right, "the content is another one": ref} {
		f := &functions{answers: []func([]byte) (string, error){says(`{"answer_at":{"ref":"` + ref + `","url":"` + web.URL + `"}}`)}}
		g := gateOf(f)
		g.Get = files.Fetch
		out, err := g.Admit(t.Context(), gate.AdmitRequest{})
		if want == "" && (err != nil || out.Reason != "busy") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v, %v; want %q", out, err, want)
		}
	}
}

// What an admitted task may use is told before admit answers, and only then.
func TestAdmitTells(t *testing.T) {
	t.Parallel()
	f := &functions{answers: []func([]byte) (string, error){
		says(`{"answer":{"decision":"go","task":{"run":"r"}},"with":{"connections":[{"name":"mail","kind":"outbox"}]}}`), says(`{"answer":{"decision":"later"}}`),
	}}
	g := gateOf(f)
	var told []string
	g.Took = func(_ context.Context, with gatewire.Surroundings) { told = append(told, with.Connections[0].Name) }
	for range 2 {
		if _, err := g.Admit(t.Context(), gate.AdmitRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(told) != "[mail]" {
		t.Errorf("told %v", told)
	}
}

// A tool's function that names an error of the gate has settled; one that died,
// or is not free, has not.
func TestTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  func([]byte) (string, error)
		settled bool
	}{
		"done":      {says(`{"outcome":"completed"}`), true},
		"refused":   {fails(&gatewire.FunctionFailure{Type: outerloop.ErrorRefused}), true},
		"parked":    {fails(&gatewire.FunctionFailure{Type: outerloop.ErrorNeedsApproval}), true},
		"not free":  {fails(&gatewire.FunctionFailure{Type: outerloop.ErrorNotNow}), false},
		"timed out": {fails(&gatewire.FunctionFailure{Type: "Sandbox.Timedout"}), false},
		"no such":   {fails(&types.ResourceNotFoundException{}), false},
	} {
		f := &functions{answers: []func([]byte) (string, error){c.answer}}
		tools := lambdawork.Tools{Client: f, Function: func(name string) string { return "acme-worker-" + name }}
		err := tools.Run(t.Context(), "refund", gate.Delivery{Run: "r", Step: "s.call.refund.1"})
		if (err == nil) != c.settled || f.names[0] != "acme-worker-refund" {
			t.Errorf("%s: %v at %s", name, err, f.names[0])
		}
	}
}
