package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	"github.com/outerloop-dev/outerloop/functions/workers/agent"
	"github.com/outerloop-dev/outerloop/functions/workers/agent/crew"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/catalog"
	"github.com/outerloop-dev/outerloop/pkg/agent/scripted"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// agents are the workers of the project's charters of kind agent. Models are
// asked over connections of kind openai, or answer from a recorded script over
// connections of kind scripted: their url is the scripts' directory, the
// model's id the script's name.
func agents(p *project.Project, root string) ([]cli.Worker, error) {
	return crew.Of(p, catalog.With{
		Openers: map[string]catalog.Opener{
			"openai":   catalog.OpenAI,
			"scripted": func(s catalog.Source) (llm.Model, error) { return recorded(root, s) },
		},
		Secret: func(name string) (string, error) {
			return "", fmt.Errorf("secret %s: this program reads no secrets", name)
		},
	}, agent.Options{})
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
