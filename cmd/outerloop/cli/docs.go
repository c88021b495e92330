package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// docsCommand writes the reference page of the commands; `go generate` runs it.
func (a *app) docsCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:    "docs [--write FILE]",
		Short:  "Write the reference of all commands as Markdown",
		Hidden: true,
		Args:   none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var page bytes.Buffer
			writeReference(&page, cmd.Root())
			if file == "" {
				_, err := a.Out.Write(page.Bytes())
				return err
			}
			if err := os.WriteFile(a.path(file), page.Bytes(), 0o644); err != nil {
				return fmt.Errorf("writing the reference: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "write", "", "write to `FILE` instead of the output")
	return cmd
}

// writeReference prints the help of every command as one page.
func writeReference(w io.Writer, root *cobra.Command) {
	fmt.Fprint(w, "# Commands\n\n<!-- Written by `go generate ./cmd/...` from the commands' help. -->\n")
	walk(root, func(cmd *cobra.Command) {
		fmt.Fprintf(w, "\n## %s\n\n", cmd.CommandPath())
		var help bytes.Buffer
		writeHelp(&help, cmd, 0)
		text := help.String()
		if cmd.HasParent() {
			text, _, _ = strings.Cut(text, "\nFlags of every command\n")
		}
		fmt.Fprintf(w, "```text\n%s```\n", text)
	})
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			walk(sub, visit)
		}
	}
}
