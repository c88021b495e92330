// Command console is the function of the console's API.
package main

import (
	_ "time/tzdata" // zones of loops; the runtime has none

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/console"
)

func main() {
	boot.Run(console.Open, boot.Project, boot.Table, boot.Bucket, boot.Approval, boot.Trigger)
}
