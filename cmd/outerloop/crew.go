package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	"github.com/outerloop-dev/outerloop/functions/workers/agent"
	"github.com/outerloop-dev/outerloop/functions/workers/agent/crew"
	bridgecrew "github.com/outerloop-dev/outerloop/functions/workers/bridge/crew"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/catalog"
	"github.com/outerloop-dev/outerloop/pkg/agent/scripted"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// agents are the workers of the project's charters of kind agent, and those
// that a model does where a run has chosen one. Models are asked over
// connections of kind openai, or answer from a recorded script over connections
// of kind scripted: their url is the scripts' directory, the model's id the
// script's name. Amazon Bedrock is asked by programs that link it (see bedrock.go).
func agents(p *project.Project, root string) ([]cli.Worker, error) {
	return crew.Of(p, models(root), agent.Options{})
}

// withoutCode are the workers that need no code of their own.
func withoutCode(p *project.Project, root string) ([]cli.Worker, error) {
	workers, err := agents(p, root)
	return append(workers, bridgecrew.Of(p, bridges(root))...), err
}

// replay does recorded work again with the same models.
func replay(ctx context.Context, again cli.Again) (cli.AgainAnswer, error) {
	tried, err := agent.Try(ctx, agent.Options{
		Open: models(again.Root).Open, Prompt: again.Prompt,
		Tools: func(agent.Task) llm.Tools { return recordedCalls(again.Calls) },
	}, again.Task, again.Files)
	return cli.AgainAnswer{Result: tried.Result, Failure: tried.Failure}, err
}

// recordedCalls answer tool calls as they were answered before.
type recordedCalls []coordinator.TrialCall

// Call gives the recorded answer of the same call; another one is refused.
func (r recordedCalls) Call(_ context.Context, call llm.WorkerCall) (llm.WorkerAnswer, error) {
	for _, made := range r {
		if made.Worker != call.Worker || !sameJSON(made.Input, call.Input) {
			continue
		}
		if made.Output != nil {
			return llm.WorkerAnswer{Outcome: llm.CallDone, Output: made.Output}, nil
		}
		return llm.WorkerAnswer{Outcome: llm.CallRefused, Says: made.Says}, nil
	}
	return llm.WorkerAnswer{Outcome: llm.CallRefused, Says: "This is a trial, and this call was not made before: nothing is done."}, nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func models(root string) catalog.With {
	return catalog.With{Secret: secret, Openers: map[string]catalog.Opener{
		"openai":   catalog.OpenAI,
		"bedrock":  bedrock,
		"scripted": func(s catalog.Source) (llm.Model, error) { return recorded(root, s) },
	}}
}

// secret reads a secret from the environment: pay-key is OUTERLOOP_SECRET_PAY_KEY,
// or what stands in the file that OUTERLOOP_SECRET_PAY_KEY_FILE names.
func secret(name string) (string, error) {
	variable := "OUTERLOOP_SECRET_" + strings.ToUpper(strings.NewReplacer("-", "_", "/", "_").Replace(name))
	if value := os.Getenv(variable); value != "" {
		return value, nil
	}
	if file := os.Getenv(variable + "_FILE"); file != "" {
		raw, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("reading %s_FILE: %w", variable, err)
		}
		return strings.TrimSpace(string(raw)), nil
	}
	return "", fmt.Errorf("the environment has neither %s nor %s_FILE", variable, variable)
}

func recorded(root string, s catalog.Source) (llm.Model, error) {
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(s.URL), s.ID+".json"))
	if err != nil {
		return nil, err
	}
	script, err := scripted.Load(raw)
	if err != nil {
		return nil, err
	}
	return scripted.New(script, nil)
}
