// Command gate is the function of one worker's gate.
package main

import (
	_ "time/tzdata" // zones of loops; the runtime has none

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/gatedoor"
)

func main() { boot.Run(gatedoor.Open, boot.Project, boot.Table, boot.Bucket, boot.Worker) }
