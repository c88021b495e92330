package dynamostore

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// TestJudge: what each of DynamoDB's errors means, read from inside the SDK's own wrapping.
func TestJudge(t *testing.T) {
	t.Parallel()
	cancelled := func(codes ...string) error {
		err := &types.TransactionCanceledException{}
		for _, code := range codes {
			err.CancellationReasons = append(err.CancellationReasons, types.CancellationReason{Code: aws.String(code), Message: aws.String("Item size")})
		}
		return err
	}
	generic := func(code string, fault smithy.ErrorFault) error {
		return &smithy.GenericAPIError{Code: code, Fault: fault, Message: "message"}
	}
	for _, c := range []struct {
		err  error
		what verdict
		told error
	}{
		{nil, done, nil},
		{&types.ConditionalCheckFailedException{}, refused, nil},
		{cancelled("None", "ConditionalCheckFailed"), refused, nil},
		{cancelled("TransactionConflict", "ConditionalCheckFailed"), refused, nil},
		{cancelled("None", "TransactionConflict"), throttled, store.ErrThrottled},
		{cancelled("ThrottlingError", "None", "ProvisionedThroughputExceeded"), throttled, store.ErrThrottled},
		{cancelled("None", "ValidationError"), failed, store.ErrTooLarge},
		{cancelled("ItemCollectionSizeLimitExceeded"), failed, store.ErrTooLarge},
		{&types.TransactionConflictException{}, throttled, store.ErrThrottled},
		{&types.TransactionInProgressException{}, throttled, store.ErrThrottled},
		{&types.ProvisionedThroughputExceededException{}, throttled, store.ErrThrottled},
		{&types.RequestLimitExceeded{}, throttled, store.ErrThrottled},
		{&types.ThrottlingException{}, throttled, store.ErrThrottled},
		{&types.InternalServerError{}, unclear, store.ErrOutcomeUnknown},
		{generic("Unheard", smithy.FaultServer), unclear, store.ErrOutcomeUnknown},
		{generic("ValidationException", smithy.FaultClient), failed, store.ErrInvalid},
		{generic("AccessDeniedException", smithy.FaultClient), failed, nil},
		{&types.ResourceNotFoundException{}, failed, nil},
		{&types.IdempotentParameterMismatchException{}, failed, nil},
		{io.ErrUnexpectedEOF, unclear, store.ErrOutcomeUnknown},
		{context.DeadlineExceeded, unclear, store.ErrOutcomeUnknown},
		{&net.OpError{Op: "read", Err: io.EOF}, unclear, store.ErrOutcomeUnknown},
		{&net.OpError{Op: "dial", Err: io.EOF}, failed, nil},
	} {
		err := c.err
		if err != nil {
			err = &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "X", Err: err}
		}
		what, told := judge(err)
		if what != c.what || c.told != nil && !errors.Is(told, c.told) {
			t.Errorf("%v: verdict %d, %v; want %d, %v", err, what, told, c.what, c.told)
		}
		if c.err != nil && !errors.Is(told, c.err) {
			t.Errorf("%v is lost in %v", c.err, told)
		}
	}
}
