package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/console/client"
	"github.com/outerloop-dev/outerloop/pkg/console/stack"
)

// The environment's words for where runs are.
const (
	envTarget  = "OUTERLOOP_TARGET"
	envStack   = "OUTERLOOP_STACK"
	envConsole = "OUTERLOOP_CONSOLE"
)

// The targets that have a word. Another is the address of a console's API.
const (
	targetLocal = "local"
	targetAWS   = "aws"
)

// targeted are the commands that read or write runs: they do the same with a
// deployment. All others are about this machine.
var targeted = []string{
	"run", "runs", "show", "log", "approvals", "approve", "reject", "exceptions", "resolve", "redrive", "rollback",
	"cancel", "pause", "resume", "actions", "emit", "prune", "doctor", "autonomy", "promote", "demote", "did",
}

// refusal is why a command that has to do with runs does not work with a
// deployment, and what does.
type refusal struct {
	says     string
	remedies []string
}

// onlyHere are commands about runs that work on this machine only.
var onlyHere = map[string]refusal{
	"replay": {
		"asks a model about inputs that are recorded there, and a deployment's console does not hand them out",
		[]string{"outerloop-aws export and outerloop import   bring a deployment's runs into a state file, on which replay works"},
	},
}

// target is where the runs are that a command is about.
type target struct {
	// flag, stack and config are the global flags; stack and config go with aws.
	flag, stack, config string
	// far: a deployment; name is what it is called.
	far  bool
	name string
	// made is the client, once it was needed.
	made *client.Client
}

// checkTarget finds out where the command's runs are.
func (a *app) checkTarget(cmd *cobra.Command) error {
	t := &a.target
	given := t.flag != ""
	if !given {
		t.flag = a.Getenv(envTarget)
	}
	if t.flag == "" || t.flag == targetLocal {
		if t.stack != "" || t.config != "" {
			return usage("--stack and --config name a deployment", "write --target aws with them")
		}
		return nil
	}
	if t.flag != targetAWS && !isAddress(t.flag) {
		return usage(fmt.Sprintf("--target %q is no place where runs are", t.flag), "write --target local, aws, or the address of a console's API")
	}
	if cmd.Parent() == nil || cmd.Parent().HasParent() || !slices.Contains(targeted, cmd.Name()) {
		if !given {
			return nil // the environment speaks of the commands that it concerns
		}
		why := onlyHere[cmd.Name()]
		if why.says == "" {
			why.says = "is about this machine, and the target has no part in it"
		}
		return usage(fmt.Sprintf("%s with --target %s: it %s", cmd.CommandPath(), t.flag, why.says),
			slices.Concat(why.remedies, []string{"with a target work: " + strings.Join(targeted, ", ")})...)
	}
	if a.state != "" {
		return usage("--state is the embedded store of this machine, --target "+t.flag+" is elsewhere", "write one of them")
	}
	if isAddress(t.flag) && (t.stack != "" || t.config != "") {
		return usage("--stack and --config name a deployment on AWS", "write --target aws with them")
	}
	t.far = true
	return nil
}

func isAddress(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// far tells whether the command's runs are elsewhere.
func (a *app) far() bool { return a.target.far }

// console is the client of the deployment's API.
func (a *app) console(ctx context.Context) (*client.Client, error) {
	t := &a.target
	if t.made != nil {
		return t.made, nil
	}
	a.working()
	if isAddress(t.flag) {
		t.name, t.made = t.flag, client.New(t.flag, http.DefaultTransport)
		return t.made, nil
	}
	s, err := a.deployment()
	if err != nil {
		return nil, err
	}
	way, err := lambdaTransport(ctx, s)
	if err != nil {
		return nil, err
	}
	t.made = client.New("https://"+s.Console, way)
	return t.made, nil
}

// deployment is the stack that is meant: the one named by --stack in the file of
// deployments, its default one, or the function that the environment names.
func (a *app) deployment() (stack.Stack, error) {
	t := &a.target
	if t.stack == "" {
		t.stack = a.Getenv(envStack)
	}
	if function := a.Getenv(envConsole); function != "" && t.stack == "" && t.config == "" {
		t.name = function
		return stack.Stack{Console: function}, nil
	}
	file := a.stackFile()
	known, err := stack.Read(file)
	connect := "outerloop-aws connect STACK   writes it from the outputs of a deployed stack"
	switch {
	case errors.Is(err, stack.ErrNone):
		return stack.Stack{}, usage(fmt.Sprintf("no deployment is known here: there is no %s", a.here(file)), connect, "or set "+envConsole+" to the name of the console's function")
	case err != nil:
		return stack.Stack{}, &exit{code: ExitUsage, err: err, remedies: []string{connect}}
	}
	name, s, err := known.Find(t.stack)
	if err != nil {
		return s, usage(fmt.Sprintf("there is no stack %q in %s", name, a.here(file)), "known: "+strings.Join(known.Names(), ", "), connect)
	}
	t.name = name
	return s, nil
}

// stackFile is --config, else .outerloop/aws.json under the project's root.
func (a *app) stackFile() string {
	if a.target.config != "" {
		return a.path(a.target.config)
	}
	dir, _ := a.projectDir()
	return filepath.Join(dir, filepath.FromSlash(stack.Default))
}

// targetFlags are the flags of a printed command that lead it to the same runs.
func (a *app) targetFlags() string {
	var b strings.Builder
	for _, flag := range [][2]string{{"--target", a.target.flag}, {"--stack", a.target.stack}, {"--config", a.target.config}} {
		inherited := flag[1] == a.Getenv(envTarget) && flag[0] == "--target" || flag[1] == a.Getenv(envStack) && flag[0] == "--stack"
		if a.far() && flag[1] != "" && !inherited {
			b.WriteString(" " + flag[0] + " " + shellWord(flag[1]))
		}
	}
	return b.String()
}
