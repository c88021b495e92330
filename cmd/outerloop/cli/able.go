package cli

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// answersSoon is how long a chosen model's endpoint may take to accept a connection.
const answersSoon = 3 * time.Second

// reached refuses a chosen model whose endpoint nobody listens at: each attempt
// would fail, and people would wait for what was not started. Where a proxy
// stands before it, nothing is asked.
func reached(ctx context.Context, model string) error {
	rest, found := strings.CutPrefix(model, "openai:")
	address, _, _ := strings.Cut(rest, "#")
	at, err := url.Parse(address)
	if !found || err != nil || at.Host == "" {
		return nil // said elsewhere
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: at}); err != nil || proxy != nil {
		return nil
	}
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	ctx, cancel := context.WithTimeout(ctx, answersSoon)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(at.Hostname(), port))
	if err != nil {
		return &exit{code: ExitFailed, err: fmt.Errorf("nobody answers at %s, where the model is to be asked: %w; nothing was started", plain(address), err),
			remedies: []string{"start the model's server, or name where it is: --model openai:URL#ID"}}
	}
	return conn.Close()
}

// able refuses to start a loop of which this program cannot run a worker: its
// run would wait for it until the deadline.
func (a *app) able(o opened, name string) error {
	def, err := o.loop(name)
	if err != nil {
		return err
	}
	made := map[string]bool{}
	for _, code := range a.Workers {
		made[code.Name()] = true
	}
	faults := map[string]string{}
	if a.Crew != nil {
		crew, err := a.Crew(o.Project, o.root)
		for _, code := range crew {
			made[code.Name()] = true
		}
		faults = crewFaults(err)
	}
	for _, worker := range slices.Sorted(maps.Keys(workersOf(def, map[string]bool{}))) {
		if fault := faults[worker]; fault != "" {
			return usage(fmt.Sprintf("%s needs the worker %s, which cannot be made here: %s", name, worker, plain(fault)), "nothing was started")
		}
		if !made[worker] {
			return usage(fmt.Sprintf("%s needs the worker %s, and this program has no code for it: nothing was started", name, worker),
				"give it to cli.Config.Workers, or let its charter be of kind agent")
		}
	}
	return nil
}

// crewFaults are the reasons why workers could not be made, by worker.
func crewFaults(err error) map[string]string {
	out := map[string]string{}
	if err == nil {
		return out
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if rest, found := strings.CutPrefix(line, "making worker "); found {
			worker, why, _ := strings.Cut(rest, ": ")
			out[worker] = why
		}
	}
	return out
}

// workersOf are the workers of a loop and of its sub-loops, tools and backups
// among them.
func workersOf(def *loop.Definition, out map[string]bool) map[string]bool {
	for name := range def.Workers {
		out[name] = true
	}
	for _, n := range def.Nodes {
		if n.Sub != nil {
			workersOf(n.Sub, out)
		}
	}
	return out
}
