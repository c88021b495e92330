package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// keptVersions is how many of a machine's newest versions always stay.
const keptVersions = 5

// lookedRuns bounds how many closed runs are looked through for a redrive that
// may still come. With more of them, so many of the newest versions stay as
// boundVersions says: a machine may have 1,000, and a deployment that finds no
// room for another fails.
const (
	lookedRuns    = 2000
	boundVersions = 500
)

// Retire deletes the versions of a loop's machine that nobody can need: not
// among the newest five, not released, and named by no definition that an open
// run, or a failed one that may be redriven, has pinned. Where too many runs are
// closed to tell which may be redriven, it deletes what is not among the newest
// 500, not released and needed by no open run. A version that the alias, moved by
// hand, points at stays. It answers what it deleted.
func (p Publisher) Retire(ctx context.Context, loopName, machine string, v Versions) (deleted []string, err error) {
	versions, err := v.list(ctx, machine)
	if err != nil || len(versions) <= keptVersions {
		return nil, err
	}
	needed, known, err := p.needed(ctx, loopName)
	if err != nil {
		return nil, err
	}
	keep := keptVersions
	if !known {
		keep = min(boundVersions, len(versions))
	}
	var failed []error
	for _, version := range versions[keep:] {
		if needed[version] {
			continue
		}
		_, err := v.Client.DeleteStateMachineVersion(ctx, &sfn.DeleteStateMachineVersionInput{StateMachineVersionArn: &version})
		var pointedAt *types.ConflictException
		switch {
		case errors.As(err, &pointedAt):
		case err != nil:
			failed = append(failed, fmt.Errorf("deleting version %s: %w", version, err))
		default:
			deleted = append(deleted, version)
		}
	}
	return deleted, errors.Join(failed...)
}

// list are a machine's versions, newest first.
func (v Versions) list(ctx context.Context, machine string) ([]string, error) {
	var versions []string
	for token := (*string)(nil); ; {
		page, err := v.Client.ListStateMachineVersions(ctx, &sfn.ListStateMachineVersionsInput{StateMachineArn: &machine, NextToken: token})
		if err != nil {
			return nil, fmt.Errorf("listing the versions of %s: %w", machine, err)
		}
		for _, version := range page.StateMachineVersions {
			versions = append(versions, aws.ToString(version.StateMachineVersionArn))
		}
		if token = page.NextToken; token == nil {
			return versions, nil
		}
	}
}

// needed are the versions that runs may still start, and the released one;
// known is false where there are too many closed runs to tell: then they are
// those of open runs.
func (p Publisher) needed(ctx context.Context, loopName string) (versions map[string]bool, known bool, err error) {
	versions = map[string]bool{}
	latest, _, err := read[Latest](ctx, p.Store, LatestKey(loopName))
	if err != nil {
		return nil, false, err
	}
	if latest != nil {
		versions[latest.Machine] = true
	}
	pinned, known, err := p.pinned(ctx, loopName)
	if err != nil {
		return nil, false, err
	}
	for hash := range pinned {
		r, _, err := read[Record](ctx, p.Store, RecordKey(hash))
		if err != nil {
			return nil, false, err
		}
		if r != nil {
			versions[r.Machine] = true
		}
	}
	return versions, known, nil
}

// pinned are the definitions of runs that are open or may be redriven; known is
// false where there are too many closed runs to have looked at all.
func (p Publisher) pinned(ctx context.Context, loopName string) (pinned map[string]bool, known bool, err error) {
	open, err := p.openRuns(ctx, loopName)
	if err != nil {
		return nil, false, err
	}
	pinned = map[string]bool{}
	looked := 0
	for _, run := range open {
		pinned[run.Definition] = true
	}
	for after := ""; ; {
		page, err := p.Store.List(ctx, store.Query{Index: store.ByList, Part: record.RunListPart(loopName, false), After: after})
		if err != nil {
			return nil, false, fmt.Errorf("listing the closed runs of %s: %w", loopName, err)
		}
		for _, item := range page.Items {
			var run struct {
				Definition string           `json:"definition"`
				Status     outerloop.Status `json:"status"`
			}
			if err := json.Unmarshal(item.Body, &run); err != nil {
				return nil, false, err
			}
			if run.Status != outerloop.StatusCompleted {
				pinned[run.Definition] = true
			}
		}
		looked += len(page.Items)
		switch after = page.Next; {
		case after == "":
			return pinned, true, nil
		case looked >= lookedRuns:
			return pinned, false, nil
		}
	}
}
