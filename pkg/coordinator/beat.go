package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// watchKey is where the watch says that it lives.
var watchKey = store.Key{Part: "WATCH", Sort: "WATCH"}

// BeatView is the last round of a deployment's watch; the zero time: it never went round.
type BeatView struct {
	At time.Time `json:"at,omitzero"`
	// Looked and Repaired count what the round looked at and repaired.
	Looked   int `json:"looked"`
	Repaired int `json:"repaired"`
	// Failed says what went wrong in it; empty: nothing did.
	Failed string `json:"failed,omitempty"`
}

// Beat records that a round of the watch has ended, for whoever asks whether it
// lives. failed is the round's error. A beat that loses a race is left out.
func (c *Coordinator) Beat(ctx context.Context, tick Tick, failed error) error {
	view := BeatView{At: c.now(), Looked: tick.Looked, Repaired: len(tick.Repaired)}
	if failed != nil {
		view.Failed = cut(failed.Error(), logText)
	}
	body, err := json.Marshal(view)
	if err != nil {
		return fmt.Errorf("recording the watch's round: %w", err)
	}
	items, err := c.cfg.Store.Get(ctx, watchKey)
	if err != nil {
		return fmt.Errorf("recording the watch's round: %w", err)
	}
	op := store.Create(store.Item{Key: watchKey, Body: body})
	if items[0] != nil {
		op = store.Replace(store.Item{Key: watchKey, Version: items[0].Version, Body: body})
	}
	if err := c.write(ctx, op); err != nil && !errors.Is(err, store.ErrCondition) {
		return fmt.Errorf("recording the watch's round: %w", err)
	}
	return nil
}

// LastBeat reads when the watch last went round.
func (c *Coordinator) LastBeat(ctx context.Context) (BeatView, error) {
	var view BeatView
	items, err := c.cfg.Store.Get(ctx, watchKey)
	if err == nil && items[0] != nil {
		err = json.Unmarshal(items[0].Body, &view)
	}
	if err != nil {
		return view, fmt.Errorf("reading the watch's last round: %w", err)
	}
	return view, nil
}
