// Command trigger is the function that starts runs.
package main

import (
	_ "time/tzdata" // zones of loops; the runtime has none

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/trigger"
)

func main() { boot.Run(trigger.Open, boot.Project, boot.Table, boot.Bucket) }
