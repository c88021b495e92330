// Command watch is the function that looks around every minute.
package main

import (
	_ "time/tzdata" // zones of loops; the runtime has none

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/watch"
)

func main() { boot.Run(watch.Open, boot.Project, boot.Table, boot.Bucket) }
