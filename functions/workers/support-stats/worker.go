// Package supportstats is the worker support-stats: it counts a day's entries in
// the helpdesk, where they stand. Counting again gives the same, whatever was
// counted before.
package supportstats

import (
	"context"
	"fmt"

	"github.com/outerloop-dev/outerloop/functions/workers/helpdesk"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Day string `json:"day"`
}

// Output are the day's entries, counted (schemas/output.json).
type Output struct {
	Day       string `json:"day"`
	Answered  int    `json:"answered"`
	Assigned  int    `json:"assigned"`
	Billing   int    `json:"billing"`
	Technical int    `json:"technical"`
	General   int    `json:"general"`
}

// Worker is support-stats.
var Worker = worker.New("support-stats", 1, count)

func count(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	res := worker.Result[Output]{Output: Output{Day: t.Input.Day}}
	desk, err := t.Connection(helpdesk.Connection)
	entries, err := outside.All[helpdesk.Entry](ctx, desk, err)
	if err != nil {
		return res, err
	}
	for _, e := range entries {
		if e.Day == t.Input.Day {
			res.Output.add(e)
		}
	}
	res.Confidence, res.Reason = worker.High, "The entries were counted."
	res.Evidence = []worker.Evidence{{Claim: fmt.Sprintf("%d entries of the day", res.Output.Answered+res.Output.Assigned), Source: "input.day"}}
	return res, nil
}

func (o *Output) add(e helpdesk.Entry) {
	if e.Entry == helpdesk.Answer {
		o.Answered++
	} else {
		o.Assigned++
	}
	switch e.Type {
	case "billing":
		o.Billing++
	case "technical":
		o.Technical++
	default:
		o.General++
	}
}
