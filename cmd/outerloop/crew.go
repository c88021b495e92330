package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	"github.com/outerloop-dev/outerloop/functions/workers/agent"
	"github.com/outerloop-dev/outerloop/functions/workers/agent/crew"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/catalog"
	"github.com/outerloop-dev/outerloop/pkg/agent/scripted"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// agents are the workers of the project's charters of kind agent, and those
// that a model does where a run has chosen one. Models are asked over
// connections of kind openai, or answer from a recorded script over connections
// of kind scripted: their url is the scripts' directory, the model's id the
// script's name. Amazon Bedrock is asked by programs that link it (see bedrock.go).
func agents(p *project.Project, root string) ([]cli.Worker, error) {
	openers := map[string]catalog.Opener{
		"openai":   catalog.OpenAI,
		"scripted": func(s catalog.Source) (llm.Model, error) { return recorded(root, s) },
	}
	if bedrock != nil {
		openers["bedrock"] = bedrock
	}
	return crew.Of(p, catalog.With{Openers: openers, Secret: secret}, agent.Options{})
}

// secret reads a secret from the environment: pay-key is OUTERLOOP_SECRET_PAY_KEY.
func secret(name string) (string, error) {
	variable := "OUTERLOOP_SECRET_" + strings.ToUpper(strings.NewReplacer("-", "_", "/", "_").Replace(name))
	if value := os.Getenv(variable); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("the environment has no %s", variable)
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
