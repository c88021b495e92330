// Package lambdabridge is the function of every worker whose work is done by an
// HTTPS endpoint or an existing Lambda function: one program, whose charter
// comes with the task.
package lambdabridge

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/lambdawork"
	"github.com/outerloop-dev/outerloop/functions/workers/bridge"
	"github.com/outerloop-dev/outerloop/functions/workers/bridge/function"
)

// Open makes the function of its surroundings: OUTERLOOP_WORKER is the charter,
// OUTERLOOP_CONTRACT its contract number. A program of the machine (kind
// command) has no place here: the stack refuses it.
func Open(_ context.Context, f *boot.Function) (boot.Handler, error) {
	w := bridge.New(f.Worker, f.Contract, bridge.Callers{
		bridge.KindHTTP: bridge.NewHTTP(nil), bridge.KindLambda: function.Caller{Client: lambda.NewFromConfig(f.AWS)},
	})
	return lambdawork.Open(w, f).Handle, nil
}
