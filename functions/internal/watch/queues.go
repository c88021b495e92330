package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// Queues is what is called of *sqs.Client.
type Queues interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(context.Context, *sqs.DeleteMessageInput, ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
}

// DeadLetters are the queues of what workers never answered.
type DeadLetters struct {
	Client Queues
	// Workers are those that have a queue; Name gives its dead-letter queue.
	Workers func(ctx context.Context) ([]string, error)
	Name    func(worker string) string
	// Triggers is the dead-letter queue of webhooks and events that started
	// nothing; empty: there is none.
	Triggers string
	// Take answers a delivery, or keeps what is none as an exception; false: an
	// attempt still runs.
	Take func(ctx context.Context, l coordinator.Letter) (bool, error)
	Log  *slog.Logger

	mu   sync.Mutex
	urls map[string]string
}

// batches bounds how many messages of a queue one look takes, ten at a time.
const batches = 5

// Look answers what is there, and tells how much is left: what is still at
// work. What cannot be answered becomes an exception that keeps its body.
func (q *DeadLetters) Look(ctx context.Context) (left int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	workers, err := q.Workers(ctx)
	if err != nil {
		return 0, err
	}
	var failed []error
	sources := make([]deadQueue, 0, len(workers)+1)
	for _, worker := range workers {
		sources = append(sources, deadQueue{name: q.Name(worker), worker: worker})
	}
	if q.Triggers != "" {
		sources = append(sources, deadQueue{name: q.Triggers, why: "it came by a trigger and started no run; the log of the trigger's function says why"})
	}
	for _, from := range sources {
		url, err := q.url(ctx, from.name)
		if err != nil || url == "" {
			failed = append(failed, err)
			continue
		}
		failed = append(failed, q.drain(ctx, from, url))
		n, err := q.count(ctx, url)
		left, failed = left+n, append(failed, err)
	}
	return left, errors.Join(failed...)
}

// deadQueue is one dead-letter queue: a worker's, or one whose messages are no
// deliveries for a reason.
type deadQueue struct{ name, worker, why string }

// url is a queue's address; empty: there is no such queue.
func (q *DeadLetters) url(ctx context.Context, name string) (string, error) {
	if url, known := q.urls[name]; known {
		return url, nil
	}
	out, err := q.Client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	var absent *types.QueueDoesNotExist
	if err != nil && !errors.As(err, &absent) {
		return "", fmt.Errorf("finding dead-letter queue %s: %w", name, err)
	}
	url := ""
	if err == nil {
		url = aws.ToString(out.QueueUrl)
	}
	if q.urls == nil {
		q.urls = map[string]string{}
	}
	q.urls[name] = url
	return url, nil
}

func (q *DeadLetters) count(ctx context.Context, url string) (int, error) {
	out, err := q.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible},
	})
	if err != nil {
		return 0, fmt.Errorf("counting dead letters: %w", err)
	}
	n := 0
	for _, text := range out.Attributes {
		some, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("counting dead letters: %w", err)
		}
		n += some
	}
	return n, nil
}

func (q *DeadLetters) drain(ctx context.Context, from deadQueue, url string) error {
	var failed []error
	for range batches {
		out, err := q.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
		if err != nil {
			return fmt.Errorf("reading dead-letter queue %s: %w", from.name, err)
		}
		for _, message := range out.Messages {
			failed = append(failed, q.answer(ctx, from, url, message))
		}
		if len(out.Messages) == 0 {
			break
		}
	}
	return errors.Join(failed...)
}

// answer answers one message and deletes it. The body, which holds a task
// token, is in no log.
func (q *DeadLetters) answer(ctx context.Context, from deadQueue, url string, message types.Message) error {
	id := aws.ToString(message.MessageId)
	log := q.Log.With("queue", from.name, "message", id)
	done, err := q.Take(ctx, coordinator.Letter{Queue: from.name, ID: id, Worker: from.worker, Body: []byte(aws.ToString(message.Body)), Why: from.why})
	if err != nil {
		return fmt.Errorf("answering message %s of dead-letter queue %s: %w", id, from.name, err)
	}
	if !done {
		log.InfoContext(ctx, "a dead letter's step is still at work")
		return nil
	}
	log.WarnContext(ctx, "a message that nobody answered: the step's rule decides, or an exception keeps it")
	if _, err := q.Client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: message.ReceiptHandle}); err != nil {
		return fmt.Errorf("deleting message %s of dead-letter queue %s: %w", id, from.name, err)
	}
	return nil
}

// queued are the workers of the deployed loops that get their work by a queue.
func queued(ctx context.Context, loops func(context.Context) ([]string, error), from coordinator.Definitions) ([]string, error) {
	names, err := loops(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, name := range names {
		hash, err := from.Latest(ctx, name)
		if err != nil {
			return nil, err
		}
		def, err := from.Definition(ctx, hash)
		if err != nil {
			return nil, err
		}
		for _, n := range def.Nodes {
			if n.Mode == charter.ModeQueue {
				for worker := range def.Workers {
					found[worker] = true // reviewers and backups are dispatched as their step is
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
