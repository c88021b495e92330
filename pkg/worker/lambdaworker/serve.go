// Package lambdaworker serves a worker as an AWS Lambda function, in both
// dispatch modes: messages of its queue, and direct invocations by a machine.
// It knows Lambda's events and nothing else of AWS: gate and queue are ports.
package lambdaworker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Visibility changes how long a received message stays hidden.
type Visibility interface {
	// Hide hides a message from now on for so long: 0 shows it at once.
	Hide(ctx context.Context, queueARN, receiptHandle string, d time.Duration) error
}

// Config is what a function serves its worker with. Gate or Open is required.
type Config struct {
	// Gate is this worker's own gate.
	Gate gate.Gate
	Env  worker.Env
	// Open gives gate and surroundings of one invocation, in place of Gate and
	// Env: what an admitted task may use belongs to that task alone.
	Open func(ctx context.Context) (gate.Gate, worker.Env)
	// Probe reads the event {"probe": …} by which a monitor asks the worker
	// outside of any run; nil: it cannot.
	Probe func(ctx context.Context, probe json.RawMessage) (gate.Task, worker.Env, error)
	// Visibility is the queue's; nil: messages keep the queue's time-out.
	Visibility Visibility
	// Exit ends the process when a worker's function still runs after its
	// time; nil: os.Exit.
	Exit func(code int)
}

// Start serves the worker and does not return. The event source mapping of its
// queue must have a batch size of 1 and report batch item failures.
func Start(w worker.Worker, cfg Config) {
	lambda.Start(New(w, cfg).Handle)
}

// Server is a worker behind Lambda's events.
type Server struct {
	worker worker.Worker
	cfg    Config
}

// New makes a server; it panics without a gate.
func New(w worker.Worker, cfg Config) *Server {
	if cfg.Gate == nil && cfg.Open == nil {
		panic("lambdaworker: a gate is required")
	}
	if cfg.Exit == nil {
		cfg.Exit = os.Exit
	}
	if cfg.Env.Clock == nil {
		cfg.Env.Clock = worker.SystemClock{}
	}
	return &Server{w, cfg}
}

// Handle serves one event. An SQS event is answered with the messages that
// must come again; a direct delivery with its note, or an error whose type is
// the error's name in the machine.
func (s *Server) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	var queued events.SQSEvent
	if err := json.Unmarshal(event, &queued); err == nil && len(queued.Records) > 0 {
		return s.queued(ctx, queued), nil
	}
	if probe := probeOf(event); probe != nil && s.cfg.Probe != nil {
		return s.probe(ctx, probe)
	}
	delivery, err := parse(event)
	if err != nil {
		return nil, named(outerloop.ErrorFatal, err.Error())
	}
	handled, err := s.handle(ctx, worker.Invocation{Delivery: delivery, Request: request(ctx)})
	switch {
	case err != nil:
		return nil, named(outerloop.ErrorNotNow, err.Error())
	case handled.Verdict == nil:
		return nil, named(outerloop.ErrorNotNow, handled.Reason)
	case handled.Verdict.Error != "":
		return nil, named(handled.Verdict.Error, handled.Verdict.Cause)
	}
	return handled.Verdict.Note, nil
}

// queued handles the messages of a batch one after another. Only what was
// answered is acknowledged.
func (s *Server) queued(ctx context.Context, event events.SQSEvent) events.SQSEventResponse {
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for i, message := range event.Records {
		if !s.message(ctx, message, request(ctx)+"."+strconv.Itoa(i)) {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
		}
	}
	return answer
}

// message handles one message and tells whether it may be acknowledged.
func (s *Server) message(ctx context.Context, message events.SQSMessage, request string) bool {
	delivery, err := parse([]byte(message.Body))
	if err != nil {
		s.warn(ctx, "message is no delivery", message, err)
		return false
	}
	handled, err := s.handle(ctx, worker.Invocation{
		Delivery: delivery, Request: request,
		Held: func(ctx context.Context, until time.Time) { s.hide(ctx, message, until) },
	})
	switch {
	case err != nil:
		s.warn(ctx, "delivery is not answered", message, err)
		return false
	case handled.Verdict == nil:
		if !handled.Later.IsZero() {
			s.hide(ctx, message, handled.Later)
		}
		return false
	}
	return true
}

