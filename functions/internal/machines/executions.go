package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
)

// ErrNoMachine says that a definition has no published machine: its deployment
// has not come so far, or broke off.
var ErrNoMachine = errors.New("no machine is published for the definition")

// StepFunctions is what is called of *sfn.Client.
type StepFunctions interface {
	StartExecution(context.Context, *sfn.StartExecutionInput, ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error)
	StopExecution(context.Context, *sfn.StopExecutionInput, ...func(*sfn.Options)) (*sfn.StopExecutionOutput, error)
	DescribeExecution(context.Context, *sfn.DescribeExecutionInput, ...func(*sfn.Options)) (*sfn.DescribeExecutionOutput, error)
	SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
	SendTaskFailure(context.Context, *sfn.SendTaskFailureInput, ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error)
}

// Executions starts and stops machines in Step Functions.
type Executions struct {
	// Client and Definitions are required.
	Client      StepFunctions
	Definitions *Definitions
}

var _ coordinator.Executions = Executions{}

// Start starts the version that was published for the definition. An execution
// of the name is that execution, whether it runs or has ended: Step Functions
// says so with an error once it has ended, and the name is the run's own.
// Error: ErrNoMachine.
func (x Executions) Start(ctx context.Context, run coordinator.Execution) error {
	machine, err := x.Definitions.MachineOf(ctx, run.Definition)
	if err != nil {
		return fmt.Errorf("starting execution %s: %w", run.Name, err)
	}
	_, err = x.Client.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: &machine, Name: &run.Name, Input: aws.String(string(run.Input)),
	})
	var there *types.ExecutionAlreadyExists
	if err == nil || errors.As(err, &there) {
		return nil
	}
	return fmt.Errorf("starting execution %s of %s: %w", run.Name, machine, err)
}

// Stop ends an execution; one that has ended or never was is no error.
func (x Executions) Stop(ctx context.Context, name, errorName, cause string) error {
	arn, err := x.arn(ctx, name)
	if err != nil || arn == "" {
		return err
	}
	_, err = x.Client.StopExecution(ctx, &sfn.StopExecutionInput{
		ExecutionArn: &arn, Error: text(errorName, longestError), Cause: text(cause, longestCause),
	})
	if err == nil || unknown(err) {
		return nil
	}
	return fmt.Errorf("stopping execution %s: %w", name, err)
}

// Describe tells how an execution stands. It may lag behind.
func (x Executions) Describe(ctx context.Context, name string) (coordinator.ExecutionState, error) {
	absent := coordinator.ExecutionState{Status: coordinator.ExecutionAbsent}
	arn, err := x.arn(ctx, name)
	if err != nil || arn == "" {
		return absent, err
	}
	out, err := x.Client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	switch {
	case unknown(err):
		return absent, nil
	case err != nil:
		return absent, fmt.Errorf("describing execution %s: %w", name, err)
	case out.Status == types.ExecutionStatusRunning || out.Status == types.ExecutionStatusPendingRedrive:
		return coordinator.ExecutionState{Status: coordinator.ExecutionRunning}, nil
	}
	return coordinator.ExecutionState{
		Status: coordinator.ExecutionEnded, Error: aws.ToString(out.Error), Cause: aws.ToString(out.Cause),
	}, nil
}

func unknown(err error) bool {
	var absent *types.ExecutionDoesNotExist
	return errors.As(err, &absent)
}

// arn is an execution's, from the machine of its run's definition; empty: the
// run or its machine does not exist, and so neither does the execution.
func (x Executions) arn(ctx context.Context, name string) (string, error) {
	id, _, _ := cutLast(name, "-g")
	run, _, err := read[struct {
		Definition string `json:"definition"`
	}](ctx, x.Definitions.store, record.RunKey(id))
	if err != nil || run == nil {
		return "", err
	}
	machine, err := x.Definitions.MachineOf(ctx, run.Definition)
	if errors.Is(err, ErrNoMachine) || errors.Is(err, coordinator.ErrNoDefinition) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return executionARN(machine, name)
}

// executionARN is arn:…:execution:MACHINE:NAME for arn:…:stateMachine:MACHINE[:VERSION].
func executionARN(machine, name string) (string, error) {
	parts := strings.Split(machine, ":")
	if len(parts) < 7 || parts[5] != "stateMachine" {
		return "", fmt.Errorf("%q is no ARN of a state machine", machine)
	}
	return strings.Join(append(append(parts[:5:5], "execution"), parts[6], name), ":"), nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// The longest texts that Step Functions takes, in characters.
const (
	longestError = 256
	longestCause = 32768
)

// text cuts a text to what the API takes; bytes are never fewer than characters.
func text(s string, longest int) *string {
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "")
	}
	return &s
}

// Tokens completes waiting tasks.
type Tokens struct{ Client StepFunctions }

var _ coordinator.Tokens = Tokens{}

// Succeed completes a task. Error: coordinator.ErrTokenGone.
func (t Tokens) Succeed(ctx context.Context, token string, output json.RawMessage) error {
	_, err := t.Client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: aws.String(string(output))})
	return gone(err, "completing a task")
}

// Fail fails a task. Error: coordinator.ErrTokenGone.
func (t Tokens) Fail(ctx context.Context, token, errorName, cause string) error {
	_, err := t.Client.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{
		TaskToken: &token, Error: text(errorName, longestError), Cause: text(cause, longestCause),
	})
	return gone(err, "failing a task")
}

// gone maps the answers of a token that is used, expired or unknown. Errors of
// the API never hold the token.
func gone(err error, doing string) error {
	var (
		timedOut *types.TaskTimedOut
		absent   *types.TaskDoesNotExist
		invalid  *types.InvalidToken
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &timedOut), errors.As(err, &absent), errors.As(err, &invalid):
		return fmt.Errorf("%s: %w", doing, coordinator.ErrTokenGone)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
