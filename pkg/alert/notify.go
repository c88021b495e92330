package alert

import (
	"context"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// attempts is how often a write is decided again after it lost a race.
const attempts = 8

// Notify keeps an alert for its group's channels. It writes to the store and
// waits for nothing else; Deliver sends. What was told before (same kind, ID and
// Since) is not kept again. It is a coordinator.Notify: an alert that cannot be
// kept goes to the log in full.
func (d *Desk) Notify(ctx context.Context, a coordinator.Alert) {
	if err := d.Keep(ctx, a); err != nil {
		d.cfg.Log.Error("an alert could not be kept", "group", a.To, "kind", a.Kind, "id", a.ID, "run", a.Run, "text", a.Text, "err", err)
	}
}

// Keep is Notify with its error: the store's.
func (d *Desk) Keep(ctx context.Context, a coordinator.Alert) error {
	id := a.Kind + "\x00" + a.ID
	if !a.Since.IsZero() {
		id += "\x00" + store.TimeKey(a.Since)
	}
	return d.keep(ctx, entry{group: a.To, id: id, incident: incident(a), line: d.lineOf(a)})
}

// entry is one thing to tell a group.
type entry struct {
	group, id, incident string
	line                Line
	// more are operations of the same write.
	more []store.Op
}

// keep writes the entry into the lanes of its group, once.
func (d *Desk) keep(ctx context.Context, e entry) error {
	for range attempts {
		err := d.keepOnce(ctx, e)
		if !errors.Is(err, store.ErrCondition) {
			return err
		}
	}
	return fmt.Errorf("keeping an alert for %s: changed too often at the same time", e.group)
}

func (d *Desk) keepOnce(ctx context.Context, e entry) error {
	names := d.channels(e.group)
	keys := []store.Key{toldKey(e.group, e.id)}
	for _, name := range names {
		keys = append(keys, laneKey(e.group, name, e.incident))
	}
	items, err := d.cfg.Store.Get(ctx, keys...)
	if err != nil {
		return fmt.Errorf("reading alerts: %w", err)
	}
	if items[0] != nil {
		return nil
	}
	now := d.now()
	ops := append([]store.Op{store.Create(store.Item{Key: keys[0], Expires: now.Add(keptFor).Unix()})}, e.more...)
	for i, name := range names {
		l, err := decodeLane(items[i+1])
		if err != nil {
			return err
		}
		if l == nil {
			l = &lane{Group: e.group, Channel: name, Incident: e.incident}
		}
		l.add(e.line, now)
		op, err := l.put()
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	return d.write(ctx, ops...)
}

// write does the operations once; a lost answer is asked for again under the same id.
func (d *Desk) write(ctx context.Context, ops ...store.Op) error {
	id := d.cfg.IDs()
	for sent := 0; ; sent++ {
		err := d.cfg.Store.Write(ctx, id, ops...)
		switch {
		case err == nil || store.Won(err):
			return nil
		case sent < attempts && ctx.Err() == nil && (errors.Is(err, store.ErrThrottled) || errors.Is(err, store.ErrOutcomeUnknown)):
			continue
		}
		return err
	}
}
