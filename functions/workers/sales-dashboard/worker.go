// Package salesdashboard is the worker sales-dashboard: it makes the fact
// dashboard/sales of a run's figures. Render makes a page of that fact.
package salesdashboard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Totals crm.Totals `json:"totals"`
	Done   []struct {
		Deal string `json:"deal"`
		Mail string `json:"mail"`
		// Declined tells that a person decided against the follow-up.
		Declined bool `json:"declined"`
	} `json:"done"`
	// Rejected are the rows of the export that could not be used.
	Rejected []Rejection `json:"rejected"`
	Missing  []struct {
		Key   string `json:"key"`
		Step  string `json:"step"`
		Cause string `json:"cause"`
		Say   string `json:"say"`
	} `json:"missing"`
}

// Output is the fact dashboard/sales (schemas/output.json).
type Output struct {
	crm.Totals
	// Currency is what all amounts are in.
	Currency string `json:"currency"`
	// Mails, NoMail and Declined count the stale deals that were looked at: a
	// mail was sent, none was needed, or a person decided against it.
	Mails    int       `json:"mails"`
	NoMail   int       `json:"no_mail"`
	Declined int       `json:"declined"`
	Missing  []Missing `json:"missing"`
	// RejectedRows are the first RowsKept of the rejected rows; Rejected counts all.
	RejectedRows []Rejection `json:"rejected_rows"`
}

// RowsKept is how many rejected rows the fact and its page list.
const RowsKept = 1000

// Rejection is a row of the export that could not be used.
type Rejection struct {
	// Row is the row as a spreadsheet shows it: the header is row 1.
	Row int `json:"row"`
	// Column is the first column at fault; empty when it is the row itself.
	Column string `json:"column"`
	Reason string `json:"reason"`
}

// Missing is a stale deal that could not be dealt with.
type Missing struct {
	Deal string `json:"deal"`
	Step string `json:"step"`
	Why  string `json:"why"`
}

// Worker is sales-dashboard.
var Worker = worker.New("sales-dashboard", 1, total)

func total(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	out := &res.Output
	*out = Output{Totals: t.Input.Totals, Currency: "EUR", Missing: []Missing{}}
	out.RejectedRows = append([]Rejection{}, t.Input.Rejected[:min(len(t.Input.Rejected), RowsKept)]...)
	for _, done := range t.Input.Done {
		switch {
		case done.Mail != "":
			out.Mails++
		case done.Declined:
			out.Declined++
		default:
			out.NoMail++
		}
	}
	for _, missing := range t.Input.Missing {
		why := missing.Say
		if why == "" {
			why = missing.Cause
		}
		out.Missing = append(out.Missing, Missing{missing.Key, missing.Step, why})
	}
	slices.SortFunc(out.Missing, func(a, b Missing) int { return strings.Compare(a.Deal, b.Deal) })
	res.Confidence, res.Reason = worker.High, "The figures were counted."
	res.Evidence = []worker.Evidence{
		{Claim: fmt.Sprintf("%d stale deals", out.Stale), Source: "input.totals"},
		{Claim: fmt.Sprintf("%d mails", out.Mails), Source: "input.done"},
		{Claim: fmt.Sprintf("%d deals are missing", len(out.Missing)), Source: "input.missing"},
		{Claim: fmt.Sprintf("%d rows were rejected", len(t.Input.Rejected)), Source: "input.rejected"},
	}
	return res, nil
}
