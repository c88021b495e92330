package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// mostRuns is how many runs are listed at most.
const mostRuns = 1000

func (a *app) runsCommand() *cobra.Command {
	var q coordinator.RunsQuery
	cmd := &cobra.Command{
		Use:   "runs [LOOP]",
		Short: "List runs, newest first",
		Long: `Lists the runs in the state file, newest first. Reading never creates a state file:
without one the list is empty.`,
		Example: `  outerloop runs
  outerloop runs crm-followup --open
  outerloop runs -o json | jq -r '.[] | select(.status == "blocked") | .id'`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				q.Loop = args[0]
			}
			if q.Limit < 1 || q.Limit > mostRuns {
				return usage(fmt.Sprintf("--limit %d is out of range", q.Limit), fmt.Sprintf("write a number from 1 to %d", mostRuns))
			}
			list, err := readList(cmd.Context(), a, func(ctx context.Context, r reader) ([]coordinator.RunView, error) { return r.Runs(ctx, q) })
			if err != nil {
				return err
			}
			if len(list) == 0 && q.Loop != "" {
				if err := a.knownLoop(cmd.Context(), q.Loop); err != nil {
					return err
				}
			}
			return a.printRuns(list)
		},
	}
	cmd.Flags().BoolVar(&q.Open, "open", false, "only runs that are not closed")
	cmd.Flags().IntVarP(&q.Limit, "limit", "n", 50, "at most `N` runs")
	return cmd
}

func (a *app) printRuns(list []coordinator.RunView) error {
	if a.asJSON() {
		return a.writeJSON(list)
	}
	if len(list) == 0 {
		a.say("no runs")
		return nil
	}
	t := table{head: []string{"RUN", "STATUS", "SUBJECT", "STARTED (UTC)", "TOOK", "WAITING", "REASON"}}
	t.right = []bool{false, false, false, false, true, true}
	t.colour = func(column int, _ string) func(string) string {
		if column != 1 {
			return nil
		}
		return func(s string) string { return a.statusText(strings.ReplaceAll(s, " ", "_")) }
	}
	for _, v := range list {
		took, waiting := "", ""
		if v.StartedAt != nil && v.EndedAt != nil {
			took = span(v.EndedAt.Sub(*v.StartedAt))
		}
		if n := len(v.Waiting); n > 0 {
			waiting = fmt.Sprint(n)
		}
		t.add(v.ID, strings.ReplaceAll(string(v.Status), "_", " "), plain(v.Subject), stamp(v.StartedAt), took, waiting, plain(v.Reason))
	}
	if a.Width > 0 && a.Width < wideRuns {
		t.narrowRuns()
	}
	t.write(a, a.Out)
	return nil
}

// wideRuns is the width from which the whole table of runs has room.
const wideRuns = 120

// narrowRuns makes the table of runs fit a usual terminal: ids are cut to what
// tells them apart, which every command takes, and how long runs took is left out.
func (t *table) narrowRuns() {
	const id, started, took = 0, 3, 4
	ids := make([]string, len(t.rows))
	for i, row := range t.rows {
		ids[i] = row[id]
	}
	for i, row := range t.rows {
		row[id] = shortID(ids[i], ids)
		if len(row[started]) == len(time.DateTime) {
			row[started] = row[started][len("2006-") : len(row[started])-len(":05")]
		}
		t.rows[i] = slices.Delete(row, took, took+1)
	}
	t.head = slices.Delete(t.head, took, took+1)
	t.right = slices.Delete(t.right, took, took+1)
}

// shortID is the beginning of an id that none of the others has, with eight
// characters at least of its last part.
func shortID(id string, all []string) string {
	for n := strings.LastIndexByte(id, '-') + 1 + 8; n < len(id); n++ {
		if !slices.ContainsFunc(all, func(other string) bool { return other != id && strings.HasPrefix(other, id[:n]) }) {
			return id[:n]
		}
	}
	return id
}

// readList reads a list; a missing state file is an empty one, never null.
func readList[T any](ctx context.Context, a *app, read func(context.Context, reader) ([]T, error)) ([]T, error) {
	var list []T
	err := a.reading(ctx, func(r reader) (err error) {
		list, err = read(ctx, r)
		return err
	})
	if errors.Is(err, local.ErrNoState) {
		return []T{}, nil
	}
	if list == nil {
		list = []T{}
	}
	return list, err
}

// listOf reads what lists have of one run, whose id may be cut short, or of all
// for "". Error: coordinator.ErrNoRun.
func listOf[T any](ctx context.Context, a *app, id string, read func(context.Context, reader, string) ([]T, error)) ([]T, error) {
	if id != "" {
		if err := a.needRuns(); err != nil {
			return nil, err
		}
	}
	return readList(ctx, a, func(ctx context.Context, r reader) ([]T, error) {
		if id == "" {
			return read(ctx, r, "")
		}
		run, err := findRun(ctx, r, id)
		if err != nil {
			return nil, err
		}
		if _, err := r.Log(ctx, run); err != nil { // findRun lets through what it does not know
			return nil, err
		}
		return read(ctx, r, run)
	})
}

// knownLoop refuses a loop that neither the project has nor any run is of.
func (a *app) knownLoop(ctx context.Context, name string) error {
	runs, err := readList(ctx, a, func(ctx context.Context, r reader) ([]coordinator.RunView, error) {
		return r.Runs(ctx, coordinator.RunsQuery{Loop: name, Limit: 1})
	})
	if err != nil || len(runs) > 0 {
		return err
	}
	if a.far() {
		return a.deployedLoop(ctx, name)
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if _, declared := p.Paths[name]; declared {
		return nil
	}
	_, err = p.loop(name)
	return err
}

// deployedLoop refuses a loop that the deployment does not have.
func (a *app) deployedLoop(ctx context.Context, name string) error {
	var names []string
	err := a.reading(ctx, func(r reader) error {
		loops, err := r.Loops(ctx)
		for _, l := range loops {
			names = append(names, l.ID)
		}
		return err
	})
	if err != nil || slices.Contains(names, name) {
		return err
	}
	remedies := []string{"loops there: " + strings.Join(names, ", ")}
	if near := schema.Nearest(name, names); near != "" {
		remedies = append([]string{"did you mean " + near + "?"}, remedies...)
	}
	return usage(fmt.Sprintf("there is no loop %q in %s", name, a.target.name), remedies...)
}

// findRun completes an abbreviated run id; "" is the newest run.
func findRun(ctx context.Context, r reader, id string) (string, error) {
	fits, err := r.Find(ctx, id)
	switch {
	case err != nil:
		return "", err
	case len(fits) == 0 && id == "":
		return "", usage("there are no runs yet", "outerloop run LOOP   starts one")
	case len(fits) == 0:
		return id, nil // perhaps older than what was looked through: the coordinator says
	case len(fits) == 1:
		return fits[0], nil
	}
	slices.Sort(fits)
	return "", usage(fmt.Sprintf("%q is the beginning of %d runs", id, len(fits)), fits[:min(len(fits), 5)]...)
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
