// Package invoke calls a Lambda function and waits for its answer, and tells
// what was not done from what may have been: nothing that must not happen twice
// is sent twice.
package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// Errors to branch on, beside those of package remote.
var (
	// ErrAbsent says that there is no such function.
	ErrAbsent = errors.New("no such function")
	// ErrDenied says that the caller may not call it, or is not known.
	ErrDenied = errors.New("access is denied")
	// ErrFailed says that the function ended without an answer. A call that was
	// not repeatable is remote.ErrUnknown besides.
	ErrFailed = errors.New("the function failed")
)

// Client is what is called of *lambda.Client.
type Client interface {
	Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// Function is one function.
type Function struct {
	Client Client
	// Name is its name or ARN.
	Name string
	// Patience bounds one call with all that is repeated of it; 0: 60 s.
	Patience time.Duration
}

const usualPatience = 60 * time.Second

// Call calls the function with JSON and answers its JSON. What is repeatable is
// tried again as the SDK does; anything else only where Lambda says that it was
// not begun. Errors: ErrAbsent, ErrDenied, ErrFailed, remote.ErrBusy,
// remote.ErrTooLarge, and remote.ErrUnknown where it may have been done.
func (f Function) Call(ctx context.Context, event []byte, repeatable bool) ([]byte, error) {
	patience := f.Patience
	if patience == 0 {
		patience = usualPatience
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(bounded, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	var options []func(*lambda.Options)
	if !repeatable {
		options = append(options, func(o *lambda.Options) { o.Retryer = notBegun() })
	}
	out, err := f.Client.Invoke(traced, &lambda.InvokeInput{FunctionName: &f.Name, Payload: event}, options...)
	if err != nil {
		return nil, fmt.Errorf("calling function %s: %w", f.Name, classed(err, sent.Load() && !repeatable))
	}
	if out.FunctionError != nil {
		return nil, fmt.Errorf("calling function %s: %w", f.Name, ended(out.Payload, repeatable))
	}
	return out.Payload, nil
}

// notBegun repeats only what Lambda refused for now.
func notBegun() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}
	})
}

// classed says which error it is. doubtful: the call was sent, and doing it
// twice would be wrong.
func classed(err error, doubtful bool) error {
	var (
		absent *types.ResourceNotFoundException
		large  *types.RequestTooLargeException
		said   smithy.APIError
	)
	switch {
	case errors.As(err, &absent):
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	case errors.As(err, &large):
		return fmt.Errorf("%w: %w", remote.ErrTooLarge, err)
	case errors.As(err, &said):
		if kind := kindOf(said.ErrorCode()); kind != nil {
			return fmt.Errorf("%w: %w", kind, err)
		}
	}
	if doubtful {
		return fmt.Errorf("%w: %w", remote.ErrUnknown, err)
	}
	return err
}

// denied are the codes of callers that are not known or may not.
var denied = map[string]bool{
	"AccessDeniedException": true, "AccessDenied": true, "UnrecognizedClientException": true, "InvalidSignatureException": true,
	"ExpiredTokenException": true, "ExpiredToken": true, "MissingAuthenticationTokenException": true, "IncompleteSignatureException": true,
}

func kindOf(code string) error {
	if _, throttled := retry.DefaultThrottleErrorCodes[code]; throttled {
		return remote.ErrBusy
	}
	if denied[code] {
		return ErrDenied
	}
	return nil
}

// ended is the error of a function that ended without an answer.
func ended(payload []byte, repeatable bool) error {
	var said struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	text := string(payload)
	if json.Unmarshal(payload, &said) == nil && said.Message != "" {
		text = said.Message
		if said.Type != "" {
			text = said.Type + ": " + text
		}
	}
	if len(text) > 500 {
		text = text[:500] + "…"
	}
	if repeatable {
		return fmt.Errorf("%w: %s", ErrFailed, text)
	}
	return fmt.Errorf("%w, %w: %s", ErrFailed, remote.ErrUnknown, text)
}
