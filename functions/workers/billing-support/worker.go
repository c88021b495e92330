// Package billingsupport is the worker billing-support: it answers from the approved
// articles about invoices and payments.
package billingsupport

import (
	"github.com/outerloop-dev/outerloop/functions/workers/internal/answer"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Worker is billing-support.
var Worker = worker.New("billing-support", 1, answer.From("billing"))
