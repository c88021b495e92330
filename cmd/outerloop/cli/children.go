package cli

import (
	"context"
	"slices"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// mostOpen bounds the open runs that are looked at for sub-loops.
const mostOpen = 1000

// openChildren are the open runs below a run that its sub-loops started, at any
// depth, the blocked ones first.
func openChildren(ctx context.Context, r reader, run string) ([]coordinator.RunView, error) {
	open, err := r.Runs(ctx, coordinator.RunsQuery{Open: true, Limit: mostOpen})
	if err != nil {
		return nil, err
	}
	parents := map[string]string{}
	for _, v := range open {
		parents[v.ID] = v.Parent
	}
	var blocked, others []coordinator.RunView
	for _, v := range open {
		at := v.Parent
		for at != "" && at != run {
			at = parents[at]
		}
		switch {
		case at == "":
		case v.Status == outerloop.StatusBlocked:
			blocked = append(blocked, v)
		default:
			others = append(others, v)
		}
	}
	return append(blocked, others...), nil
}

// waitsForLoop tells whether a step of the run may wait for a sub-loop: one that is
// open and has no worker. Without one no list of runs is read.
func waitsForLoop(v coordinator.ShowView) bool {
	return slices.ContainsFunc(v.Steps, func(s coordinator.StepView) bool { return s.Worker == "" && s.Status != outerloop.StepSettled })
}

// code is the exit code of a run and the runs of its sub-loops: a run that waits
// for a sub-loop stands as that one does.
func (s runState) code() int {
	code := runCode(s.show.RunView)
	for _, child := range s.children {
		if code == ExitDone || code == ExitWaiting {
			if own := runCode(child); own != ExitDone {
				code = own
			}
		}
	}
	return code
}

// writeChildren names the sub-loops' runs that a run waits for, where they wait
// for a person or stand still.
func (a *app) writeChildren(children []coordinator.RunView) {
	told := false
	for _, child := range children {
		if runCode(child) == ExitDone {
			continue
		}
		if !told {
			a.say("\n%s", a.bold("Waits for sub-loops"))
			told = true
		}
		a.say("  %s  %s%s", child.ID, a.statusText(string(child.Status)), reasonText(child.Reason))
		a.say("    %s", a.command("show %s", child.ID))
	}
}
