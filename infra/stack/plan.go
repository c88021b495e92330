package stack

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// machine is a loop with what is deployed of it.
type machine struct {
	*loop.Definition
	Name string
	// Text is the committed machine, Bundle what runs pin, Hash the bundle's.
	Text, Bundle []byte
	Hash         string
	// Tokens are those that stand in Text.
	Tokens []compile.Token
}

// unit is a worker with what is deployed of it.
type unit struct {
	*loop.Worker
	Name string
	// Package is its Go package.
	Package string
	// Queued tells whether a machine sends it messages.
	Queued bool
	// AtOnce bounds its attempts at one time.
	AtOnce int
	// Timeout is the function's: the charter's and what settling needs.
	Timeout time.Duration
}

// plan is what a project needs on AWS, before any construct is made.
type plan struct {
	Machines []machine
	Units    []unit
}

// The packages of functions. Coordinator functions come with outerloop, workers
// with the project; all agents share one program, and so do all workers whose
// work is done by an endpoint or another function.
const (
	coordinatorPackages = "github.com/outerloop-dev/outerloop/functions/coordinator/"
	workerPackages      = "./" + project.WorkerDir + "/"
	agentPackage        = "github.com/outerloop-dev/outerloop/functions/workers/agent/lambda"
	bridgePackage       = "github.com/outerloop-dev/outerloop/functions/workers/bridge/lambda"
)

// What Lambda takes: how long a function may run, and its name be. A schedule's
// name may be as long.
const (
	longest     = 900 * time.Second
	longestName = 64
)

// Packages are the Go packages of all functions that these options deploy.
func Packages(p Props) ([]string, error) {
	p, err := p.checked()
	if err != nil {
		return nil, err
	}
	planned, err := p.plan()
	if err != nil {
		return nil, err
	}
	var packages []string
	for _, role := range roles {
		packages = append(packages, coordinatorPackages+role)
	}
	for _, u := range planned.Units {
		packages = append(packages, u.Package)
	}
	slices.Sort(packages)
	return slices.Compact(packages), nil
}

// plan selects loops and workers. All faults are reported.
func (p Props) plan() (plan, error) {
	names, err := p.selected()
	if err != nil {
		return plan{}, err
	}
	var (
		out    plan
		faults []error
		reach  = map[string]*loop.Worker{}
		queued = map[string]bool{}
	)
	for _, name := range names {
		m, err := p.machine(name)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		out.Machines = append(out.Machines, m)
		maps.Copy(reach, m.Workers)
		for _, token := range m.Tokens {
			queued[token.Name] = queued[token.Name] || token.Kind == compile.TokenQueue
		}
	}
	for _, name := range slices.Sorted(maps.Keys(reach)) {
		u, err := p.unit(reach[name], queued[name])
		if err != nil {
			faults = append(faults, err)
		}
		out.Units = append(out.Units, u)
	}
	if n := len(p.webhooks()); n > mostWebhooks {
		faults = append(faults, fmt.Errorf("%w: the project's %d webhooks take %d bytes of their function's environment, of which Lambda has 4,096: "+
			"at most %d can be used; shorten the names of webhooks and secrets, or have fewer webhooks", ErrProps, len(p.Project.Registry.Webhooks), n, mostWebhooks))
	}
	return out, errors.Join(faults...)
}

// selected are the loops to deploy: those asked for and all that they start.
func (p Props) selected() ([]string, error) {
	wanted := p.Loops
	if len(wanted) == 0 {
		wanted = p.Project.Names()
	}
	if len(wanted) == 0 {
		return nil, fmt.Errorf("%w: the project has no loop without errors: outerloop validate", ErrProps)
	}
	seen := map[string]bool{}
	for len(wanted) > 0 {
		name := wanted[0]
		wanted = wanted[1:]
		if seen[name] {
			continue
		}
		def, ok := p.Project.Loop(name)
		if !ok {
			return nil, fmt.Errorf("%w: %w: %q; there are %s", ErrProps, project.ErrUnknownLoop, name, strings.Join(p.Project.Names(), ", "))
		}
		seen[name] = true
		for _, n := range def.Nodes {
			if n.Sub != nil {
				wanted = append(wanted, n.Sub.Loop.Name)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

// machine reads a loop's committed machine and checks that it is fresh.
func (p Props) machine(name string) (machine, error) {
	def, _ := p.Project.Loop(name)
	if made := p.Project.Registry.Name + "-" + name + "-00"; len(made) > longestName {
		return machine{}, fmt.Errorf("%w: loop %s: %q is %d characters, schedules' names have at most %d; give it or the project a shorter name", ErrProps, name, made, len(made), longestName)
	}
	file := project.LoopDir + "/" + name + ".asl.json"
	text, err := p.read(file)
	if err != nil {
		return machine{}, err
	}
	fresh, err := compile.Compile(def)
	if err != nil {
		return machine{}, fmt.Errorf("compiling %s: %w", name, err)
	}
	if !bytes.Equal(text, fresh) {
		return machine{}, fmt.Errorf("%w: %s is missing or not what its loop says; write it anew: outerloop compile %s", ErrProps, file, name)
	}
	m := machine{Definition: def, Name: name, Text: text}
	if m.Bundle, err = p.Project.Bundle(name); err != nil {
		return machine{}, err
	}
	m.Hash = project.Hash(m.Bundle)
	for _, token := range compile.Substitutions(def) {
		if bytes.Contains(text, []byte(token.Text)) {
			m.Tokens = append(m.Tokens, token)
		}
	}
	return m, nil
}

// unit says what a worker needs. Errors: ErrProps, where it cannot run on Lambda.
func (p Props) unit(w *loop.Worker, queued bool) (unit, error) {
	c := w.Charter
	u := unit{
		Worker: w, Name: c.Worker, Queued: queued, AtOnce: c.Dispatch.AtOnce,
		Package: workerPackages + c.Worker + "/lambda", Timeout: c.Dispatch.Timeout + worker.Reserve,
	}
	if u.AtOnce == 0 {
		u.AtOnce = p.WorkerConcurrency
	}
	switch c.Kind {
	case charter.KindGo:
	case charter.KindAgent:
		u.Package = agentPackage
	case charter.KindHTTP, charter.KindLambda:
		u.Package = bridgePackage
	default:
		return u, fmt.Errorf("%w: worker %s is of kind %s: its program is on one machine, not on Lambda; deploy it as a function of its own and write kind: lambda "+
			"with lambda: {function: NAME, payload: …}, or behind an address and write kind: http", ErrProps, c.Worker, c.Kind)
	}
	if made := p.Project.Registry.Name + "-worker-" + u.Name; len(made) > longestName {
		return u, fmt.Errorf("%w: worker %s: %q is %d characters, functions' names have at most %d; give it or the project a shorter name", ErrProps, u.Name, made, len(made), longestName)
	}
	if u.Timeout > longest {
		return u, fmt.Errorf("%w: worker %s: timeout %s and %s for settling are more than Lambda's %s", ErrProps, c.Worker, c.Dispatch.Timeout, worker.Reserve, longest)
	}
	return u, nil
}
