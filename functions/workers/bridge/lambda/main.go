// Command lambda is the function of every worker of kind http or lambda;
// OUTERLOOP_WORKER says whose charter it works by.
package main

import (
	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/lambdabridge"
	"github.com/outerloop-dev/outerloop/functions/internal/lambdawork"
)

func main() { boot.Run(lambdabridge.Open, append(lambdawork.Needs, boot.Worker)...) }
