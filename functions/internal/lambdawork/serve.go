package lambdawork

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/functions/internal/secret"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/lambdaworker"
)

// Main serves a worker as its function and does not return.
func Main(w worker.Worker) {
	boot.Run(func(_ context.Context, f *boot.Function) (boot.Handler, error) {
		if f.Worker != "" && f.Worker != w.Name() {
			return nil, fmt.Errorf("this is the code of worker %s, and the function is said to be worker %s", w.Name(), f.Worker)
		}
		return Open(w, f).Handle, nil
	}, Needs...)
}

// Needs are the variables that a worker's function cannot do without.
var Needs = []boot.Var{boot.Project, boot.Gate, boot.Bucket}

// Parts are what a worker's function is made of.
type Parts struct {
	Settings boot.Settings
	Lambda   Invoker
	// Messages is nil where the function has no queue.
	Messages Messages
	Outside  Outside
	Web      *http.Client
	Env      worker.Env
}

// Open makes a worker's function from its surroundings.
func Open(w worker.Worker, f *boot.Function) *lambdaworker.Server {
	secrets := &secret.Store{Client: secretsmanager.NewFromConfig(f.AWS), Name: f.Secret, Now: f.Now}
	return New(w, Parts{
		Settings: f.Settings, Lambda: lambda.NewFromConfig(f.AWS), Messages: sqs.NewFromConfig(f.AWS),
		Outside: Outside{
			Objects: s3.NewFromConfig(f.AWS), Bucket: f.Bucket, Mail: SES{sesv2.NewFromConfig(f.AWS)}, Secret: secrets.Value,
		},
		Web: &http.Client{Timeout: time.Minute}, Env: worker.Env{Log: f.Log},
	})
}

// New makes a worker's function of parts.
func New(w worker.Worker, p Parts) *lambdaworker.Server {
	if p.Env.Clock == nil {
		p.Env.Clock = worker.SystemClock{}
	}
	files := NewFiles(p.Web)
	tools := Tools{Client: p.Lambda, Function: p.Settings.WorkerFunction}
	cfg := lambdaworker.Config{Open: func(context.Context) (gate.Gate, worker.Env) {
		env := p.Env
		env.Files, env.Run = files, tools.Run
		env.Connections = map[string]worker.Connection{}
		return &Gate{
			Client: p.Lambda, Function: p.Settings.Gate, Get: files.Fetch, Clock: p.Env.Clock,
			Took: func(ctx context.Context, with gatewire.Surroundings) {
				p.Outside.take(ctx, with, taken{files, env.Connections})
			},
		}, env
	}}
	cfg.Probe = func(ctx context.Context, raw json.RawMessage) (gate.Task, worker.Env, error) {
		var probe gatewire.Probe
		if err := json.Unmarshal(raw, &probe); err != nil {
			return gate.Task{}, worker.Env{}, fmt.Errorf("reading the probe: %w", err)
		}
		env := p.Env
		env.Files, env.Connections = files, map[string]worker.Connection{}
		p.Outside.take(ctx, probe.With, taken{files, env.Connections})
		return probe.Task, env, nil
	}
	if p.Messages != nil {
		cfg.Visibility = Visibility{Client: p.Messages}
	}
	return lambdaworker.New(w, cfg)
}
