// Package hook is the function that webhooks reach: it verifies a signature,
// puts the delivery into the trigger's queue, and only then says yes. It has no
// way to the table. What it refuses it refuses without a reason.
package hook

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/secret"
	"github.com/outerloop-dev/outerloop/pkg/webhook"
)

// Queue is what is called of *sqs.Client.
type Queue interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// Config is what the function is made of; all but Log is required.
type Config struct {
	// Webhooks are the declared ones, by name: the last part of the path.
	Webhooks map[string]boot.Webhook
	// Secret reads a secret by its name.
	Secret func(ctx context.Context, name string) (string, error)
	Queue  Queue
	// URL is the queue's.
	URL string
	Now func() time.Time
	Log *slog.Logger
}

// Function serves webhooks.
type Function struct{ cfg Config }

// New makes the function.
func New(cfg Config) *Function {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Function{cfg}
}

// Open makes it of a function's surroundings.
func Open(_ context.Context, f *boot.Function) (boot.Handler, error) {
	secrets := &secret.Store{Client: secretsmanager.NewFromConfig(f.AWS), Name: f.Secret, Now: f.Now}
	fn := New(Config{
		Webhooks: f.Webhooks, Secret: secrets.Value, Queue: sqs.NewFromConfig(f.AWS), URL: f.TriggerQueue, Now: f.Now, Log: f.Log,
	})
	return fn.Handle, nil
}

// Delivery is an accepted webhook on its way to the trigger.
type Delivery struct {
	Name    string            `json:"name"`
	ID      string            `json:"id"`
	At      time.Time         `json:"at"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body"`
}

// Message is what the queue holds.
type Message struct {
	Webhook Delivery `json:"webhook"`
}

// patience bounds one request: Slack waits for three seconds.
const patience = 2500 * time.Millisecond

// Handle serves a request of a function URL.
func (f *Function) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	var req events.LambdaFunctionURLRequest
	if err := json.Unmarshal(event, &req); err != nil {
		return answer(http.StatusBadRequest, ""), nil //nolint:nilerr // it is the sender's fault, and is told no more
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	name := req.RawPath[strings.LastIndexByte(req.RawPath, '/')+1:]
	status, text, err := f.serve(ctx, name, req)
	if err != nil {
		f.cfg.Log.WarnContext(ctx, "webhook refused", "webhook", name, "status", status, "error", err)
	}
	return answer(status, text), nil
}

func answer(status int, text string) events.LambdaFunctionURLResponse {
	return events.LambdaFunctionURLResponse{
		StatusCode: status, Body: text,
		Headers: map[string]string{"content-type": "text/plain; charset=utf-8", "cache-control": "no-store"},
	}
}

func (f *Function) serve(ctx context.Context, name string, req events.LambdaFunctionURLRequest) (status int, text string, err error) {
	declared, known := f.cfg.Webhooks[name]
	switch {
	case !known:
		return http.StatusNotFound, "", errors.New("no such webhook")
	case req.RequestContext.HTTP.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "", errors.New("not a POST")
	}
	body, err := raw(req)
	if err != nil {
		return http.StatusBadRequest, "", err
	}
	secrets, err := f.secrets(ctx, declared)
	if err != nil { // the sender tries again
		return http.StatusServiceUnavailable, "", err
	}
	now := f.cfg.Now()
	verified, err := webhook.Verify(declared.Verify, secrets, webhook.Delivery{Body: body, Headers: req.Headers}, now)
	switch {
	case errors.Is(err, webhook.ErrTooLarge):
		return http.StatusRequestEntityTooLarge, "", err
	case err != nil:
		return http.StatusUnauthorized, "", err
	case verified.Challenge != "":
		return http.StatusOK, verified.Challenge, nil
	}
	message, err := message(Delivery{Name: name, ID: verified.ID, At: now.UTC(), Headers: passed(req.Headers), Body: body})
	switch {
	case errors.Is(err, webhook.ErrTooLarge):
		return http.StatusRequestEntityTooLarge, "", err
	case err != nil:
		return http.StatusBadRequest, "", err
	}
	_, err = f.cfg.Queue.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &f.cfg.URL, MessageBody: aws.String(message)})
	var characters *types.InvalidMessageContents
	switch {
	case errors.As(err, &characters):
		return http.StatusBadRequest, "", fmt.Errorf("queueing: %w", err)
	case err != nil:
		return http.StatusServiceUnavailable, "", fmt.Errorf("queueing: %w", err)
	}
	return http.StatusAccepted, "", nil
}

// raw is the body as it was signed.
func raw(req events.LambdaFunctionURLRequest) ([]byte, error) {
	if !req.IsBase64Encoded {
		return []byte(req.Body), nil
	}
	return base64.StdEncoding.DecodeString(req.Body)
}

// secrets reads those that there are. A secret that cannot be read does not
// keep deliveries out that another one signs, as during a rotation.
func (f *Function) secrets(ctx context.Context, declared boot.Webhook) ([]string, error) {
	var values []string
	var failed []error
	for _, name := range declared.Secrets {
		value, err := f.cfg.Secret(ctx, name)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		return nil, errors.Join(append(failed, errors.New("it has no secret"))...)
	}
	for _, err := range failed {
		f.cfg.Log.WarnContext(ctx, "a webhook's secret is left out", "error", err)
	}
	return values, nil
}

// passed are the headers that triggers may see: none that is a credential, or
// that the road added.
func passed(headers map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range headers {
		private := strings.Contains(name, "signature") || strings.HasPrefix(name, "x-amz") || strings.HasPrefix(name, "x-forwarded")
		switch name {
		case "authorization", "cookie", "host", "content-length", "accept", "accept-encoding", "connection", "via":
			private = true
		}
		if !private {
			out[name] = value
		}
	}
	return out
}

// largestMessage is what a message of the queue may have, in bytes.
const largestMessage = 256 * 1024

// message is a delivery as JSON. Error: webhook.ErrTooLarge.
func message(d Delivery) (string, error) {
	if !json.Valid(d.Body) {
		return "", errors.New("the body is no JSON")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(Message{d}); err != nil {
		return "", err
	}
	if b.Len() > largestMessage {
		return "", fmt.Errorf("%w: its message would have %d bytes", webhook.ErrTooLarge, b.Len())
	}
	return b.String(), nil
}
