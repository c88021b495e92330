package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// verdict is what an answer of DynamoDB means for a call.
type verdict int

const (
	done      verdict = iota // carried out
	refused                  // a condition failed, nothing was done
	throttled                // nothing was done, the same may succeed later
	unclear                  // done or not, nobody knows
	failed                   // nothing was done, and repeating will not help
)

// judge is the one mapping from DynamoDB's errors. The error that it gives is
// what a caller sees once no attempt is left.
func judge(err error) (verdict, error) {
	var condition *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	var api smithy.APIError
	switch {
	case err == nil:
		return done, nil
	case errors.As(err, &condition):
		return refused, err
	case errors.As(err, &cancelled):
		return judgeReasons(cancelled)
	case errors.As(err, &api):
		return judgeCode(api)
	case neverSent(err):
		return failed, err
	default:
		// A connection was cut, a time-out passed, the caller left.
		return unclear, fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, err)
	}
}

// judgeReasons reads the reasons of a cancelled transaction one by one; those
// of actions that were not at fault are the word None.
func judgeReasons(err *types.TransactionCanceledException) (verdict, error) {
	worst := throttled
	wrapped := fmt.Errorf("%w: %w", store.ErrThrottled, err)
	for _, reason := range err.CancellationReasons {
		switch code := deref(reason.Code); code {
		case "", "None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		case "ConditionalCheckFailed":
			return refused, err
		case "ItemCollectionSizeLimitExceeded":
			worst, wrapped = failed, fmt.Errorf("%w: %w", store.ErrTooLarge, err)
		default:
			worst, wrapped = failed, invalid(deref(reason.Message), err)
		}
	}
	return worst, wrapped
}

func judgeCode(err smithy.APIError) (verdict, error) {
	switch err.ErrorCode() {
	case "ThrottlingException", "ThrottledException", "Throttling", "ProvisionedThroughputExceededException",
		"RequestLimitExceeded", "TooManyRequestsException", "SlowDown", "LimitExceededException",
		"TransactionConflictException", "TransactionInProgressException", "ReplicatedWriteConflictException":
		return throttled, fmt.Errorf("%w: %w", store.ErrThrottled, err)
	case "ValidationException":
		return failed, invalid(err.ErrorMessage(), err)
	case "ItemCollectionSizeLimitExceededException":
		return failed, fmt.Errorf("%w: %w", store.ErrTooLarge, err)
	case "InternalServerError", "InternalFailure", "ServiceUnavailable", "ServiceUnavailableException", "InternalServerErrorException":
		return unclear, fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, err)
	}
	if err.ErrorFault() == smithy.FaultServer {
		return unclear, fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, err)
	}
	return failed, err
}

// invalid tells sizes from forms: DynamoDB has one error for both.
func invalid(message string, err error) error {
	if strings.Contains(strings.ToLower(message), "size") {
		return fmt.Errorf("%w: %w", store.ErrTooLarge, err)
	}
	return fmt.Errorf("%w: %w", store.ErrInvalid, err)
}

// neverSent recognises what failed before a byte left.
func neverSent(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true
	}
	var lookup *net.DNSError
	return errors.As(err, &lookup)
}

// current gives the items that a failed condition found, by operation, and the
// operations whose conditions failed.
func current(err error, ops int) (items []*store.Item, at []bool, fault error) {
	items, at = make([]*store.Item, ops), make([]bool, ops)
	var single *types.ConditionalCheckFailedException
	if errors.As(err, &single) {
		at[0] = true
		items[0], fault = decode(single.Item)
		return items, at, fault
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || len(cancelled.CancellationReasons) != ops {
		return nil, nil, fmt.Errorf("a failed condition without reasons: %w", err)
	}
	for i, reason := range cancelled.CancellationReasons {
		if at[i] = deref(reason.Code) == "ConditionalCheckFailed"; at[i] {
			if items[i], fault = decode(reason.Item); fault != nil {
				return nil, nil, fault
			}
		}
	}
	return items, at, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// gone tells whether the caller's context has ended.
func gone(ctx context.Context) bool { return ctx.Err() != nil }
