// Package claimchecker is the worker claim-checker: it reviews a mail that
// another worker wrote. It reads the deal's row again from the export and
// trusts neither the author's facts nor the scan: what the row does not say is
// unsupported, what no mail may promise is forbidden (forbidden.txt).
package claimchecker

import (
	"context"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/letter"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Mail letter.Mail `json:"mail"`
	File string      `json:"file"`
	Row  struct {
		ID     string     `json:"id"`
		Source crm.Source `json:"source"`
	} `json:"row"`
}

// Output is the verdict (schemas/output.json).
type Output struct {
	Unsupported []Fault `json:"unsupported"`
	Forbidden   []Fault `json:"forbidden"`
	// Checked is how many facts were compared with the row.
	Checked int `json:"checked"`
}

// Fault is a place of the mail that cannot stay.
type Fault struct {
	Text string `json:"text"`
	Why  string `json:"why"`
}

// Worker is claim-checker.
var Worker = worker.New("claim-checker", 1, review)

func review(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	row, err := read(ctx, t)
	if err != nil {
		return res, err
	}
	truth, err := newTruth(row, t.Input.Mail.Discount)
	if err != nil {
		return res, err
	}
	res.Output = truth.check(t.Input.Mail)
	res.Confidence, res.Reason = worker.High, "The row was read again and compared by fixed rules."
	res.Evidence = []worker.Evidence{{
		Claim:  fmt.Sprintf("%d facts were compared with the row of deal %s", res.Output.Checked, t.Input.Row.ID),
		Source: "input.file", At: fmt.Sprintf("row %d", row.Row),
	}}
	return res, nil
}

// read reads the deal's row from the export itself.
func read(ctx context.Context, t worker.Task[Input]) (crm.Row, error) {
	file, err := t.File(ctx, "file")
	if err != nil {
		return crm.Row{}, err
	}
	defer func() { _ = file.Close() }()
	row, err := crm.At(file, file.Size(), t.Input.Row.Source)
	var unusable *crm.FileError
	var damaged *crm.RowError
	switch {
	case errors.As(err, &unusable):
		return row, worker.MissingInput("reading the row again: the export %w", unusable)
	case errors.As(err, &damaged):
		return row, worker.MissingInput("reading the row again: %w", damaged)
	case err != nil:
		return row, worker.Transient("reading the row again: %w", err)
	}
	if id := crm.Text(row.Cell(crm.ColumnID)); id != t.Input.Row.ID {
		return row, worker.MissingInput("row %d of the export holds deal %s, not %s", row.Row, crm.Quote(id), t.Input.Row.ID)
	}
	return row, nil
}
