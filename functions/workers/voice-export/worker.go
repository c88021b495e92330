// Package voiceexport is the worker voice-export: it reads what customers said,
// and let us say, from the CRM's export.
package voiceexport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Output is the fact crm/export (schemas/output.json).
type Output struct {
	Quotes []campaign.Quote `json:"quotes"`
	// Read counts rows, Unusable those with a fault; the rest has no consent.
	Read     int `json:"read"`
	Unusable int `json:"unusable"`
}

// Worker is voice-export.
var Worker = worker.New("voice-export", 1, read)

func read(_ context.Context, t worker.Task[struct{}]) (worker.Result[Output], error) {
	res := worker.Result[Output]{Output: Output{Quotes: []campaign.Quote{}}}
	desk, err := folder.Of(t.Connection("desk"))
	if err != nil {
		return res, err
	}
	seen := map[string]bool{}
	fault := func(row int, why string) {
		res.Output.Read++
		res.Output.Unusable++
		res.Decisions = append(res.Decisions, fmt.Sprintf("Row %d is left out: %s.", row, why))
	}
	err = folder.Table(desk, "voices.csv", []string{"id", "date", "customer", "topic", "consent", "quote"}, func(row int, c map[string]string) {
		_, undated := time.Parse(time.DateOnly, c["date"])
		switch {
		case c["id"] == "" || c["quote"] == "" || c["customer"] == "" || c["topic"] == "":
			fault(row, "it names no customer, topic or words")
		case undated != nil:
			fault(row, "its date is not YYYY-MM-DD")
		case seen[c["id"]]:
			fault(row, "it repeats "+c["id"])
		default:
			seen[c["id"]] = true
			res.Output.Read++
			if strings.EqualFold(c["consent"], "yes") {
				res.Output.Quotes = append(res.Output.Quotes, campaign.Quote{
					ID: c["id"], Date: c["date"], Customer: c["customer"], Topic: strings.ToLower(c["topic"]), Text: c["quote"],
				})
			}
		}
	}, fault)
	if errors.Is(err, fs.ErrNotExist) {
		return res, worker.MissingInput("%w", err)
	}
	if err != nil {
		return res, err
	}
	res.Confidence, res.Reason = worker.High, fmt.Sprintf("%d of %d rows may be quoted.", len(res.Output.Quotes), res.Output.Read)
	return res, nil
}
