// Package generalsupport is the worker general-support: it answers from the approved
// articles of all subjects, and is the backup of the others.
package generalsupport

import (
	"github.com/outerloop-dev/outerloop/functions/workers/internal/answer"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Worker is general-support.
var Worker = worker.New("general-support", 1, answer.From("general", "billing", "technical"))
