package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// writeHelp prints a command's help: what it does, how it is written, examples,
// its commands or flags.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s\n", cmd.Short)
	if cmd.Long != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(cmd.Long))
	}
	fmt.Fprintf(w, "\nUsage\n  %s\n", useLine(cmd))
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	writeCommands(w, cmd)
	if local := cmd.LocalNonPersistentFlags(); local.HasAvailableFlags() {
		fmt.Fprintf(w, "\nFlags\n%s", local.FlagUsages())
	}
	if global := globalFlags(cmd); global != "" {
		fmt.Fprintf(w, "\nFlags of every command\n%s", global)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help   says more about a command\n", cmd.CommandPath())
	}
}

func useLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND [flags]"
	}
	return cmd.UseLine()
}

func globalFlags(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.InheritedFlags().FlagUsages()
	}
	return cmd.PersistentFlags().FlagUsages()
}

func writeCommands(w io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	if len(cmd.Groups()) == 0 {
		fmt.Fprint(w, "\nCommands\n")
		writeGroup(w, cmd, "")
	}
	for _, group := range cmd.Groups() {
		fmt.Fprintf(w, "\n%s\n", group.Title)
		writeGroup(w, cmd, group.ID)
	}
}

func writeGroup(w io.Writer, cmd *cobra.Command, id string) {
	for _, sub := range cmd.Commands() {
		if sub.GroupID == id && (sub.IsAvailableCommand() || sub.Name() == "help") {
			fmt.Fprintf(w, "  %-12s %s\n", sub.Name(), sub.Short)
		}
	}
}
