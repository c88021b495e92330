// Package brandrules is the worker brand-rules: it reads the brand's rules from
// the campaign desk.
package brandrules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/campaign"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Worker is brand-rules. Its output is the fact brand/rules.
var Worker = worker.New("brand-rules", 1, read)

func read(_ context.Context, t worker.Task[struct{}]) (worker.Result[campaign.Brand], error) {
	var res worker.Result[campaign.Brand]
	desk, err := folder.Of(t.Connection("desk"))
	if err != nil {
		return res, err
	}
	content, err := desk.Read("brand.json")
	if errors.Is(err, fs.ErrNotExist) {
		return res, worker.MissingInput("%w", err)
	}
	if err != nil {
		return res, err
	}
	if err := json.Unmarshal(content, &res.Output); err != nil {
		return res, worker.MissingInput("brand.json: %w", err)
	}
	res.Confidence, res.Reason = worker.High, fmt.Sprintf("%d forbidden words.", len(res.Output.Forbidden))
	return res, nil
}
