// Package approvedsources is the worker approved-sources: it reads the sources
// that may be cited from the campaign desk.
package approvedsources

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

// Output is the fact sources/approved (schemas/output.json).
type Output struct {
	Links []campaign.Link `json:"links"`
	// Read counts rows, Unusable those with a fault; the rest is not approved.
	Read     int `json:"read"`
	Unusable int `json:"unusable"`
}

// Worker is approved-sources.
var Worker = worker.New("approved-sources", 1, read)

func read(_ context.Context, t worker.Task[struct{}]) (worker.Result[Output], error) {
	res := worker.Result[Output]{Output: Output{Links: []campaign.Link{}}}
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
	err = folder.Table(desk, "sources.csv", []string{"id", "url", "title", "publisher", "date", "topic", "claim", "approved"}, func(row int, c map[string]string) {
		_, undated := time.Parse(time.DateOnly, c["date"])
		switch {
		case c["id"] == "" || c["claim"] == "" || c["topic"] == "":
			fault(row, "it has no id, topic or claim")
		case undated != nil:
			fault(row, "its date is not YYYY-MM-DD")
		case !strings.HasPrefix(c["url"], "https://"):
			fault(row, "its address is not https")
		case seen[c["id"]]:
			fault(row, "it repeats "+c["id"])
		default:
			seen[c["id"]] = true
			res.Output.Read++
			if strings.EqualFold(c["approved"], "yes") {
				res.Output.Links = append(res.Output.Links, campaign.Link{
					ID: c["id"], URL: c["url"], Title: c["title"], Publisher: c["publisher"], Date: c["date"], Topic: strings.ToLower(c["topic"]), Claim: c["claim"],
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
	res.Confidence, res.Reason = worker.High, fmt.Sprintf("%d of %d rows are approved.", len(res.Output.Links), res.Output.Read)
	return res, nil
}
