package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/outerloop-dev/outerloop/pkg/console/invoke"
	"github.com/outerloop-dev/outerloop/pkg/console/payload"
	"github.com/outerloop-dev/outerloop/pkg/console/stack"
)

// lambdaTransport reaches the API of a deployment by invoking its console's
// function. This file is the only one of the program that knows AWS.
func lambdaTransport(ctx context.Context, s stack.Stack) (http.RoundTripper, error) {
	c, err := lambdaClient(ctx, s)
	if err != nil {
		return nil, err
	}
	return payload.Transport{Invoke: invoke.Function{Client: c, Name: s.Console}.Call}, nil
}

// accountConcurrency is how many functions the account may run at one time.
func accountConcurrency(ctx context.Context, s stack.Stack) (int, error) {
	c, err := lambdaClient(ctx, s)
	if err != nil {
		return 0, err
	}
	out, err := c.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return 0, err
	}
	if out.AccountLimit == nil {
		return 0, errors.New("Lambda does not say")
	}
	return int(out.AccountLimit.ConcurrentExecutions), nil
}

func lambdaClient(ctx context.Context, s stack.Stack) (*lambda.Client, error) {
	var options []func(*config.LoadOptions) error
	if s.Region != "" {
		options = append(options, config.WithRegion(s.Region))
	}
	if s.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(s.Profile))
	}
	if s.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(s.Endpoint))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, &exit{code: ExitUsage, err: fmt.Errorf("reading the AWS configuration: %w", err), remedies: []string{"aws configure list   shows what is configured"}}
	}
	if cfg.Region == "" {
		return nil, usage("no AWS region is configured", "set AWS_REGION, or connect again: outerloop-aws connect STACK --region REGION")
	}
	return lambda.NewFromConfig(cfg), nil
}

// farRemedy is what to do about a deployment that cannot be reached; "" where
// the error is none of that.
func farRemedy(err error) string {
	switch {
	case errors.Is(err, invoke.ErrAbsent):
		return "outerloop-aws connect STACK   reads the name of the console's function anew"
	case errors.Is(err, invoke.ErrDenied):
		return "it needs lambda:InvokeFunction on the console's function; aws sts get-caller-identity says who you are"
	case errors.Is(err, invoke.ErrFailed):
		return "the log of the console's function says why"
	}
	return ""
}
