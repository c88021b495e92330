// Command lambda is the function of every worker that asks a language model;
// OUTERLOOP_WORKER says whose charter it works by.
package main

import (
	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/lambdaagent"
	"github.com/outerloop-dev/outerloop/functions/internal/lambdawork"
)

func main() { boot.Run(lambdaagent.Open, append(lambdawork.Needs, boot.Worker)...) }
