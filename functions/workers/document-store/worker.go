// Package documentstore is the worker document-store: it publishes a report.
package documentstore

import (
	"context"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Document quarterly.Document `json:"document"`
}

// Output is where the report stands (schemas/output.json).
type Output struct {
	URL string `json:"url"`
}

// Connection is where documents are published, one record each.
const Connection = "documents"

// published is a record of the store, and the action's result.
type published struct {
	URL      string             `json:"url"`
	Document quarterly.Document `json:"document"`
}

// Worker is document-store.
var Worker = worker.New("document-store", 1, publish, worker.WithVerify(outside.Verify[published](Connection)))

func publish(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	made, evidence, err := outside.Do(ctx, t, Connection, func(a worker.Action) (published, error) {
		return published{"https://docs.acme.example/reports/" + outside.Key(a.ProviderKey)[:12], t.Input.Document}, nil
	})
	if err != nil {
		return res, err
	}
	res.Output, res.Evidence = Output{made.URL}, evidence
	res.Confidence, res.Reason = worker.High, "The report is published."
	return res, nil
}
