package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Lambda is what is called of *lambda.Client.
type Lambda interface {
	Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// Workers are the workers' functions.
type Workers struct {
	Client   Lambda
	Settings boot.Settings
}

var errNoWorkers = errors.New("this function calls no workers")

// Deliver hands a delivery to a worker without waiting for its end: Lambda
// takes the event and tries it up to three times; the watch hands it over anew.
func (w Workers) Deliver(ctx context.Context, worker string, d gate.Delivery) error {
	payload, err := json.Marshal(d)
	if err != nil {
		return err
	}
	_, err = w.invoke(ctx, worker, payload, types.InvocationTypeEvent)
	return err
}

// Probe runs a worker for a monitor and answers with its output.
func (w Workers) Probe(ctx context.Context, worker string, probe gatewire.Probe) (json.RawMessage, error) {
	payload, err := json.Marshal(map[string]any{"probe": probe})
	if err != nil {
		return nil, err
	}
	out, err := w.invoke(ctx, worker, payload, types.InvocationTypeRequestResponse)
	if err != nil {
		return nil, err
	}
	var answer gatewire.Probed
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, fmt.Errorf("asking the probe %s: reading its answer: %w", worker, err)
	}
	return answer.Output, nil
}

func (w Workers) invoke(ctx context.Context, worker string, payload []byte, kind types.InvocationType) ([]byte, error) {
	if w.Client == nil {
		return nil, fmt.Errorf("calling worker %s: %w", worker, errNoWorkers)
	}
	out, err := w.Client.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: aws.String(w.Settings.WorkerFunction(worker)), Payload: payload, InvocationType: kind,
	})
	if err != nil {
		return nil, fmt.Errorf("calling worker %s: %w", worker, err)
	}
	if out.FunctionError != nil {
		return nil, fmt.Errorf("calling worker %s: %w", worker, gatewire.FunctionError(out.Payload))
	}
	return out.Payload, nil
}
