// Command publish is the function by which a deployment brings definitions,
// machine versions and files into the shared state.
package main

import (
	_ "time/tzdata" // zones of loops; the runtime has none

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/publish"
)

func main() { boot.Run(publish.Open, boot.Project, boot.Table, boot.Bucket) }
