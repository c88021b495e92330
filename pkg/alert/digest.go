package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Readers is what a digest is made of; a *coordinator.Coordinator has them.
type Readers interface {
	Runs(ctx context.Context, q coordinator.RunsQuery) ([]coordinator.RunView, error)
	Approvals(ctx context.Context, q coordinator.ApprovalsQuery) ([]coordinator.ApprovalView, error)
	Exceptions(ctx context.Context, q coordinator.ExceptionsQuery) ([]coordinator.ExceptionView, error)
}

// Digest keeps the daily summaries whose time has come, for the groups that
// declare one: what ended since the last, and what waits for them. It is kept
// once a day, whoever asks how often; a group that has nothing to read gets
// none. owner gives a loop's group, empty where it is not known.
func (d *Desk) Digest(ctx context.Context, from Readers, owner func(loop string) string) error {
	if d.cfg.Project == nil {
		return nil
	}
	var failed []error
	for _, g := range d.cfg.Project.Groups {
		if g.Digest != "" {
			failed = append(failed, d.digest(ctx, g, from, owner))
		}
	}
	return errors.Join(failed...)
}

// digested is what is kept of a group's digests.
type digested struct {
	Last time.Time `json:"last"`
}

func (d *Desk) digest(ctx context.Context, g registry.Group, from Readers, owner func(string) string) error {
	slot, err := d.slot(g)
	if err != nil {
		return err
	}
	key := store.Key{Part: "DIGEST", Sort: g.Name}
	items, err := d.cfg.Store.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("reading the digest of %s: %w", g.Name, err)
	}
	next := store.Item{Key: key}
	if next.Body, err = json.Marshal(digested{Last: slot}); err != nil {
		return err
	}
	if items[0] == nil { // from now on: what was before is no news
		return ignoreLost(d.write(ctx, store.Create(next)))
	}
	var last digested
	if err := json.Unmarshal(items[0].Body, &last); err != nil {
		return fmt.Errorf("reading the digest of %s: %w", g.Name, err)
	}
	if !slot.After(last.Last) {
		return nil
	}
	text, err := d.summary(ctx, g, period{last.Last, from, owner})
	if err != nil {
		return err
	}
	next.Version = items[0].Version
	op := store.Replace(next)
	if text == "" {
		return ignoreLost(d.write(ctx, op))
	}
	day := slot.Format(time.DateOnly)
	line := Line{Kind: "digest", ID: g.Name + " " + day, Text: text, At: d.now(), Command: d.cfg.Commands + " approvals, " + d.cfg.Commands + " exceptions"}
	return ignoreLost(d.keep(ctx, entry{group: g.Name, id: "digest\x00" + day, incident: "digest " + day, line: line, more: []store.Op{op}}))
}

func ignoreLost(err error) error {
	if errors.Is(err, store.ErrCondition) {
		return nil // somebody else was quicker
	}
	return err
}

// slot is the latest time of the group's digest that has come.
func (d *Desk) slot(g registry.Group) (time.Time, error) {
	zone, err := schedule.Zone(d.cfg.Project.Zone)
	if err != nil {
		return time.Time{}, fmt.Errorf("the digest of %s: %w", g.Name, err)
	}
	clock, err := time.Parse("15:04", g.Digest)
	if err != nil {
		return time.Time{}, fmt.Errorf("the digest of %s: %w", g.Name, err)
	}
	now := d.now().In(zone)
	at := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, zone)
	if at.After(now) {
		at = time.Date(now.Year(), now.Month(), now.Day()-1, clock.Hour(), clock.Minute(), 0, 0, zone)
	}
	return at.UTC(), nil
}

// period is what a digest looks at.
type period struct {
	since time.Time
	from  Readers
	owner func(string) string
}

// digestRuns bounds the runs that one digest counts.
const digestRuns = 1000

// summary words what happened and what waits; empty: nothing.
func (d *Desk) summary(ctx context.Context, g registry.Group, p period) (string, error) {
	runs, err := p.from.Runs(ctx, coordinator.RunsQuery{Limit: digestRuns})
	if err != nil {
		return "", fmt.Errorf("reading runs for the digest: %w", err)
	}
	counts := map[string]int{}
	for _, r := range runs {
		if p.owner(r.Loop) == g.Name && r.EndedAt != nil && r.EndedAt.After(p.since) {
			counts[r.Loop+" "+string(r.Status)]++
		}
	}
	var parts []string
	for _, name := range sorted(counts) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	approvals, err := p.from.Approvals(ctx, coordinator.ApprovalsQuery{})
	if err != nil {
		return "", fmt.Errorf("reading approvals for the digest: %w", err)
	}
	waiting := 0
	for _, a := range approvals {
		if slices.Contains(a.Approvers, g.Name) {
			waiting++
		}
	}
	exceptions, err := p.from.Exceptions(ctx, coordinator.ExceptionsQuery{})
	if err != nil {
		return "", fmt.Errorf("reading exceptions for the digest: %w", err)
	}
	open := 0
	for _, e := range exceptions {
		if e.Owner == g.Name {
			open++
		}
	}
	if waiting > 0 {
		parts = append(parts, fmt.Sprintf("approvals that wait %d", waiting))
	}
	if open > 0 {
		parts = append(parts, fmt.Sprintf("open exceptions %d", open))
	}
	return strings.Join(parts, "; "), nil
}

func sorted(counts map[string]int) []string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
