// Command hook is the function that webhooks reach.
package main

import (
	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/hook"
)

func main() { boot.Run(hook.Open, boot.Project, boot.TriggerQueue, boot.Webhooks) }
