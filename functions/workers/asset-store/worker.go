// Package assetstore is the worker asset-store: it files a campaign's draft
// where people find it.
package assetstore

import (
	"context"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Campaign string         `json:"campaign"`
	Draft    campaign.Draft `json:"draft"`
}

// Output is the asset (schemas/output.json).
type Output struct {
	ID string `json:"id"`
}

// Connection is where assets are kept, one record each.
const Connection = "assets"

// asset is a record of the store, and the action's result.
type asset struct {
	ID string `json:"id"`
	Input
}

// Worker is asset-store.
var Worker = worker.New("asset-store", 1, file, worker.WithVerify(outside.Verify[asset](Connection)))

func file(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	made, evidence, err := outside.Do(ctx, t, Connection, func(a worker.Action) (asset, error) {
		return asset{"asset-" + outside.Key(a.ProviderKey)[:12], t.Input}, nil
	})
	if err != nil {
		return res, err
	}
	res.Output, res.Evidence = Output{made.ID}, evidence
	res.Confidence, res.Reason = worker.High, "The draft is filed."
	return res, nil
}
