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
	} `json:"done"`
	Missing []struct {
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
	// Mails and NoMail count the stale deals that were looked at.
	Mails   int       `json:"mails"`
	NoMail  int       `json:"no_mail"`
	Missing []Missing `json:"missing"`
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
	for _, done := range t.Input.Done {
		if done.Mail == "" {
			out.NoMail++
		} else {
			out.Mails++
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
	}
	return res, nil
}
