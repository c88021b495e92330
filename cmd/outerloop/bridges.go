package main

import (
	"context"
	"os"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/outerloop-dev/outerloop/functions/workers/bridge"
	"github.com/outerloop-dev/outerloop/functions/workers/bridge/function"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// bridges are the ways to workers that are no Go code: endpoints, functions of
// the environment's AWS account, and programs that run in the project's directory.
func bridges(root string) bridge.Callers {
	return bridge.Callers{
		bridge.KindHTTP: bridge.NewHTTP(nil), bridge.KindLambda: &account{},
		bridge.KindCommand: bridge.Command{Dir: root, Env: withoutSecrets(os.Environ())},
	}
}

// withoutSecrets leaves out what secret reads: a program gets what its charter
// gives it.
func withoutSecrets(environ []string) []string {
	var kept []string
	for _, variable := range environ {
		if !strings.HasPrefix(variable, "OUTERLOOP_SECRET_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// account invokes functions; the AWS configuration is read with the first call.
type account struct {
	once   sync.Once
	caller function.Caller
	err    error
}

// Call invokes a function of the environment's account and region.
func (a *account) Call(ctx context.Context, req bridge.Request) ([]byte, error) {
	a.once.Do(func() {
		cfg, err := config.LoadDefaultConfig(context.WithoutCancel(ctx))
		a.caller, a.err = function.Caller{Client: lambda.NewFromConfig(cfg)}, err
	})
	if a.err != nil {
		return nil, worker.NotDone(worker.Fatal("reading the AWS configuration: %w", a.err))
	}
	return a.caller.Call(ctx, req)
}
