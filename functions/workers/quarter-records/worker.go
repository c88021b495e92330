// Package quarterrecords is the worker quarter-records: it reads the records of
// a topic in a quarter and in the one before.
package quarterrecords

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Topic   string `json:"topic"`
	Quarter string `json:"quarter"`
}

// Output are the records (schemas/output.json).
type Output struct {
	Current  []quarterly.Record `json:"current"`
	Before   []quarterly.Record `json:"before"`
	Read     int                `json:"read"`
	Unusable int                `json:"unusable"`
}

// Worker is quarter-records.
var Worker = worker.New("quarter-records", 1, read)

// Connection is where the tables of records are.
const Connection = "records"

func read(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	res := worker.Result[Output]{Output: Output{Current: []quarterly.Record{}, Before: []quarterly.Record{}}}
	tables, err := folder.Of(t.Connection(Connection))
	if err != nil {
		return res, err
	}
	from, to, err := quarterly.Span(t.Input.Quarter)
	if err != nil {
		return res, worker.MissingInput("%w", err)
	}
	seen := map[string]bool{}
	fault := func(row int, why string) {
		res.Output.Unusable++
		res.Decisions = append(res.Decisions, fmt.Sprintf("Row %d is left out: %s.", row, why))
	}
	err = folder.Table(tables, t.Input.Topic+".csv", []string{"id", "date", "title", "theme", "weight"}, func(row int, c map[string]string) {
		at, undated := time.Parse(time.DateOnly, c["date"])
		weight, unweighed := strconv.Atoi(c["weight"])
		record := quarterly.Record{ID: c["id"], Date: c["date"], Title: c["title"], Theme: strings.ToLower(c["theme"]), Weight: weight}
		switch {
		case record.ID == "" || record.Title == "" || record.Theme == "":
			fault(row, "it has no id, title or theme")
		case undated != nil:
			fault(row, "its date is not YYYY-MM-DD")
		case unweighed != nil || weight < 0:
			fault(row, "its weight is no number")
		case seen[record.ID]:
			fault(row, "it repeats "+record.ID)
		case !at.Before(from) && at.Before(to):
			res.Output.Current = append(res.Output.Current, record)
		case !at.Before(from.AddDate(0, -3, 0)) && at.Before(from):
			res.Output.Before = append(res.Output.Before, record)
		}
		seen[record.ID] = true
		res.Output.Read++
	}, func(row int, why string) { res.Output.Read++; fault(row, why) })
	if errors.Is(err, fs.ErrNotExist) {
		return res, worker.MissingInput("there are no records on %s: %w", t.Input.Topic, err)
	}
	if err != nil {
		return res, err
	}
	if len(res.Output.Current) == 0 {
		return res, worker.MissingInput("%s has no record in %s", t.Input.Topic, t.Input.Quarter)
	}
	res.Confidence, res.Reason = worker.High, fmt.Sprintf("%d of %d rows are unusable.", res.Output.Unusable, res.Output.Read)
	return res, nil
}
