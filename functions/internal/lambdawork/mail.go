package lambdawork

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Mailing is what is called of *sesv2.Client.
type Mailing interface {
	SendEmail(context.Context, *sesv2.SendEmailInput, ...func(*sesv2.Options)) (*sesv2.SendEmailOutput, error)
}

// SES sends mail over Amazon SES, which knows no idempotency key: an answer that
// is lost leaves it unknown whether the mail went out.
type SES struct{ Client Mailing }

var _ worker.Mail = SES{}

// Send hands a message over, once.
func (s SES) Send(ctx context.Context, from, to string, message []byte) (string, error) {
	out, err := s.Client.SendEmail(ctx, &sesv2.SendEmailInput{
		FromEmailAddress: &from, Destination: &types.Destination{ToAddresses: []string{to}},
		Content: &types.EmailContent{Raw: &types.RawMessage{Data: message}},
	}, func(o *sesv2.Options) { o.RetryMaxAttempts = 1 })
	if err == nil {
		return aws.ToString(out.MessageId), nil
	}
	return "", refused(err)
}

// refused classes what SES answers; without an answer the outcome is unknown.
func refused(err error) error {
	var (
		answered  *smithyhttp.ResponseError
		many      *types.TooManyRequestsException
		limit     *types.LimitExceededException
		rejected  *types.MessageRejected
		suspended *types.AccountSuspendedException
		paused    *types.SendingPausedException
		unproven  *types.MailFromDomainNotVerifiedException
	)
	switch {
	case errors.As(err, &many), errors.As(err, &limit):
		return worker.NotDone(worker.Transient("sending over SES: %w", err))
	case errors.As(err, &rejected):
		return worker.Refused("SES refuses the mail: %w", err)
	case errors.As(err, &suspended), errors.As(err, &paused), errors.As(err, &unproven):
		return worker.NotDone(worker.Fatal("SES does not send for this account: %w", err))
	case errors.As(err, &answered) && answered.HTTPStatusCode() >= 400 && answered.HTTPStatusCode() < 500:
		return worker.NotDone(worker.ToolFailed("sending over SES: %w", err))
	}
	return worker.Transient("sending over SES: %w", err)
}