func (s *Server) handle(ctx context.Context, inv worker.Invocation) (worker.Handled, error) {
	inv.Worker, inv.Gate, inv.Env = s.worker, s.cfg.Gate, s.cfg.Env
	if s.cfg.Open != nil {
		inv.Gate, inv.Env = s.cfg.Open(ctx)
	}
	inv.Limit, _ = ctx.Deadline()
	handled, err := worker.Handle(ctx, inv)
	if handled.Exit {
		s.cfg.Exit(1)
	}
	return handled, err
}

// probeOf is the content of an event of a monitor; nil for other events.
func probeOf(event json.RawMessage) json.RawMessage {
	var asked struct {
		Probe json.RawMessage `json:"probe"`
	}
	if json.Unmarshal(event, &asked) != nil {
		return nil
	}
	return asked.Probe
}

// probe asks the worker for a monitor. The answer is {"output": …}; a probe that
// fails is an error of the function, which the monitor tells.
func (s *Server) probe(ctx context.Context, raw json.RawMessage) (any, error) {
	task, env, err := s.cfg.Probe(ctx, raw)
	if err != nil {
		return nil, named(outerloop.ErrorFatal, err.Error())
	}
	limit, _ := ctx.Deadline()
	probed, err := worker.Probe(ctx, worker.Invocation{Worker: s.worker, Request: request(ctx), Limit: limit, Env: env}, task)
	if probed.Exit {
		s.cfg.Exit(1)
	}
	if err != nil {
		return nil, named(outerloop.ErrorToolFailed, err.Error())
	}
	return map[string]json.RawMessage{"output": probed.Output}, nil
}

// longestHidden is how long SQS hides a message at most, less a margin for the
// time that has passed since it was received.
const longestHidden = 12*time.Hour - 16*time.Minute

func (s *Server) hide(ctx context.Context, message events.SQSMessage, until time.Time) {
	if s.cfg.Visibility == nil {
		return
	}
	d := until.Sub(s.cfg.Env.Clock.Now()).Truncate(time.Second) + time.Second
	d = max(0, min(d, longestHidden))
	if err := s.cfg.Visibility.Hide(ctx, message.EventSourceARN, message.ReceiptHandle, d); err != nil {
		s.warn(ctx, "visibility is not changed", message, err)
	}
}

// warn logs without the body, which holds a task token.
func (s *Server) warn(ctx context.Context, what string, message events.SQSMessage, err error) {
	if s.cfg.Env.Log != nil {
		s.cfg.Env.Log.WarnContext(ctx, what, "message", message.MessageId, "error", err)
	}
}

// parse reads a delivery. Errors do not show its content, which may hold a task token.
func parse(raw []byte) (gate.Delivery, error) {
	var d gate.Delivery
	if err := json.Unmarshal(raw, &d); err != nil {
		var at *json.UnmarshalTypeError
		if errors.As(err, &at) {
			return d, fmt.Errorf("reading delivery: field %s is not of its type", at.Field)
		}
		return d, errors.New("reading delivery: it is not JSON")
	}
	if d.Run == "" || d.Step == "" {
		return d, errors.New("reading delivery: run and step are missing")
	}
	return d, nil
}

// named is an error that Step Functions sees under its name. It must be this
// type, by value: Lambda reports every other error under the name of its Go type.
func named(name, cause string) error {
	return messages.InvokeResponse_Error{Type: name, Message: cause}
}

// request is Lambda's id of the invocation: a redelivery has another one.
func request(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok && lc.AwsRequestID != "" {
		return lc.AwsRequestID
	}
	return "local-" + strconv.FormatInt(time.Now().UnixNano(), 36)
}
