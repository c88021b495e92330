package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// analysisCommands tell what follows from the declarations, without running anything.
func (a *app) analysisCommands() []*cobra.Command {
	return []*cobra.Command{a.graphCommand(), a.costCommand(), a.adviseCommand(), a.diffCommand(), a.dataCommand(), a.readyCommand(), a.drillCommand()}
}

// atMostOne is the argument check of commands that take one name or none.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage(fmt.Sprintf("%s takes one name; %q is too much", cmd.CommandPath(), args[1]), "usage: "+cmd.UseLine())
	}
	return nil
}
