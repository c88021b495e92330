// Package leadqualifier is the worker lead-qualifier: it scores a stale deal by
// a written scorecard (scorecard.json) and says whether it is worth a
// follow-up. What the scorecard leaves open goes to a person.
package leadqualifier

import (
	"context"
	"fmt"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Deal Deal `json:"deal"`
}

// Deal is what the scorecard looks at.
type Deal struct {
	ID            string     `json:"id"`
	Contact       string     `json:"contact"`
	ContactStatus string     `json:"contact_status"`
	Stage         string     `json:"stage"`
	AmountEUR     float64    `json:"amount_eur"`
	IdleDays      int        `json:"idle_days"`
	Source        crm.Source `json:"source"`
}

// The results of a qualification.
const (
	Qualified   = "qualified"
	Unqualified = "unqualified"
	NeedsReview = "needs_review"
)

// Output is the filled-in scorecard (schemas/output.json).
type Output struct {
	Result   string      `json:"result"`
	Score    int         `json:"score"`
	Of       int         `json:"of"`
	Reason   string      `json:"reason"`
	Criteria []Criterion `json:"criteria"`
}

// Criterion is one line of a filled-in scorecard.
type Criterion struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Points   int    `json:"points"`
	Of       int    `json:"of"`
}

// Worker is lead-qualifier.
var Worker = worker.New("lead-qualifier", 1, qualify)

func qualify(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	d := t.Input.Deal
	var res worker.Result[Output]
	out := &res.Output
	for _, c := range written.Criteria {
		points, said, column := c.answer(d)
		out.Criteria = append(out.Criteria, Criterion{c.ID, c.Question, said, points, c.of()})
		out.Score += points
		out.Of += c.of()
		res.Evidence = append(res.Evidence, worker.Evidence{
			Claim: c.Question + " " + said, Source: "input.deal", At: fmt.Sprintf("row %d, %s", d.Source.Row, column),
		})
	}
	out.Result, out.Reason = written.result(d, out.Score, out.Of)
	res.Decisions = []string{"Scorecard approved by " + written.Approved + ": " + out.Reason}
	res.Confidence, res.Reason = worker.High, "The scorecard decides."
	if out.Result == NeedsReview {
		res.Confidence, res.Reason = worker.Medium, "The score lies between the scorecard's limits."
	}
	return res, nil
}

// result applies the scorecard's requirements and limits.
func (card scorecard) result(d Deal, score, of int) (result, reason string) {
	switch {
	case d.ContactStatus != card.Required.ContactStatus:
		return Unqualified, fmt.Sprintf("The contact's status is %s, not %s.", d.ContactStatus, card.Required.ContactStatus)
	case d.AmountEUR < card.Required.AmountEUR:
		return Unqualified, fmt.Sprintf("The amount is below %s.", crm.Money(crm.Cents(card.Required.AmountEUR), "EUR"))
	case score >= card.Qualified:
		return Qualified, fmt.Sprintf("%d of %d points; %d are enough.", score, of, card.Qualified)
	case score >= card.NeedsReview:
		return NeedsReview, fmt.Sprintf("%d of %d points; below %d a person decides.", score, of, card.Qualified)
	}
	return Unqualified, fmt.Sprintf("%d of %d points; it takes %d.", score, of, card.NeedsReview)
}
