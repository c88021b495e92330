// Package followupwriter is the worker followup-writer: it drafts a personal
// mail about a stale deal from an approved template. Each fact of the mail
// cites the row and column it comes from. When a review finds fault, the next
// draft states fewer facts.
package followupwriter

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/letter"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

//go:embed templates/followup.txt
var followupText string

//go:embed templates/plain.txt
var plainText string

var (
	followup = letter.Parse("followup.txt", followupText)
	plain    = letter.Parse("plain.txt", plainText)
)

// Worker is followup-writer.
var Worker = worker.New("followup-writer", 1, draft)

// longSilence is after how many days a mail is not sent without a person's look.
const longSilence = 365

func draft(_ context.Context, t worker.Task[letter.Input]) (worker.Result[letter.Mail], error) {
	var res worker.Result[letter.Mail]
	chosen, why := followup, "the first draft"
	if len(t.Feedback) > 0 {
		chosen, why = plain, "the review found fault with the draft before"
	}
	mail, err := letter.Compose(chosen, t.Input.Deal)
	if err != nil {
		return res, worker.Fatal("writing the mail: %w", err)
	}
	res.Output = mail
	for _, fact := range mail.Facts {
		res.Evidence = append(res.Evidence, worker.Evidence{
			Claim: fact.Text, Source: "input.deal", At: fmt.Sprintf("row %d, %s", fact.Row, fact.Column),
		})
	}
	res.Decisions = []string{fmt.Sprintf("Template %s: %s.", chosen.Name(), why)}
	if mail.Discount > 0 {
		res.Decisions = append(res.Decisions, "Offers the discount that sales noted, no other.")
	}
	res.Confidence, res.Reason = confidence(t.Input)
	return res, nil
}

// confidence is high unless the row leaves open how, or whether, to write.
func confidence(in letter.Input) (level worker.Confidence, reason string) {
	switch {
	case in.Deal.Contact == "":
		return worker.Medium, "The row names no person to greet."
	case in.Deal.IdleDays > longSilence:
		return worker.Medium, fmt.Sprintf("Nothing has happened for %d days.", in.Deal.IdleDays)
	}
	return worker.High, "Every fact stands in the deal's row."
}
