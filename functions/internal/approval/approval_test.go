package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/internal/approval"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// A state's error has the name that its machine retries or catches by; what
// could not be answered at all has one that every machine tries again for.
func TestStates(t *testing.T) {
	t.Parallel()
	var fail error
	f := approval.New(approval.Config{
		Step: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"outcome":null}`), fail
		},
		Uses: func(_ context.Context, use json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"answer":1}`), nil
		},
	})
	serve := func(event string) (string, string) {
		out, err := f.Handle(t.Context(), json.RawMessage(event))
		var named messages.InvokeResponse_Error
		if err != nil && !errors.As(err, &named) {
			t.Fatalf("the machine would see %T", err)
		}
		raw, _ := json.Marshal(out)
		return string(raw), named.Type
	}
	for _, c := range []struct {
		event string
		fail  error
		out   string
		error string
	}{
		{`{"op":"finish"}`, nil, `{"outcome":null}`, ""},
		{`{"op":"rule"}`, &coordinator.StepError{Name: outerloop.ErrorAgain}, "null", outerloop.ErrorAgain},
		{`{"op":"rule"}`, errors.New("the store is throttled"), "null", "Lambda.ServiceException"},
		{`{"use":"decide","request":{}}`, nil, `{"answer":1}`, ""},
		{`{"op":"rule","use":"decide"}`, nil, `{"outcome":null}`, ""},
		{`[]`, nil, "null", outerloop.ErrorFatal},
	} {
		fail = c.fail
		if out, name := serve(c.event); out != c.out || name != c.error {
			t.Errorf("%s: %s %q, want %s %q", c.event, out, name, c.out, c.error)
		}
	}
}
