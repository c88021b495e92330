package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/asl/rehearse"
)

// maxMocks bounds the file of prepared answers.
const maxMocks = 64 << 20

type aslRunFlags struct {
	input, mocks, at string
	express          bool
}

func (a *app) aslRunCommand() *cobra.Command {
	var flags aslRunFlags
	cmd := &cobra.Command{
		Use:   "run DEFINITION",
		Short: "Rehearse a machine in virtual time, with prepared answers for its tasks",
		Long: `Runs a definition from start to end without touching anything outside: a Wait of a
year takes no time. Tasks get the answers of --mocks, a JSON object of state names, each
with its answers in order:

  {"Charge": [{"error": "Service.Down", "cause": "503"}, {"result": {"id": 7}}]}

An answer with "index": N is for iteration N of the Map around the state. Exit code 0
when the execution succeeds, 1 when it fails, 2 when an answer is missing.`,
		Example: `  outerloop asl run machine.asl.json --input input.json --mocks answers.json
  echo '{"n": 3}' | outerloop asl run machine.asl.json --input - -o json`,
		Args: one("a definition", "write: outerloop asl run FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return a.aslRun(args[0], flags) },
	}
	cmd.Flags().StringVar(&flags.input, "input", "", "the execution's input in `FILE` (default {}; - reads the input)")
	cmd.Flags().StringVar(&flags.mocks, "mocks", "", "the tasks' answers in `FILE`")
	cmd.Flags().StringVar(&flags.at, "at", "", "when the execution starts, an RFC 3339 `TIME` (default 2024-01-02T00:00:00Z)")
	cmd.Flags().BoolVar(&flags.express, "express", false, "as an express machine")
	return cmd
}

func (a *app) aslRun(file string, flags aslRunFlags) error {
	var options []asl.Option
	if flags.express {
		options = append(options, asl.WithType(asl.Express))
	}
	machine, err := a.loadMachine(file, options...)
	if err != nil {
		return err
	}
	input := json.RawMessage("{}")
	if flags.input != "" {
		if input, err = a.readJSON(flags.input); err != nil {
			return err
		}
	}
	mocks, err := a.readMocks(flags.mocks)
	if err != nil {
		return err
	}
	var stage rehearse.Stage
	if flags.at != "" {
		if stage.Time, err = time.Parse(time.RFC3339, flags.at); err != nil {
			return usage(fmt.Sprintf("--at %q is not a time", flags.at), "write 2026-11-30T07:00:00Z")
		}
	}
	outcome, err := stage.Run(machine, input, mocks)
	if errors.Is(err, rehearse.ErrUnanswered) {
		return usage(err.Error(), "give it one: --mocks FILE with {\"STATE\": [{\"result\": …}]}")
	}
	if err != nil {
		return err
	}
	return a.printOutcome(outcome)
}

func (a *app) readMocks(file string) (rehearse.Mocks, error) {
	mocks := rehearse.Mocks{}
	if file == "" {
		return mocks, nil
	}
	content, err := readRegular(a.path(file), file, maxMocks)
	if err != nil {
		return nil, err
	}
	if err := decodeStrict(content, &mocks); err != nil {
		return nil, usage(fmt.Sprintf("%s: %v", file, err), `write {"STATE": [{"result": …}, {"error": "Name", "cause": "…"}]}`)
	}
	return mocks, nil
}

func (a *app) printOutcome(o rehearse.Outcome) error {
	code := ExitDone
	if o.Status != asl.Succeeded {
		code = ExitFailed
	}
	if a.asJSON() {
		if err := a.writeJSON(o); err != nil {
			return err
		}
		return silent(code)
	}
	t := table{head: []string{"EVENT", "STATE"}}
	for _, e := range o.History {
		name := ""
		if e.Details != nil {
			name = e.Details.Name
		}
		t.add(string(e.Type), plain(name))
	}
	t.write(a, a.Out)
	a.say("\n%s", a.bold(string(o.Status)))
	if o.Error != nil {
		a.say("%s", a.red(plain(*o.Error)))
	}
	if o.Cause != nil {
		a.say("%s", plainLines(*o.Cause))
	}
	if len(o.Output) > 0 {
		a.say("%s", o.Output)
	}
	return silent(code)
}
