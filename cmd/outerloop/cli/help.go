package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// writeHelp prints a command's help: what it does, how it is written, examples,
// its commands or flags. Lines are broken between words at a terminal's width; 0:
// they stay as they are written.
func writeHelp(w io.Writer, cmd *cobra.Command, width int) {
	fmt.Fprintf(w, "%s\n", fold(cmd.Short, width))
	if cmd.Long != "" {
		fmt.Fprintf(w, "\n%s\n", fold(paragraphs(strings.TrimSpace(cmd.Long), width), width))
	}
	fmt.Fprintf(w, "\nUsage\n  %s\n", fold(useLine(cmd), max(width-2, 0)))
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	writeCommands(w, cmd, width)
	if local := cmd.LocalNonPersistentFlags(); local.HasAvailableFlags() {
		fmt.Fprintf(w, "\nFlags\n%s", local.FlagUsagesWrapped(width))
	}
	if global := globalFlags(cmd, width); global != "" {
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

func globalFlags(cmd *cobra.Command, width int) string {
	if cmd.HasParent() {
		return cmd.InheritedFlags().FlagUsagesWrapped(width)
	}
	return cmd.PersistentFlags().FlagUsagesWrapped(width)
}

func writeCommands(w io.Writer, cmd *cobra.Command, width int) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	if len(cmd.Groups()) == 0 {
		fmt.Fprint(w, "\nCommands\n")
		writeGroup(w, cmd, "", width)
	}
	for _, group := range cmd.Groups() {
		fmt.Fprintf(w, "\n%s\n", group.Title)
		writeGroup(w, cmd, group.ID, width)
	}
}

func writeGroup(w io.Writer, cmd *cobra.Command, id string, width int) {
	const indent = 15 // where the texts begin
	for _, sub := range cmd.Commands() {
		if sub.GroupID == id && (sub.IsAvailableCommand() || sub.Name() == "help") {
			short := fold(sub.Short, max(width-indent, 0))
			fmt.Fprintf(w, "  %-12s %s\n", sub.Name(), strings.ReplaceAll(short, "\n", "\n"+strings.Repeat(" ", indent)))
		}
	}
}

// paragraphs puts each paragraph on one line where lines are longer than a width,
// so that fold breaks it anew. Lines with an indent stay.
func paragraphs(text string, width int) string {
	fits := func(line string) bool { return columns(line) <= width }
	lines := strings.Split(text, "\n")
	if width <= 0 || !slices.ContainsFunc(lines, func(line string) bool { return !fits(line) }) {
		return text
	}
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(line)
		switch flows := func(s string) bool { return s != "" && s[0] != ' ' }; {
		case i == len(lines)-1:
		case flows(line) && flows(lines[i+1]):
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// fold breaks the lines of a text between words so that none is longer than a
// width; 0 and less leave them. What is broken keeps the indent of its line.
func fold(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		rest := line[len(indent):]
		var broken []string
		for columns(indent)+columns(rest) > width {
			at := breakAt(rest, width-columns(indent))
			if at <= 0 {
				break
			}
			broken, rest = append(broken, indent+rest[:at]), strings.TrimLeft(rest[at:], " ")
		}
		lines[i] = strings.Join(append(broken, indent+rest), "\n")
	}
	return strings.Join(lines, "\n")
}
