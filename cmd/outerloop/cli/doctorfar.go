package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// lateWatch is how old the last round of a deployment's watch may be: it goes
// round every minute.
const lateWatch = 5 * time.Minute

// examineDeployment looks at a deployment through its API.
func (a *app) examineDeployment(ctx context.Context) []finding {
	c, err := a.console(ctx)
	if err != nil {
		return []finding{{ID: "deployment", Detail: err.Error(), Remedy: firstRemedy(err)}}
	}
	status, err := c.Status(ctx)
	if err != nil {
		return []finding{{ID: "console", Detail: err.Error(), Remedy: firstRemedy(err)}}
	}
	detail := fmt.Sprintf("%s answers for project %s", a.target.name, status.Project)
	if status.Version != "" {
		detail += ", version " + status.Version
	}
	list := []finding{{ID: "console", OK: true, Detail: detail}, a.examineWatch(status.Watch)}
	if f, ok := a.examineConcurrency(ctx); ok {
		list = append(list, f)
	}
	loops, err := c.Loops(ctx)
	if err != nil {
		list = append(list, finding{ID: "loops", Detail: err.Error(), Remedy: firstRemedy(err)})
	}
	list = append(list, a.examineDeployedLoops(loops)...)
	broken, err := c.Breakers(ctx)
	if err != nil {
		list = append(list, finding{ID: "breakers", Detail: err.Error(), Remedy: firstRemedy(err)})
	}
	return append(list, examineBreakers(broken)...)
}

func firstRemedy(err error) string {
	if lines := remediesOf(err); len(lines) > 0 {
		return lines[0]
	}
	return ""
}

// examineWatch tells whether the watch goes round.
func (a *app) examineWatch(beat coordinator.BeatView) finding {
	f := finding{ID: "watch", Remedy: "look at the log of the watch's function and its schedule: what is due by time stands still without it"}
	switch age := a.Now().Sub(beat.At); {
	case beat.At.IsZero():
		f.Detail = "it never went round"
	case age > lateWatch:
		f.Detail = fmt.Sprintf("it last went round %s ago, at %s", span(age), beat.At.Format("2006-01-02 15:04 MST"))
	case beat.Failed != "":
		f.Detail = fmt.Sprintf("its last round, %s ago, failed: %s", span(max(age, 0)), plain(beat.Failed))
	default:
		f.OK, f.Detail = true, fmt.Sprintf("went round %s ago: looked at %d, repaired %d", span(max(age, 0)), beat.Looked, beat.Repaired)
	}
	return f
}

// examineConcurrency compares what workers and gates may take at one time with
// what the account has; false: it is not known of this deployment.
func (a *app) examineConcurrency(ctx context.Context) (finding, bool) {
	if isAddress(a.target.flag) {
		return finding{}, false
	}
	s, err := a.deployment()
	switch {
	case err != nil:
		return finding{}, false
	case s.Concurrency == 0:
		return finding{
			ID: "concurrency", OK: true, Note: true, Detail: "what workers and their gates may take at one time is not written down here",
			Remedy: "outerloop-aws connect STACK   reads it from the outputs of the stack",
		}, true
	}
	f := finding{ID: "concurrency", OK: true}
	limit, err := accountConcurrency(ctx, s)
	switch {
	case err != nil:
		f.Detail = fmt.Sprintf("workers and their gates may run %d at one time; the account's limit is not known: %v", s.Concurrency, err)
	case s.Concurrency > limit:
		f.OK, f.Detail = false, fmt.Sprintf("workers and their gates may run %d at one time, the account %d", s.Concurrency, limit)
		f.Remedy = "lower at_once in charters, or ask AWS for more (Service Quotas: concurrent executions)"
	default:
		f.Detail = fmt.Sprintf("workers and their gates may run %d at one time of the account's %d", s.Concurrency, limit)
	}
	return f, true
}

// examineDeployedLoops compares the project's loops, if there is a project here,
// with those that are deployed.
func (a *app) examineDeployedLoops(deployed []coordinator.LoopView) []finding {
	byName := map[string]coordinator.LoopView{}
	var list []finding
	for _, l := range deployed {
		byName[l.ID] = l
		if l.Paused {
			list = append(list, finding{ID: "loop " + l.ID, OK: true, Note: true, Detail: "is paused: its triggers start nothing", Remedy: "outerloop resume " + l.ID + a.targetFlags()})
		}
	}
	p, err := a.someProject()
	if err != nil || p == nil {
		return list
	}
	var absent []string
	for _, name := range p.Names() {
		bundle, err := p.Bundle(name)
		if err != nil {
			continue // examineProject says what is wrong
		}
		l, ok := byName[name]
		delete(byName, name)
		switch {
		case !ok || l.Definition == "":
			absent = append(absent, name)
		case l.Definition != project.Hash(bundle):
			list = append(list, finding{
				ID: "loop " + name, Detail: fmt.Sprintf("version %d is deployed and differs from this project's: new runs do what is deployed", l.Version),
				Remedy: "cdk deploy   brings it (docs/deploy.md); or check out what is deployed",
			})
		default:
			list = append(list, finding{ID: "loop " + name, OK: true, Detail: fmt.Sprintf("version %d is deployed as it is here", l.Version)})
		}
	}
	return append(append(list, notHere(byName)...), notThere(absent, len(list) > 0)...)
}

// notHere are the deployed loops that this project does not have.
func notHere(deployed map[string]coordinator.LoopView) []finding {
	var list []finding
	for _, name := range slices.Sorted(maps.Keys(deployed)) {
		if deployed[name].Definition != "" {
			list = append(list, finding{ID: "loop " + name, OK: true, Note: true, Detail: "is deployed, and this project has no such loop"})
		}
	}
	return list
}

// notThere tells of the project's loops that are not deployed: a deployment may
// have some of them only, but not none.
func notThere(names []string, others bool) []finding {
	if len(names) == 0 {
		return nil
	}
	return []finding{{
		ID: "loops", OK: others, Note: others, Remedy: "cdk deploy   of a synth without -c loops=, or with them (docs/deploy.md)",
		Detail: fmt.Sprintf("%s of this project not deployed: %s", count(len(names), "loop is", "loops are"), strings.Join(names, ", ")),
	}}
}

// pruneFar removes closed runs of a deployment, a bounded number at a time.
func (a *app) pruneFar(ctx context.Context, r coordinator.Retention, histories bool) error {
	if histories {
		return usage("--histories is of the embedded engine; Step Functions removes histories by itself after 90 days", "leave --histories away")
	}
	c, err := a.console(ctx)
	if err != nil {
		return err
	}
	var all coordinator.Removed
	for all.More = true; all.More; {
		done, err := c.Prune(ctx, r)
		all.Runs, all.Items, all.More = all.Runs+done.Runs, all.Items+done.Items, done.More
		if err != nil {
			return errors.Join(err, a.sayPruned(all))
		}
	}
	return a.sayPruned(all)
}

func (a *app) sayPruned(all coordinator.Removed) error {
	if a.asJSON() {
		return a.writeJSON(all)
	}
	a.say("%s deleted, %s in all", count(all.Runs, "run", "runs"), count(all.Items, "item", "items"))
	return nil
}
