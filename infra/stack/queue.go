package stack

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
)

// queue says what a queue is. One with Receives has a dead-letter queue of its
// own, "<name>-dlq", with the given receives before it.
type queue struct {
	Name       string
	Visibility time.Duration
	Receives   int
}

// How long queues keep messages. A message's age goes on in a dead-letter queue,
// which therefore keeps longer: SQS's longest.
const (
	kept     = 10 * 24 * time.Hour
	deadKept = 14 * 24 * time.Hour
)

func (d *deployment) queue(scope constructs.Construct, id string, q queue) awssqs.Queue {
	props := &awssqs.QueueProps{
		QueueName: str(q.Name), EnforceSSL: yes(), Encryption: awssqs.QueueEncryption_SQS_MANAGED,
		RetentionPeriod: awscdk.Duration_Seconds(num(int(deadKept.Seconds()))),
	}
	if q.Visibility > 0 {
		props.VisibilityTimeout = awscdk.Duration_Seconds(num(int(q.Visibility.Seconds())))
	}
	if q.Receives > 0 {
		dead := d.queue(scope, id+"Dead", queue{Name: q.Name + "-dlq"})
		props.RetentionPeriod = awscdk.Duration_Seconds(num(int(kept.Seconds())))
		props.DeadLetterQueue = &awssqs.DeadLetterQueue{Queue: dead, MaxReceiveCount: num(q.Receives)}
		return awssqs.NewQueue(scope, str(id), props)
	}
	made := awssqs.NewQueue(scope, str(id), props)
	suppress(made, "AwsSolutions-SQS3", "This is a dead-letter queue itself.", "")
	return made
}

// consumes is the right to take messages off a queue.
func consumes(queue string) right {
	return right{Do: []string{"sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}, On: []string{queue}}
}

// feed is a queue that a function works off.
type feed struct {
	From          awssqs.Queue
	To            awslambda.Function
	AtOnce, Batch int
}

func (d *deployment) feeds(scope constructs.Construct, id string, f feed) {
	awslambda.NewEventSourceMapping(scope, str(id), &awslambda.EventSourceMappingProps{
		EventSourceArn: f.From.QueueArn(), Target: f.To, BatchSize: num(f.Batch),
		MaxConcurrency: num(max(2, f.AtOnce)), ReportBatchItemFailures: yes(),
	})
}
