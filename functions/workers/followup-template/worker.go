// Package followuptemplate is the worker followup-template, the backup of
// followup-writer: one known-good mail with the fewest facts and no offer. It
// has the same schemas.
package followuptemplate

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/letter"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

//go:embed templates/standard.txt
var standardText string

var standard = letter.Parse("standard.txt", standardText)

// Worker is followup-template.
var Worker = worker.New("followup-template", 1, draft)

func draft(_ context.Context, t worker.Task[letter.Input]) (worker.Result[letter.Mail], error) {
	var res worker.Result[letter.Mail]
	mail, err := letter.Compose(standard, t.Input.Deal)
	if err != nil {
		return res, worker.Fatal("writing the mail: %w", err)
	}
	res.Output = mail
	for _, fact := range mail.Facts {
		res.Evidence = append(res.Evidence, worker.Evidence{
			Claim: fact.Text, Source: "input.deal", At: fmt.Sprintf("row %d, %s", fact.Row, fact.Column),
		})
	}
	res.Decisions = []string{"The standard mail, which makes no offer."}
	res.Confidence, res.Reason = worker.Medium, "The standard mail knows nothing of the deal's history."
	return res, nil
}
