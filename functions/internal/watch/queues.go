package watch

import (
	"context"
	"encoding/json"
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
	"github.com/outerloop-dev/outerloop/pkg/gate"
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
	// Drain answers a delivery; false: an attempt still runs.
	Drain func(ctx context.Context, d gate.Delivery) (bool, error)
	Log   *slog.Logger

	mu   sync.Mutex
	urls map[string]string
}

// batches bounds how many messages of a queue one look takes, ten at a time.
const batches = 5

// Look answers what is there, and tells how much is left: what is still at
// work, and what is no delivery. That stays, with its body, for a person.
func (q *DeadLetters) Look(ctx context.Context) (left int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	workers, err := q.Workers(ctx)
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, worker := range workers {
		url, err := q.url(ctx, worker)
		if err != nil || url == "" {
			failed = append(failed, err)
			continue
		}
		failed = append(failed, q.drain(ctx, worker, url))
		n, err := q.count(ctx, url)
		left, failed = left+n, append(failed, err)
	}
	return left, errors.Join(failed...)
}

// url is a queue's address; empty: there is no such queue.
func (q *DeadLetters) url(ctx context.Context, worker string) (string, error) {
	if url, known := q.urls[worker]; known {
		return url, nil
	}
	out, err := q.Client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(q.Name(worker))})
	var absent *types.QueueDoesNotExist
	if err != nil && !errors.As(err, &absent) {
		return "", fmt.Errorf("finding the dead-letter queue of %s: %w", worker, err)
	}
	url := ""
	if err == nil {
		url = aws.ToString(out.QueueUrl)
	}
	if q.urls == nil {
		q.urls = map[string]string{}
	}
	q.urls[worker] = url
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

func (q *DeadLetters) drain(ctx context.Context, worker, url string) error {
	var failed []error
	for range batches {
		out, err := q.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
		if err != nil {
			return fmt.Errorf("reading the dead letters of %s: %w", worker, err)
		}
		for _, message := range out.Messages {
			failed = append(failed, q.answer(ctx, worker, url, message))
		}
		if len(out.Messages) == 0 {
			break
		}
	}
	return errors.Join(failed...)
}

// answer answers one message and deletes it. The body, which holds a task
// token, is in no log.
func (q *DeadLetters) answer(ctx context.Context, worker, url string, message types.Message) error {
	log := q.Log.With("worker", worker, "message", aws.ToString(message.MessageId))
	var d gate.Delivery
	if err := json.Unmarshal([]byte(aws.ToString(message.Body)), &d); err != nil || d.Run == "" {
		log.ErrorContext(ctx, "a dead letter is no delivery and stays in its queue")
		return nil //nolint:nilerr // its content, which may hold a token, is told to nobody
	}
	log = log.With("run", d.Run, "step", d.Step, "item", d.Item)
	done, err := q.Drain(ctx, d)
	if err != nil {
		return fmt.Errorf("answering a dead letter of %s: %w", worker, err)
	}
	if !done {
		log.InfoContext(ctx, "a dead letter's step is still at work")
		return nil
	}
	log.WarnContext(ctx, "a delivery that nobody answered: the step's rule decides")
	if _, err := q.Client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: message.ReceiptHandle}); err != nil {
		return fmt.Errorf("deleting a dead letter of %s: %w", worker, err)
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
