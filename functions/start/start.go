// Package start is how the main of a worker's Lambda function looks:
//
//	func main() { start.Worker(draft.Worker) }
package start

import (
	"github.com/outerloop-dev/outerloop/functions/internal/lambdawork"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Worker serves a worker as its function, in both dispatch modes, and does not
// return. The environment must name its gate (OUTERLOOP_GATE) and the bucket of
// its connections (OUTERLOOP_BUCKET).
func Worker(w worker.Worker) { lambdawork.Main(w) }
