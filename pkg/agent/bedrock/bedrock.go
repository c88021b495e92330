// Package bedrock asks models of Amazon Bedrock through the Converse API. It
// links the AWS SDK, so only programs that use it import it.
package bedrock

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/smithy-go"

	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Client is the one call that is made of Bedrock; *bedrockruntime.Client has it.
type Client interface {
	Converse(ctx context.Context, in *bedrockruntime.ConverseInput, options ...func(*bedrockruntime.Options)) (*bedrockruntime.ConverseOutput, error)
}

// Structure is how a model is held to the form of its answer.
type Structure string

// The structures. Whatever the structure, answers are checked by the schema here.
const (
	// StructureTool makes the model call a tool whose input is the answer. All
	// models with tool choice know it.
	StructureTool Structure = "tool"
	// StructureNative uses the service's structured output, where the model has it.
	StructureNative Structure = "native"
	// StructureText asks in words alone.
	StructureText Structure = "text"
)

// Config is a model of Bedrock.
type Config struct {
	// Model is a model id, an inference profile or an ARN. Needed.
	Model string
	// Structure defaults to StructureTool.
	Structure Structure
	// Cache puts a cache point after the instructions, which are the same for
	// all tasks of a worker. The model's price should then name cache_read and
	// cache_write.
	Cache bool
	// Now is the clock of Retry-After; nil: time.Now.
	Now func() time.Time
}

// Model is a model of Bedrock. It is safe for concurrent use.
type Model struct {
	client Client
	cfg    Config
}

// New makes a model that is asked through a client. The client's own retries
// are switched off for each call.
func New(client Client, cfg Config) (*Model, error) {
	if client == nil || cfg.Model == "" {
		return nil, errors.New("a client and a model's id are needed")
	}
	if cfg.Structure == "" {
		cfg.Structure = StructureTool
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Model{client, cfg}, nil
}

// Ask makes one Converse call.
func (m *Model) Ask(ctx context.Context, req agent.Request) (agent.Answer, error) {
	in, err := m.encode(req)
	if err != nil {
		return agent.Answer{}, worker.Fatal("asking %s: %w", m.cfg.Model, err)
	}
	ctx, cancel := agent.Bounded(ctx, req)
	defer cancel()
	out, err := m.client.Converse(ctx, in, func(o *bedrockruntime.Options) {
		o.Retryer, o.HTTPClient = aws.NopRetryer{}, bounded{o.HTTPClient}
	})
	if err != nil {
		return agent.Answer{}, m.failed(ctx, err)
	}
	return m.decode(out)
}

// answerLimit bounds what is read of a response, in bytes.
const answerLimit = 8 << 20

// bounded is an HTTP client whose responses end with an error after answerLimit.
type bounded struct{ bedrockruntime.HTTPClient }

// Do makes one request.
func (b bounded) Do(r *http.Request) (*http.Response, error) {
	response, err := b.HTTPClient.Do(r)
	if err == nil && response.Body != nil {
		response.Body = http.MaxBytesReader(nil, response.Body, answerLimit)
	}
	return response, err
}

// statuses are codes whose HTTP status does not say what they mean.
var statuses = map[string]int{
	"ServiceQuotaExceededException": http.StatusTooManyRequests,
	"ThrottlingException":           http.StatusTooManyRequests,
	"ModelNotReadyException":        http.StatusTooManyRequests,
	"ModelTimeoutException":         http.StatusRequestTimeout,
	"AccessDeniedException":         http.StatusForbidden,
}

func (m *Model) failed(ctx context.Context, err error) error {
	var coded smithy.APIError
	var response *awshttp.ResponseError
	if !errors.As(err, &coded) || !errors.As(err, &response) || ctx.Err() != nil {
		return agent.Interrupted(ctx, m.cfg.Model, transportError(err))
	}
	status := response.HTTPStatusCode()
	if better, known := statuses[coded.ErrorCode()]; known {
		status = better
	}
	if status/100 == 2 {
		return agent.Interrupted(ctx, m.cfg.Model, transportError(err))
	}
	return agent.Rejected(m.cfg.Model, agent.Rejection{
		Status: status, Code: coded.ErrorCode(), Message: coded.ErrorMessage(),
		RetryAfter: worker.RetryAfter(response.Response.Header.Get("Retry-After"), m.cfg.Now()),
	})
}

// transportError keeps the cause of an SDK's error and says what it is.
func transportError(err error) error {
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		return fmt.Errorf("calling %s: %w", operation.OperationName, operation.Err)
	}
	return err
}
