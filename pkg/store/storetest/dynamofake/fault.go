package dynamofake

import (
	"context"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Call is a request as it arrives.
type Call struct {
	// Name is the operation, such as PutItem; Number counts calls from 1.
	Name   string
	Number int
	// Writes tells whether it changes items.
	Writes bool
}

// Fault is what goes wrong with a call.
type Fault string

// The faults. A cut connection and an internal error come in two kinds: the
// write was carried out, or not. Unprocessed lets a batch leave keys out.
const (
	None           Fault = ""
	Throttled      Fault = "throttled"
	Conflict       Fault = "conflict"
	CutBefore      Fault = "cut before"
	CutAfter       Fault = "cut after"
	InternalBefore Fault = "internal before"
	InternalAfter  Fault = "internal after"
	Unprocessed    Fault = "unprocessed"
)

// begin takes the lock and decides what goes wrong. The error stands for a
// call that was not carried out.
func (f *Fake) begin(ctx context.Context, name string, actions int) (Fault, error) {
	if err := ctx.Err(); err != nil {
		return None, cut(name, err)
	}
	f.mu.Lock()
	f.calls++
	if f.Faults == nil {
		return None, nil
	}
	fault := f.Faults(Call{Name: name, Number: f.calls, Writes: actions > 0})
	switch {
	case fault == Throttled && actions > 1 && f.calls%2 == 0:
		return fault, f.refuse(cancelledBy("ThrottlingError", actions))
	case fault == Throttled && f.calls%3 == 0:
		return fault, f.refuse(&types.ProvisionedThroughputExceededException{})
	case fault == Throttled:
		return fault, f.refuse(&types.ThrottlingException{})
	case fault == Conflict && actions > 1 && f.calls%5 == 0:
		return fault, f.refuse(&types.TransactionInProgressException{})
	case fault == Conflict && actions > 1:
		return fault, f.refuse(cancelledBy("TransactionConflict", actions))
	case fault == Conflict && actions == 1:
		return fault, f.refuse(&types.TransactionConflictException{})
	case fault == CutBefore:
		return fault, f.refuse(cut(name, io.ErrUnexpectedEOF))
	case fault == InternalBefore:
		return fault, f.refuse(&types.InternalServerError{})
	}
	return fault, nil
}

func (f *Fake) refuse(err error) error {
	f.mu.Unlock()
	return err
}

// end gives up the lock and drops the answer where the fault says so.
func (f *Fake) end(name string, fault Fault, err error) error {
	f.mu.Unlock()
	switch {
	case err != nil:
		return err
	case fault == CutAfter:
		return cut(name, context.DeadlineExceeded)
	case fault == InternalAfter:
		return &types.InternalServerError{}
	}
	return nil
}

// cut is the error of the SDK for a request without an answer.
func cut(name string, cause error) error {
	return &smithy.OperationError{
		ServiceID: "DynamoDB", OperationName: name, Err: &smithyhttp.RequestSendError{Err: cause},
	}
}

// cancelledBy is a transaction that one of its actions, not always the first, ended.
func cancelledBy(code string, actions int) error {
	err := &types.TransactionCanceledException{}
	for i := range actions {
		reason := types.CancellationReason{Code: ptr("None")}
		if i == actions/2 {
			reason.Code = &code
		}
		err.CancellationReasons = append(err.CancellationReasons, reason)
	}
	return err
}

func ptr[T any](value T) *T { return &value }
