package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// forms are the files of a project that people write, each with its JSON Schema.
var forms = map[string]func() map[string]any{
	"loop":    func() map[string]any { return loop.Form().Document("A loop of outerloop") },
	"charter": func() map[string]any { return charter.Form().Document("A worker's charter of outerloop") },
	"project": func() map[string]any { return registry.Form().Document("The project file of outerloop") },
}

func (a *app) schemaCommand() *cobra.Command {
	names := slices.Sorted(maps.Keys(forms))
	return &cobra.Command{
		Use:   "schema loop|charter|project",
		Short: "Print a JSON Schema for editors",
		Long: `Prints the JSON Schema of a loop, a charter or the project file, for completion and
checks while typing. It is made from the tables that validate reads by. With the YAML
language server, write as a file's first line:

  # yaml-language-server: $schema=../.outerloop/loop.schema.json`,
		Example:   "  outerloop schema loop > .outerloop/loop.schema.json\n  outerloop schema charter\n  outerloop schema project",
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("schema needs one of "+strings.Join(names, ", "), "usage: "+cmd.UseLine())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			form, ok := forms[args[0]]
			if !ok {
				remedies := []string{"there are " + strings.Join(names, ", ")}
				if near := schema.Nearest(args[0], names); near != "" {
					remedies = append([]string{"did you mean " + near + "?"}, remedies...)
				}
				return usage(fmt.Sprintf("there is no schema %q", args[0]), remedies...)
			}
			return a.writeJSON(form())
		},
	}
}
