// Package crmscan is the worker crm-scan: it reads a CRM export from end to end
// and finds the deals that nobody has touched for a while. Every row is
// accounted for: it is open, closed, or rejected with a reason. An export of
// which no row can be used is missing input.
package crmscan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	File       string                 `json:"file"`
	AsOf       string                 `json:"as_of"`
	StaleAfter string                 `json:"stale_after"`
	EUR        map[string]json.Number `json:"eur"`
}

// Output is the worker's output (schemas/output.json).
type Output struct {
	Read     int         `json:"read"`
	Open     int         `json:"open"`
	Closed   int         `json:"closed"`
	Rejected []Rejection `json:"rejected"`
	Stale    []crm.Deal  `json:"stale"`
	Totals   crm.Totals  `json:"totals"`
}

// Rejection is a row that could not be used.
type Rejection struct {
	// Row is the row as a spreadsheet shows it: the header is row 1.
	Row int `json:"row"`
	// Column is the first column at fault; empty when it is the row itself.
	Column string `json:"column"`
	Reason string `json:"reason"`
}

// Worker is crm-scan.
var Worker = worker.New("crm-scan", 1, scan, worker.WithCheck(Check))

// sizeLimit is the largest export that is accepted: about 400,000 deals.
const sizeLimit = 64 << 20

// Check reads a file once as a scan would and says why it is not an export.
// Rows that a scan would reject are no reason.
func Check(ctx context.Context, in worker.CheckInput) error {
	err := check(ctx, in.File)
	var unusable *crm.FileError
	if errors.As(err, &unusable) {
		return fmt.Errorf("%s %w", in.Name, unusable)
	}
	return err
}

func check(ctx context.Context, file worker.File) error {
	export, err := crm.Open(file, file.Size())
	if err != nil {
		return err
	}
	if file.Size() > sizeLimit {
		return &crm.FileError{Reason: fmt.Sprintf("is larger than %d MB; export fewer deals at a time", sizeLimit>>20)}
	}
	for rows := 0; ; {
		_, err := export.Next()
		var row *crm.RowError
		switch {
		case errors.Is(err, io.EOF) && rows == 0:
			return &crm.FileError{Reason: "has no rows below its header"}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.As(err, &row):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		rows++
	}
}

func scan(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	s, err := newScanner(t.Input)
	if err != nil {
		return res, err
	}
	file, err := t.File(ctx, "file")
	if err != nil {
		return res, err
	}
	defer func() { _ = file.Close() }()
	if err := s.scan(ctx, file); err != nil {
		var unusable *crm.FileError
		if errors.As(err, &unusable) {
			return res, worker.MissingInput("the export %w", unusable)
		}
		return res, err
	}
	if len(s.rejected) == s.read {
		return res, worker.MissingInput("none of the %d rows of the export can be used: %s", s.read, s.faults())
	}
	res.Output = s.output()
	res.Confidence, res.Reason = worker.High, "Every row was read by fixed rules."
	res.Evidence = []worker.Evidence{{
		Claim:  fmt.Sprintf("%d of %d rows are stale deals", len(res.Output.Stale), res.Output.Read),
		Source: "input.file", At: fmt.Sprintf("rows 2 to %d", s.last),
	}}
	res.Decisions = append(s.decisions(),
		fmt.Sprintf("A deal is stale from %d days without activity, counted to %s.", s.staleAfter, t.Input.AsOf))
	if n := len(s.rejected); n > 0 {
		res.Reason = fmt.Sprintf("Every row was read by fixed rules; %d of %d were rejected.", n, s.read)
		res.Unresolved = []string{fmt.Sprintf("Who corrects the %d of %d rows that were rejected? %s", n, s.read, s.faults())}
	}
	return res, nil
}
