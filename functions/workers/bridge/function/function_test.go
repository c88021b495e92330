package function_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/workers/bridge"
	"github.com/outerloop-dev/outerloop/functions/workers/bridge/function"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// existing is a function that somebody has.
type existing struct {
	out   *lambda.InvokeOutput
	err   error
	in    *lambda.InvokeInput
	tries int
}

func (e *existing) Invoke(_ context.Context, in *lambda.InvokeInput, options ...func(*lambda.Options)) (*lambda.InvokeOutput, error) {
	o := lambda.Options{}
	for _, option := range options {
		option(&o)
	}
	e.in, e.tries = in, o.RetryMaxAttempts
	return e.out, e.err
}

// R71: an existing function gets the input as its event, once, and what it is
// about as its client context.
func TestInvoke(t *testing.T) {
	t.Parallel()
	e := &existing{out: &lambda.InvokeOutput{Payload: []byte(`{"booked":true}`)}}
	out, err := function.Caller{Client: e}.Call(t.Context(), bridge.Request{
		Target: bridge.Target{Function: "book:live"}, Body: []byte(`{"order":"A-1"}`), About: bridge.About{Run: "order-1", Key: "k"},
	})
	if err != nil || string(out) != `{"booked":true}` || *e.in.FunctionName != "book:live" || string(e.in.Payload) != `{"order":"A-1"}` || e.tries != 1 {
		t.Errorf("%s, %v; %+v", out, err, e)
	}
	raw, err := base64.StdEncoding.DecodeString(*e.in.ClientContext)
	var about struct{ Custom map[string]string }
	if err := errors.Join(err, json.Unmarshal(raw, &about)); err != nil || about.Custom["Outerloop-Run"] != "order-1" || about.Custom["Idempotency-Key"] != "k" {
		t.Errorf("%v %s", err, raw)
	}
}

// A function's error has a class where its name is one; what Lambda refused did not run.
func TestFailures(t *testing.T) {
	t.Parallel()
	fails := func(kind, message string) *existing {
		return &existing{out: &lambda.InvokeOutput{FunctionError: aws.String("Unhandled"), Payload: []byte(`{"errorType":"` + kind + `","errorMessage":"` + message + `"}`)}}
	}
	for name, c := range map[string]struct {
		e     *existing
		class outerloop.Class
	}{
		"named":     {fails("Worker.MissingInput", "no such order"), outerloop.ClassMissingInput},
		"refused":   {fails("Worker.Refused", "no"), outerloop.ClassRefused},
		"its own":   {fails("KeyError", "'order'"), outerloop.ClassToolFailed},
		"time":      {fails("Sandbox.Timedout", "RequestId: 1 Error: Task timed out after 3.00 seconds"), outerloop.ClassTimeout},
		"busy":      {&existing{err: &types.TooManyRequestsException{RetryAfterSeconds: aws.String("5")}}, outerloop.ClassRateLimited},
		"not there": {&existing{err: &types.ResourceNotFoundException{}}, outerloop.ClassFatal},
		"no right":  {&existing{err: &types.InvalidRequestContentException{}}, outerloop.ClassFatal},
		"lost":      {&existing{err: errors.New("connection reset")}, outerloop.ClassTransient},
	} {
		_, err := function.Caller{Client: c.e}.Call(t.Context(), bridge.Request{Target: bridge.Target{Function: "book"}})
		if err == nil || worker.FailureOf(err).Class != c.class {
			t.Errorf("%s: %v is %s", name, err, worker.FailureOf(err).Class)
		}
	}
}
