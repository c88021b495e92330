// Command program is the program that TestKillFanOut kills: the command line of
// outerloop with a worker that fails at its first attempt.
package main

import (
	"context"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	"github.com/outerloop-dev/outerloop/functions/workers/mailer"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

type thing struct {
	Name string `json:"name"`
}

func main() {
	flaky := worker.New("flaky", 1, func(_ context.Context, t worker.Task[thing]) (worker.Result[thing], error) {
		if t.Attempt == 1 {
			return worker.Result[thing]{}, worker.Transient("the first attempt always fails")
		}
		return worker.Result[thing]{Output: thing{t.Input.Name + "!"}, Confidence: worker.High, Reason: "it was named"}, nil
	})
	cli.Main(cli.Config{Workers: []cli.Worker{flaky, mailer.Worker}})
}
