package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// maxMachine bounds the definition file that is read.
const maxMachine = 4 * asl.MaxDefinition

func (a *app) aslCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "asl",
		Short: "Check and rehearse any Amazon States Language definition",
		Long: `Works on plain Amazon States Language, JSONPath dialect: the machines that compile
writes and any other.`,
		Example: "  outerloop asl validate machine.asl.json\n  outerloop asl run machine.asl.json --mocks answers.json",
		Args:    a.unknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.aslValidateCommand(), a.aslRunCommand())
	return cmd
}

// diagnosticView is one error of a definition with the file it is in.
type diagnosticView struct {
	File string `json:"file"`
	asl.Diagnostic
}

func (a *app) aslValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate DEFINITION…",
		Short: "Check definitions as Step Functions would when they are created",
		Long: `Reports every error of each definition with the place in it. What the engine does not
support is refused by name. Exit code 2 when a definition is not valid.`,
		Example: "  outerloop asl validate statemachines/crm-followup.asl.json\n  outerloop asl validate *.asl.json -o json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("asl validate needs a definition", "usage: "+cmd.UseLine())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.aslValidate(args) },
	}
}

func (a *app) aslValidate(files []string) error {
	found := []diagnosticView{}
	for _, file := range files {
		_, err := a.loadMachine(file)
		var invalid *asl.DefinitionError
		switch {
		case errors.As(err, &invalid):
			for _, d := range invalid.Diagnostics {
				found = append(found, diagnosticView{File: file, Diagnostic: d})
			}
		case err != nil:
			return err
		}
	}
	if a.asJSON() {
		if err := a.writeJSON(found); err != nil {
			return err
		}
	} else {
		for _, d := range found {
			a.say("%s  %s\n      %s  %s", d.File, a.red(d.Code), d.Path, plain(d.Message))
		}
		if len(found) == 0 {
			a.say("%s valid", count(len(files), "definition is", "definitions are"))
		}
	}
	if len(found) > 0 {
		return silent(ExitUsage)
	}
	return nil
}

// loadMachine reads and checks a definition file.
func (a *app) loadMachine(file string, options ...asl.Option) (*asl.Machine, error) {
	content, err := readRegular(a.path(file), file, maxMachine)
	if err != nil {
		return nil, err
	}
	m, err := asl.Load(content, options...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}
