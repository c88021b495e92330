package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// The groups of commands in the help, in its order.
const (
	groupDeclare = "declare"
	groupRun     = "run"
	groupPeople  = "people"
	groupLook    = "look"
	groupKeep    = "keep"
)

// root builds the tree of commands for one invocation.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "outerloop",
		Short: "Run recurring agent work that is declared, checked and resumable",
		Long: `A loop is declared in YAML and compiled to one state machine. On this machine it
runs on the embedded engine, with its shared state in one SQLite file.

Exit codes: 0 done, 1 the work failed, 2 usage or invalid input, 3 waiting for a person.`,
		Example: `  outerloop validate                                   # is everything declared well?
  outerloop run crm-followup --input exports/crm.csv   # run a loop until nothing more can move
  outerloop approvals                                  # what waits for a person
  outerloop approve ID --by me@example.com --reason "checked"
  outerloop show RUN                                   # what happened, step by step`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          a.unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return errors.Join(a.checkGlobals(), a.checkTarget(cmd))
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetIn(a.In)
	root.SetFlagErrorFunc(a.flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd, a.Width) })
	flags := root.PersistentFlags()
	flags.StringVarP(&a.format, "output", "o", "text", "`text` for people or json for scripts")
	flags.StringVar(&a.state, "state", "", "state `FILE` of the embedded engine (default .outerloop/state.db in the project)")
	flags.StringVar(&a.target.flag, "target", "", "where the runs are: local, aws, or the `ADDRESS` of a console's API (default $"+envTarget+", else local)")
	flags.StringVar(&a.target.stack, "stack", "", "with --target aws: the deployed `STACK` (default $"+envStack+", else the one connected last)")
	flags.StringVar(&a.target.config, "config", "", "with --target aws: the `FILE` of known deployments (default .outerloop/aws.json in the project)")
	flags.StringVar(&a.project, "project", "", "project in `DIR` (default the nearest with an outerloop.yaml, upwards)")
	flags.BoolP("help", "h", false, "print this help")
	for _, group := range [][2]string{
		{groupDeclare, "Declare"}, {groupRun, "Run"}, {groupPeople, "Decide"}, {groupLook, "Look"}, {groupKeep, "Keep"},
	} {
		root.AddGroup(&cobra.Group{ID: group[0], Title: group[1]})
	}
	root.SetHelpCommandGroupID(groupKeep)
	root.SetCompletionCommandGroupID(groupKeep)
	a.addCommands(root)
	return root
}

func (a *app) addCommands(root *cobra.Command) {
	add := func(group string, commands ...*cobra.Command) {
		for _, cmd := range commands {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	add(groupDeclare, a.initCommand(), a.validateCommand(), a.compileCommand(), a.schemaCommand(), a.explainCommand(), a.scheduleCommand(), a.aslCommand())
	add(groupDeclare, a.analysisCommands()...)
	add(groupRun, a.runCommand(), a.devCommand(), a.emitCommand(), a.webhookCommand(), a.pauseCommand(), a.resumeCommand(), a.cancelCommand(), a.redriveCommand(), a.rollbackCommand())
	add(groupPeople, a.approvalsCommand(), a.approveCommand(), a.rejectCommand(), a.exceptionsCommand(), a.resolveCommand(),
		a.autonomyCommand(), a.stageCommand(true), a.stageCommand(false), a.didCommand())
	add(groupLook, a.runsCommand(), a.showCommand(), a.logCommand(), a.actionsCommand(), a.replayCommand())
	add(groupKeep, a.doctorCommand(), a.backupCommand(), a.exportCommand(), a.importCommand(), a.pruneCommand(), a.versionCommand())
	root.AddCommand(a.docsCommand())
}

// checkGlobals checks the flags of every command.
func (a *app) checkGlobals() error {
	if a.project != "" {
		if _, err := a.needProject(); err != nil {
			return err
		}
	}
	if a.format == "text" || a.format == "json" {
		return nil
	}
	return usage(fmt.Sprintf("-o %s is not an output format", a.format), "write -o text or -o json")
}

// unknownCommand refuses arguments of a command that only groups others.
func (a *app) unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := commandNames(cmd)
	remedies := []string{cmd.CommandPath() + " --help   lists the commands"}
	if near := schema.Nearest(args[0], names); near != "" {
		remedies = append([]string{fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), near)}, remedies...)
	}
	return usage(fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0]), remedies...)
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	slices.Sort(names)
	return names
}

// flagError turns what the flag parser says into a usage error with a suggestion.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	if cmd.HasAvailableSubCommands() {
		if word := a.firstWord(cmd); word != "" {
			return a.unknownCommand(cmd, []string{word})
		}
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usage(cmd.CommandPath()+": "+err.Error(), "usage: "+cmd.UseLine())
	}
	name := unknown.GetSpecifiedName()
	remedies := []string{cmd.CommandPath() + " --help   lists the flags"}
	if unknown.GetSpecifiedShortnames() != "" {
		return usage(fmt.Sprintf("%s has no flag -%s", cmd.CommandPath(), name), remedies...)
	}
	if near := schema.Nearest(name, flagNames(cmd)); near != "" {
		remedies = append([]string{fmt.Sprintf("did you mean --%s?", near)}, remedies...)
	}
	return usage(fmt.Sprintf("%s has no flag --%s", cmd.CommandPath(), strings.TrimLeft(name, "-")), remedies...)
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	slices.Sort(names)
	return names
}

// firstWord is the first argument after a command's own name that is no flag:
// what would have been the name of a command.
func (a *app) firstWord(cmd *cobra.Command) string {
	after := !cmd.HasParent()
	for _, arg := range a.args {
		switch {
		case strings.HasPrefix(arg, "-"):
		case after:
			return arg
		case arg == cmd.Name():
			after = true
		}
	}
	return ""
}
