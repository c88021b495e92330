package machines

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// keptVersions is how many of a machine's newest versions always stay.
const keptVersions = 5

// lookedRuns bounds how many closed runs are looked through for a redrive that
// may still come; with more of them nothing is retired.
const lookedRuns = 2000

// Retire deletes the versions of a loop's machine that nobody can need: not
// among the newest five, not released, and named by no definition that an open
// run, or a failed one that may be redriven, has pinned. It answers what it deleted.
func (p Publisher) Retire(ctx context.Context, loopName, machine string, v Versions) (deleted []string, err error) {
	versions, err := v.list(ctx, machine)
	if err != nil || len(versions) <= keptVersions {
		return nil, err
	}
	needed, known, err := p.needed(ctx, loopName)
	if err != nil || !known {
		return nil, err
	}
	for _, version := range versions[keptVersions:] {
		if needed[version] {
			continue
		}
		if _, err := v.Client.DeleteStateMachineVersion(ctx, &sfn.DeleteStateMachineVersionInput{StateMachineVersionArn: &version}); err != nil {
			return deleted, fmt.Errorf("deleting version %s: %w", version, err)
		}
		deleted = append(deleted, version)
	}
	return deleted, nil
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
// known is false where there are too many runs to tell.
func (p Publisher) needed(ctx context.Context, loopName string) (versions map[string]bool, known bool, err error) {
	versions = map[string]bool{}
	latest, _, err := read[Latest](ctx, p.Store, LatestKey(loopName))
	if err != nil {
		return nil, false, err
	}
	if latest != nil {
		versions[latest.Machine] = true
	}
	pinned, err := p.pinned(ctx, loopName)
	if err != nil || pinned == nil {
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
	return versions, true, nil
}

// pinned are the definitions of runs that are open or may be redriven; nil:
// there are too many runs to tell.
func (p Publisher) pinned(ctx context.Context, loopName string) (map[string]bool, error) {
	open, err := p.openRuns(ctx, loopName)
	if err != nil {
		return nil, err
	}
	pinned, looked := map[string]bool{}, 0
	for _, run := range open {
		pinned[run.Definition] = true
	}
	for after := ""; ; {
		page, err := p.Store.List(ctx, store.Query{Index: store.ByList, Part: record.RunListPart(loopName, false), After: after})
		if err != nil {
			return nil, fmt.Errorf("listing the closed runs of %s: %w", loopName, err)
		}
		for _, item := range page.Items {
			var run struct {
				Definition string           `json:"definition"`
				Status     outerloop.Status `json:"status"`
			}
			if err := json.Unmarshal(item.Body, &run); err != nil {
				return nil, err
			}
			if run.Status != outerloop.StatusCompleted {
				pinned[run.Definition] = true
			}
		}
		looked += len(page.Items)
		switch after = page.Next; {
		case after == "":
			return pinned, nil
		case looked >= lookedRuns:
			return nil, nil
		}
	}
}
