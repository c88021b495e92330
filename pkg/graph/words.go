package graph

import (
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

func triggers(d *loop.Definition) []string {
	lines := []string{d.Loop.Name}
	for _, t := range d.Loop.Triggers {
		switch t.Kind {
		case loop.TriggerSchedule:
			lines = append(lines, t.Name)
		case loop.TriggerMonitor:
			lines = append(lines, "every "+schedule.FormatDuration(t.Monitor.Every)+": "+t.Monitor.Probe)
		default:
			lines = append(lines, string(t.Kind)+" "+t.Name)
		}
	}
	return lines
}

func kind(n *loop.Node) Kind {
	switch {
	case n.Kind == loop.KindWait:
		return KindWait
	case n.Kind == loop.KindLoop:
		return KindLoop
	case n.Kind == loop.KindRoute:
		return KindDecision
	case n.Action != nil || len(n.Writes) > 0 || n.Emit != nil:
		return KindAction
	}
	return KindStep
}

// lines are the words in a step's shape.
func lines(n *loop.Node) []string {
	out := []string{n.Name}
	switch n.Kind {
	case loop.KindWorker:
		who := n.Worker.Charter.Worker
		if n.Backup != nil {
			who += ", else " + n.Backup.Charter.Worker
		}
		out = append(out, who)
	case loop.KindLoop:
		out = append(out, "loop "+n.Sub.Loop.Name)
	case loop.KindRoute:
		for _, row := range n.Routes {
			out = append(out, routeLine(row))
		}
	case loop.KindWait:
		out = append(out, waitLine(n))
	}
	if n.Step.When.Set() {
		out = append(out, "when "+n.Step.When.Text)
	}
	if n.Action != nil {
		out = append(out, "action "+n.Action.Declared.Name)
	}
	for _, w := range n.Writes {
		out = append(out, "writes "+w.Fact.Source())
	}
	if n.Emit != nil {
		out = append(out, "emits "+n.Emit.Event)
	}
	return out
}

func routeLine(row loop.RouteRule) string {
	who := row.Ask + " (people)"
	if row.Worker != nil {
		who = row.Worker.Charter.Worker
	}
	var when []string
	for _, match := range row.Match {
		when = append(when, match.Field+" "+strings.Join(match.Values, " or "))
	}
	if len(when) == 0 {
		return "else " + who
	}
	return strings.Join(when, ", ") + ": " + who
}

func waitLine(n *loop.Node) string {
	switch {
	case n.Wait.Event != "":
		return fmt.Sprintf("for %s, %s", n.Wait.Event, schedule.FormatDuration(n.Wait.Within))
	case n.Wait.For > 0:
		return schedule.FormatDuration(n.Wait.For)
	}
	return "until " + n.Wait.Until.Source()
}
