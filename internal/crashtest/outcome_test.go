package crashtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// outcome is what must not depend on any crash.
type outcome struct {
	Runs      []string
	Steps     []string
	Actions   []string
	Approvals []string
	Mails     map[string]string
}

func (p *program) outcome(dir string) outcome {
	p.Helper()
	r, err := local.OpenReader(p.Context(), state(dir))
	p.ok(err)
	defer r.Close()
	out := outcome{Mails: map[string]string{}}
	runs, err := r.Coordinator().Runs(p.Context(), coordinator.RunsQuery{})
	p.ok(err)
	for _, run := range runs {
		out.Runs = append(out.Runs, line(run.ID, string(run.Status), run.Reason))
		shown, err := r.Coordinator().Show(p.Context(), run.ID)
		p.ok(err)
		for _, s := range shown.Steps {
			out.Steps = append(out.Steps, line(s.Path, s.Worker, string(s.Status), string(s.Outcome), s.Reason))
		}
	}
	actions, err := r.Coordinator().Actions(p.Context(), coordinator.ActionsQuery{})
	p.ok(err)
	for _, a := range actions {
		out.Actions = append(out.Actions, line(a.ID, a.State, a.ProviderKey, a.PayloadHash, string(a.Result), a.Step))
	}
	approvals, err := r.Coordinator().Approvals(p.Context(), coordinator.ApprovalsQuery{})
	p.ok(err)
	for _, a := range approvals {
		out.Approvals = append(out.Approvals, line(a.ID, a.Step, a.Ask, string(a.Content)))
	}
	for _, name := range mails(dir) {
		content, err := os.ReadFile(name)
		p.ok(err)
		out.Mails[filepath.Base(name)] = string(content)
	}
	return sorted(out)
}

func line(fields ...string) string { return strings.Join(fields, " | ") }

// sorted puts an outcome in an order that does not depend on time.
func sorted(out outcome) outcome {
	for _, list := range [][]string{out.Runs, out.Steps, out.Actions, out.Approvals} {
		slices.Sort(list)
	}
	return out
}
