// Package lambdaagent is the function of every worker that asks a language
// model: one program, whose charter, prompt, model and price come with the task.
package lambdaagent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/lambdawork"
	"github.com/outerloop-dev/outerloop/functions/internal/secret"
	"github.com/outerloop-dev/outerloop/functions/workers/agent"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/bedrock"
	"github.com/outerloop-dev/outerloop/pkg/agent/catalog"
	"github.com/outerloop-dev/outerloop/pkg/agent/scripted"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Open makes the function of its surroundings: OUTERLOOP_WORKER is the charter,
// OUTERLOOP_CONTRACT its contract number, OUTERLOOP_MODEL_TIME what one call of
// its model may take.
func Open(_ context.Context, f *boot.Function) (boot.Handler, error) {
	secrets := &secret.Store{Client: secretsmanager.NewFromConfig(f.AWS), Name: f.Secret, Now: f.Now}
	models := &Models{
		Objects: s3.NewFromConfig(f.AWS), Bucket: f.Bucket, Now: f.Now,
		With: catalog.With{
			Openers: map[string]catalog.Opener{"openai": catalog.OpenAI, "bedrock": func(s catalog.Source) (llm.Model, error) {
				return bedrock.New(bedrockruntime.NewFromConfig(f.AWS, func(o *bedrockruntime.Options) {
					if s.URL != "" {
						o.BaseEndpoint = &s.URL
					}
				}), bedrock.Config{Model: s.ID})
			}},
			Secret: func(name string) (string, error) {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				return secrets.Value(ctx, name)
			},
		},
	}
	w, err := agent.New(f.Worker, agent.Options{Open: models.Open, Contract: f.Contract, Timeout: f.ModelTime, Log: f.Log})
	if err != nil {
		return nil, err
	}
	return lambdawork.Open(w, f).Handle, nil
}

const (
	// patience bounds the reading of a secret or a script.
	patience = 20 * time.Second
	// goodFor is how long a model is asked as it was opened: a rotated secret is
	// used at the latest so much later.
	goodFor = 5 * time.Minute
)

// Models opens the models that tasks bring. Safe for concurrent use.
type Models struct {
	With    catalog.With
	Objects lambdawork.Objects
	Bucket  string
	Now     func() time.Time

	mu     sync.Mutex
	opened map[gate.Model]opened
}

type opened struct {
	model llm.Model
	at    time.Time
}

// Open opens a model, or gives the one that was opened a moment ago.
func (m *Models) Open(wanted gate.Model) (llm.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := wanted
	at.Price = gate.Price{} // what it costs makes no other model
	if have, ok := m.opened[at]; ok && m.Now().Sub(have.at) < goodFor {
		return have.model, nil
	}
	model, err := m.open(wanted)
	if err != nil {
		return nil, err
	}
	if m.opened == nil {
		m.opened = map[gate.Model]opened{}
	}
	m.opened[at] = opened{model, m.Now()}
	return model, nil
}

func (m *Models) open(wanted gate.Model) (llm.Model, error) {
	if wanted.Kind != "scripted" {
		return m.With.Open(wanted)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	folder := lambdawork.Folder{Client: m.Objects, Bucket: m.Bucket, Prefix: lambdawork.ConnectionPrefix(wanted.Connection)}
	raw, err := folder.Read(ctx, wanted.ID+".json")
	if err != nil {
		return nil, fmt.Errorf("opening model %s: %w", wanted.Name, transient(err))
	}
	script, err := scripted.Load(raw)
	if err != nil {
		return nil, fmt.Errorf("opening model %s: %w", wanted.Name, err)
	}
	return scripted.New(script, nil)
}

// transient keeps a class that an error has.
func transient(err error) error {
	var classed *worker.Error
	if errors.As(err, &classed) {
		return err
	}
	return worker.Transient("%w", err)
}
