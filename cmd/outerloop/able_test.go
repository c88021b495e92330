package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// A loop whose worker this program cannot run is not started: its run would wait
// for it until the deadline. What is said leads on.
func TestWhatThisProgramCannotRunIsNotStarted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if bedrockLinked {
		t.Skip("this program asks Amazon Bedrock")
	}
	with := func(more ...string) []string {
		return append(marketResearch[:len(marketResearch):len(marketResearch)], more...)
	}
	b.want(cli.ExitUsage, with("--model", "bedrock:anthropic.model-1:0", "--model-price", "2.00/8.00")...).
		has(t, "needs the worker researcher", "built without Amazon Bedrock", "go build -tags bedrock -o build/outerloop ./cmd/outerloop", "nothing was started")
	b.want(cli.ExitUsage, with("--model", "frob:x", "--model-price", "0/0")...).has(t, `kind "frob"`, "nothing was started")
	b.want(cli.ExitFailed, with("--model", "openai:http://127.0.0.1:1#x", "--model-price", "0/0")...).
		has(t, "nobody answers at http://127.0.0.1:1", "nothing was started", "start the model's server")
	b.edit("outerloop.yaml", "recorded: {kind: scripted, url: samples/recorded}", "recorded: {kind: scripted, url: samples/lost}")
	b.want(cli.ExitUsage, marketResearch...).has(t, "needs the worker researcher", "no such file")
	if _, err := os.Stat(filepath.Join(b.dir, ".outerloop")); err == nil {
		t.Error("something was started")
	}
	b.want(cli.ExitWaiting, "run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30") // another loop runs
}
