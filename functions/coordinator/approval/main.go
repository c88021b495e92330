// Command approval is the function of the machines' coordinator states and of
// what people decide.
package main

import (
	_ "time/tzdata" // zones of loops; the runtime has none

	"github.com/outerloop-dev/outerloop/functions/internal/approval"
	"github.com/outerloop-dev/outerloop/functions/internal/boot"
)

func main() { boot.Run(approval.Open, boot.Project, boot.Table, boot.Bucket) }
