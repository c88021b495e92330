package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// opened is a project as a command found it.
type opened struct {
	*project.Project
	root     string
	problems problem.Problems
}

// openProject reads and checks the project; problems are the caller's to judge.
func (a *app) openProject() (opened, error) {
	root, err := a.needProject()
	if err != nil {
		return opened{}, err
	}
	compileAhead(root, nil)
	p, problems := project.Open(root)
	return opened{Project: p, root: root, problems: problems}, nil
}

// loop finds a loop; one with errors, or none, is a usage error.
func (o opened) loop(name string) (*loop.Definition, error) {
	if def, ok := o.Loop(name); ok {
		return def, nil
	}
	if path, ok := o.Paths[name]; ok {
		return nil, &exit{
			code: ExitUsage, err: fmt.Errorf("%s has errors, so the loop cannot be used:\n%w", path, o.errorsFor(path)),
			remedies: []string{"outerloop validate   shows each with its line and remedy"},
		}
	}
	var names []string
	for known := range o.Paths {
		names = append(names, known)
	}
	slices.Sort(names)
	remedies := []string{"loops here: " + strings.Join(names, ", ")}
	if len(names) == 0 {
		remedies = []string{"loops stand in " + project.LoopDir + "/NAME" + project.LoopSuffix}
	}
	if near := schema.Nearest(name, names); near != "" {
		remedies = append([]string{"did you mean " + near + "?"}, remedies...)
	}
	return nil, usage(fmt.Sprintf("there is no loop %q in %s", name, o.root), remedies...)
}

// errorsFor are the errors of a file, or, where it has none itself, all of them.
func (o opened) errorsFor(path string) problem.Problems {
	all := slices.DeleteFunc(slices.Clone(o.problems), func(p problem.Problem) bool { return p.Warning() })
	own := slices.DeleteFunc(slices.Clone(all), func(p problem.Problem) bool { return p.Path != path })
	if len(own) > 0 {
		return own
	}
	return all
}

// machineSuffix ends the names of compiled machines.
const machineSuffix = ".asl.json"

// machinePath is where a loop's compiled machine is kept.
func (o opened) machinePath(name string) string {
	return filepath.Join(o.root, filepath.FromSlash(project.LoopDir), name+machineSuffix)
}

// errNoMachine says that a loop was not compiled.
var errNoMachine = errors.New("the loop is not compiled")

// localLoop is a loop as the engine takes it: the bundle that its runs pin and
// the bytes of its committed machine.
func (o opened) localLoop(name string) (local.Loop, error) {
	def, err := o.loop(name)
	if err != nil {
		return local.Loop{}, err
	}
	machine, err := os.ReadFile(o.machinePath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return local.Loop{}, &exit{code: ExitUsage, err: fmt.Errorf("%s: %w: there is no %s", name, errNoMachine, o.machinePath(name)),
			remedies: []string{"outerloop compile " + name}}
	}
	if err != nil {
		return local.Loop{}, fmt.Errorf("reading the machine of %s: %w", name, err)
	}
	if len(bytes.TrimSpace(machine)) == 0 {
		return local.Loop{}, &exit{code: ExitUsage, err: fmt.Errorf("%s: %w: %s is empty", name, errNoMachine, o.machinePath(name)),
			remedies: []string{"outerloop compile " + name}}
	}
	bundle, err := o.Bundle(name)
	if err != nil {
		return local.Loop{}, err
	}
	pinned := *def
	pinned.Hash = project.Hash(bundle)
	return local.Loop{Definition: &pinned, Bundle: bundle, Machine: machine}, nil
}

// localLoops are all loops that are right and compiled.
func (o opened) localLoops() ([]local.Loop, error) {
	var loops []local.Loop
	for _, name := range o.Names() {
		l, err := o.localLoop(name)
		if errors.Is(err, errNoMachine) {
			continue
		}
		if err != nil {
			return nil, err
		}
		loops = append(loops, l)
	}
	return loops, nil
}

// localWorkers give every worker of the program the connections that its charter names.
func (a *app) localWorkers(o opened, stateDir string) []local.Worker {
	workers := a.withCrew(o)
	out := make([]local.Worker, 0, len(workers))
	for _, code := range workers {
		w := local.Worker{Code: code, Connections: map[string]worker.Connection{}}
		if checked := o.Workers[code.Name()]; checked != nil {
			for _, name := range checked.Charter.Connections() {
				if c, ok := o.Registry.Connection(name); ok {
					w.Connections[c.Name] = o.connection(c, stateDir)
				}
			}
			a.unlock(checked.Charter.HTTP, o, w.Connections)
		}
		out = append(out, w)
	}
	return out
}

// unlock reads the secret of the connection by which an endpoint is reached. One
// that cannot be read is told when the worker is to work.
func (a *app) unlock(h *charter.HTTP, o opened, connections map[string]worker.Connection) {
	if h == nil || a.Secret == nil {
		return
	}
	if c, ok := o.Registry.Connection(h.Connection); ok && c.Secret != "" {
		conn := connections[c.Name]
		conn.Settings["secret"], conn.Fault = a.Secret(c.Secret)
		connections[c.Name] = conn
	}
}

// The kinds of connections that are directories of this machine.
const (
	kindOutbox = "outbox"
	// kindFiles is a directory of the project where the connection has a url,
	// else a directory beside the state file.
	kindFiles = "files"
)

// connection is a declared connection as workers on this machine get it.
func (o opened) connection(c registry.Connection, stateDir string) worker.Connection {
	conn := worker.Connection{Name: c.Name, Kind: c.Kind, Settings: map[string]string{"url": c.URL, "from": c.From}}
	switch {
	case c.Kind == kindOutbox:
		outboxes := 0
		for _, other := range o.Registry.Connections {
			if other.Kind == kindOutbox {
				outboxes++
			}
		}
		conn.Settings["dir"] = outboxDir(stateDir, c.Name, outboxes)
	case c.Kind == kindFiles && c.URL != "":
		conn.Settings["dir"] = filepath.Join(o.root, filepath.FromSlash(c.URL))
	case c.Kind == kindFiles:
		conn.Settings["dir"] = filepath.Join(stateDir, c.Name)
	}
	return conn
}

// withCrew is the program's workers and those that it makes of the project's
// charters. One that cannot be made is told as a warning: other loops run.
func (a *app) withCrew(o opened) []Worker {
	if a.Crew == nil {
		return a.Workers
	}
	crew, err := a.Crew(o.Project, o.root)
	if err != nil {
		fmt.Fprintf(a.Err, "warning: %s\n", plainLines(err.Error()))
	}
	workers := slices.Clone(a.Workers)
	for _, agent := range crew {
		at := slices.IndexFunc(workers, func(w Worker) bool { return w.Name() == agent.Name() })
		if at < 0 {
			workers = append(workers, agent)
			continue
		}
		workers[at] = workers[at].OrModel(agent)
	}
	return workers
}

// outboxDir is a connection's outbox: beside the state file, one directory of
// its own where the project has several.
func outboxDir(stateDir, name string, outboxes int) string {
	dir := filepath.Join(stateDir, "outbox")
	if outboxes > 1 {
		dir = filepath.Join(dir, name)
	}
	return dir
}
