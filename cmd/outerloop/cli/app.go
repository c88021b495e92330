package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/project"
)

// Config is what a program is made of.
type Config struct {
	// Workers do the steps of loops on the embedded engine. Commands that run
	// nothing do not need them.
	Workers []Worker
	// Crew makes the workers whose charters need no code of their own, for a
	// project rooted at a directory; nil: there are none. Those that could be
	// made are given also with an error.
	Crew func(p *project.Project, root string) ([]Worker, error)
	// Secret reads a secret of the project by its name, for the channels of alerts;
	// nil: there are none.
	Secret func(name string) (string, error)
	// Replay does recorded work of an agent again, without acting; nil: there
	// are no agents.
	Replay func(ctx context.Context, again Again) (AgainAnswer, error)
	// Pages are facts that are kept as HTML pages beside the outbox.
	Pages []Page
	// Version is what `version` prints; empty: from the build's own record.
	Version string
}

// Streams is what one invocation has around it. Out and Err are required.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Program is how printed commands begin; empty: "outerloop".
	Program string
	// Dir is the working directory; empty: the process's.
	Dir string
	// Color tells whether to colour Out.
	Color bool
	// Live tells whether Err is a terminal: progress is drawn in place there,
	// LiveWidth columns wide; 0: unknown.
	Live      bool
	LiveWidth int
	// Width is the terminal's of Out, in columns; 0: unknown, nothing is cut.
	Width int
	// working is told when long work begins.
	working func()
	// Now is the clock for what is printed; nil: the system's.
	Now func() time.Time
	// Poll is how soon a deployment is asked again whether a run has moved; 0: a second.
	Poll time.Duration
	// Getenv reads the environment; nil: the process's.
	Getenv func(string) string
}

// Main runs the command that the process was started with and exits with its
// code. SIGINT and SIGTERM end a command in good order; a second one at once.
func Main(cfg Config) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	s := processStreams()
	s.working = relax()
	code := Run(ctx, cfg, s, os.Args[1:]...)
	os.Exit(code)
}

// Run does one command and answers its exit code. It never exits the process.
func Run(ctx context.Context, cfg Config, s Streams, args ...string) int {
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Getenv == nil {
		s.Getenv = os.Getenv
	}
	if s.Program == "" {
		s.Program = "outerloop"
	}
	if s.working == nil {
		s.working = func() {}
	}
	if s.Dir == "" {
		s.Dir = "."
	}
	a := &app{Config: cfg, Streams: s, args: args}
	root := a.root()
	root.SetArgs(args)
	err := interrupted(ctx, root.ExecuteContext(ctx))
	a.report(err)
	return exitCode(err)
}

// app is one invocation: its configuration, streams and global flags.
type app struct {
	Config
	Streams
	args []string
	// mailsBefore is how many mails the outbox held when the command began.
	mailsBefore int
	format      string
	state       string
	target      target
	project     string
}

// report prints an error and what to do about it.
func (a *app) report(err error) {
	if err == nil {
		return
	}
	var e *exit
	if errors.As(err, &e) && e.err == nil {
		return
	}
	fmt.Fprintf(a.Err, "%s %s\n", a.red("outerloop:"), plainLines(once(err.Error())))
	for _, line := range remediesOf(err) {
		if rest, ok := strings.CutPrefix(line, "outerloop "); ok {
			line = a.Program + " " + rest
		}
		fmt.Fprintf(a.Err, "  %s\n", line)
	}
}

// once leaves out lines that only say what another one says too, as errors of
// one cause do that were found at several places.
func once(text string) string {
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		said := func(other string) bool { return strings.Contains(other, line) }
		if line != "" && slices.ContainsFunc(kept, said) {
			continue
		}
		kept = append(slices.DeleteFunc(kept, func(other string) bool { return other != "" && strings.Contains(line, other) }), line)
	}
	return strings.Join(kept, "\n")
}

// asJSON tells whether -o json was given.
func (a *app) asJSON() bool { return a.format == "json" }

// path makes a path of the command line absolute to the invocation's directory.
func (a *app) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Dir, name)
}

const projectFile = "outerloop.yaml"

// root directory of the project: --project, else the nearest directory upwards
// that holds outerloop.yaml; ok false: there is none, and dir is the working directory.
func (a *app) projectDir() (dir string, ok bool) {
	if a.project != "" {
		dir = a.path(a.project)
		_, err := os.Stat(filepath.Join(dir, projectFile))
		return dir, err == nil
	}
	start, err := filepath.Abs(a.Dir)
	if err != nil {
		return a.Dir, false
	}
	for dir = start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, projectFile)); err == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return start, false
		}
	}
}

// needProject is projectDir for commands that cannot do without.
func (a *app) needProject() (string, error) {
	dir, ok := a.projectDir()
	if !ok && a.project != "" {
		return "", usage(fmt.Sprintf("there is no %s in %s", projectFile, a.project), "name a project's directory: --project DIR")
	}
	if !ok {
		return "", usage(fmt.Sprintf("no %s in %s or above it", projectFile, dir),
			"go to a project's directory, or name it: --project DIR")
	}
	return dir, nil
}

// stateFile is --state, else .outerloop/state.db under the project's root.
func (a *app) stateFile() string {
	if a.state != "" {
		return a.path(a.state)
	}
	dir, _ := a.projectDir()
	return filepath.Join(dir, ".outerloop", "state.db")
}

// here shows a path as short as it can be from the working directory.
func (a *app) here(path string) string {
	base, err := filepath.Abs(a.Dir)
	if err != nil {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(base, abs)
	if err != nil || len(rel) >= len(abs) {
		return abs
	}
	return rel
}

// one is the argument check of commands that take exactly one name.
func one(what, list string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 || args[0] == "":
			return usage(fmt.Sprintf("%s needs %s", cmd.CommandPath(), what), list)
		case len(args) > 1:
			return usage(fmt.Sprintf("%s takes one %s; %q is too much", cmd.CommandPath(), what, args[1]),
				"usage: "+cmd.UseLine())
		}
		return nil
	}
}

// none is the argument check of commands that take no name.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Sprintf("%s takes no argument; %q is too much", cmd.CommandPath(), args[0]),
			"usage: "+cmd.UseLine())
	}
	return nil
}
