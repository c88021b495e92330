package cli

import "github.com/outerloop-dev/outerloop/pkg/worker"

// Worker is a worker as package worker builds it.
type Worker = worker.Worker
