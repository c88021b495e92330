// Package function is the way to existing Lambda functions for package bridge.
package function

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/workers/bridge"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Invoker is what is called of *lambda.Client.
type Invoker interface {
	Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// Caller invokes functions synchronously.
type Caller struct{ Client Invoker }

// Call invokes the charter's function once: the SDK does not try again by
// itself, since a function whose answer was lost may have acted. What the work
// is about goes in the client context's `custom`.
func (c Caller) Call(ctx context.Context, req bridge.Request) ([]byte, error) {
	custom := map[string]string{}
	for _, pair := range req.About.Pairs() {
		custom[pair[0]] = pair[1]
	}
	about, err := json.Marshal(map[string]any{"custom": custom})
	if err != nil {
		return nil, worker.NotDone(worker.Fatal("writing the client context: %w", err))
	}
	out, err := c.Client.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: aws.String(req.Function), Payload: req.Body, ClientContext: aws.String(base64.StdEncoding.EncodeToString(about)),
	}, func(o *lambda.Options) { o.RetryMaxAttempts = 1 })
	switch {
	case err != nil:
		return nil, notInvoked(req.Function, err)
	case out.FunctionError != nil:
		return nil, failed(req.Function, out.Payload)
	case len(out.Payload) > bridge.MaxAnswer:
		return nil, worker.InvalidOutput("%s answers with %d bytes, at most %d can be taken", req.Function, len(out.Payload), bridge.MaxAnswer)
	}
	return out.Payload, nil
}

// notInvoked classes an error of the call itself. What Lambda refused certainly
// did not run.
func notInvoked(function string, err error) error {
	var (
		busy *types.TooManyRequestsException
		gone *types.ResourceNotFoundException
		api  smithy.APIError
	)
	switch {
	case errors.As(err, &busy):
		return worker.RateLimited(worker.RetryAfter(aws.ToString(busy.RetryAfterSeconds), time.Now()), "invoking %s: %w", function, err)
	case errors.As(err, &gone):
		return worker.NotDone(worker.Fatal("there is no function %s", function))
	case errors.As(err, &api) && api.ErrorFault() == smithy.FaultClient:
		return worker.NotDone(worker.Fatal("invoking %s: %w", function, err))
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s gave no answer in time: %w", function, err)
	}
	return worker.Transient("invoking %s: %w", function, err)
}

// failed classes a function's own error: one named Worker.Transient or as any
// other class has it; a function that ran out of time; else a tool that failed.
func failed(function string, payload []byte) error {
	var said struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	_ = json.Unmarshal(payload, &said)
	text := fmt.Sprintf("%s failed: %s: %s", function, said.Type, said.Message)
	for _, class := range outerloop.Classes() {
		if said.Type == class.ErrorName() {
			return bridge.Classed(class, text)
		}
	}
	if said.Type == "Sandbox.Timedout" || strings.Contains(said.Message, "Task timed out after") {
		return bridge.Classed(outerloop.ClassTimeout, text)
	}
	return worker.ToolFailed("%s", text)
}
