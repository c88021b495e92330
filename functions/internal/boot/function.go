package boot

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
)

// Function is what a function begins with.
type Function struct {
	Settings
	// Log writes one JSON object a line, which CloudWatch takes apart.
	Log *slog.Logger
	// AWS is the account's configuration; clients are made from it where they
	// are used.
	AWS aws.Config
	// Out is where metrics in the embedded metric format go: the function's log.
	Out io.Writer
	// Now is the clock.
	Now func() time.Time
}

// Handler serves one event.
type Handler func(ctx context.Context, event json.RawMessage) (any, error)

// Run makes a function and serves it; it does not return. What is wrong at the
// start is logged, and the process ends: Lambda then reports the function as
// one that exits.
func Run(open func(context.Context, *Function) (Handler, error), need ...Var) {
	ctx := context.Background()
	f, err := Open(ctx, need...)
	var serve Handler
	if err == nil {
		serve, err = open(ctx, f)
	}
	if err != nil {
		NewLog(os.Stderr, slog.LevelInfo).Error("the function cannot begin", "error", err)
		os.Exit(1)
	}
	lambda.Start(serve)
}

// Open reads the environment and the AWS configuration. Error: ErrSettings.
func Open(ctx context.Context, need ...Var) (*Function, error) {
	settings, err := Read(os.Getenv, need...)
	if err != nil {
		return nil, err
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("loading the AWS configuration: %w", err)
	}
	return &Function{Settings: settings, Log: NewLog(os.Stdout, settings.LogLevel), AWS: cfg, Out: os.Stdout, Now: time.Now}, nil
}

// NewLog is a logger of JSON lines.
func NewLog(out io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}))
}

// Named is an error that Step Functions sees under its name. It must be this
// type, by value: Lambda reports every other error under the name of its Go type.
func Named(name, cause string) error {
	return messages.InvokeResponse_Error{Type: name, Message: cause}
}
