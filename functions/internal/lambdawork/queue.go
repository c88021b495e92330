package lambdawork

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/outerloop-dev/outerloop/pkg/worker/lambdaworker"
)

// Messages is what is called of *sqs.Client.
type Messages interface {
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
}

// Visibility changes how long a message of the worker's queue stays hidden.
type Visibility struct {
	Client Messages
	// URL gives a queue's address from its ARN; nil: the account's own.
	URL func(arn string) string
}

var _ lambdaworker.Visibility = Visibility{}

// Hide hides a message from now on for so long, in whole seconds.
func (v Visibility) Hide(ctx context.Context, queueARN, receiptHandle string, d time.Duration) error {
	url := v.URL
	if url == nil {
		url = QueueURL
	}
	address := url(queueARN)
	_, err := v.Client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &address, ReceiptHandle: &receiptHandle, VisibilityTimeout: int32(d / time.Second), //nolint:gosec // at most 12 hours
	})
	if err != nil {
		return fmt.Errorf("hiding a message: %w", err)
	}
	return nil
}

// QueueURL is a queue's address by its ARN: the SDK sends to its own endpoint,
// and SQS reads account and name from the path.
func QueueURL(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return arn
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(parts[1], "aws-cn") {
		domain = "amazonaws.com.cn"
	}
	return "https://sqs." + parts[3] + "." + domain + "/" + parts[4] + "/" + parts[5]
}
