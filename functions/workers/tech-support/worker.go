// Package techsupport is the worker tech-support: it answers from the approved
// articles about the product.
package techsupport

import (
	"github.com/outerloop-dev/outerloop/functions/workers/internal/answer"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Worker is tech-support.
var Worker = worker.New("tech-support", 1, answer.From("technical"))
