package lambdawork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Tools runs workers that another one uses as tools: their functions, with the
// delivery that the caller's gate made. The tool settles at its own gate.
type Tools struct {
	Client Invoker
	// Function names a worker's function.
	Function func(worker string) string
}

// Run returns when the worker has settled; an error means that it has not, or
// that nobody knows.
func (t Tools) Run(ctx context.Context, worker string, d gate.Delivery) error {
	payload, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encoding the delivery: %w", err)
	}
	out, err := t.Client.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(t.Function(worker)), Payload: payload})
	if err != nil {
		return fmt.Errorf("calling the function of %s: %w", worker, err)
	}
	if out.FunctionError == nil {
		return nil
	}
	return settled(worker, gatewire.FunctionError(out.Payload))
}

// settled tells what a function's error means: one that the gate names was
// settled, and the gate knows it; any other says that the function gave no answer.
func settled(worker string, err error) error {
	var failure *gatewire.FunctionFailure
	if !errors.As(err, &failure) {
		return err
	}
	byGate := strings.HasPrefix(failure.Type, "Outerloop.") || strings.HasPrefix(failure.Type, "Worker.")
	if byGate && failure.Type != outerloop.ErrorNotNow {
		return nil
	}
	return fmt.Errorf("worker %s gave no answer: %w", worker, err)
}

// hidden takes the address, which is a credential, out of a transport's error.
func hidden(err error) error {
	var transport *url.Error
	if errors.As(err, &transport) {
		return transport.Err
	}
	return err
}
