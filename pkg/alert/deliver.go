package alert

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

const (
	// inHand is how long a message belongs to whoever took it; then it is sent again.
	inHand = time.Minute
	// maxTries is how often a message is tried before it is given up.
	maxTries = 6
	// firstWait is the time before the second try; it doubles, up to longestWait,
	// which also bounds what a channel may ask for.
	firstWait   = 10 * time.Second
	longestWait = 30 * time.Minute
)

// Delivered says what a round came to.
type Delivered struct {
	Sent, Failed int
	// Next is when something is due next; zero: nothing waits.
	Next time.Time
}

// Deliver sends what is due, one message after the other, and returns at the
// context's end. Several may deliver at once: a message is taken in hand by a
// conditional write. The error joins what the store said; a channel's failures
// are no error, they are tried again later and are in the log.
func (d *Desk) Deliver(ctx context.Context) (Delivered, error) {
	var out Delivered
	var failed []error
	now := d.now()
	due, err := d.due(ctx, now)
	if err != nil {
		return out, err
	}
	for _, key := range due {
		if ctx.Err() != nil {
			break
		}
		sent, err := d.sendLane(ctx, key)
		switch {
		case errors.Is(err, store.ErrCondition): // somebody else has it
		case err != nil:
			failed = append(failed, err)
		case sent:
			out.Sent++
		default:
			out.Failed++
		}
	}
	if ctx.Err() != nil {
		return out, errors.Join(failed...)
	}
	first, err := d.cfg.Store.List(ctx, store.Query{Index: store.ByDue, Part: duePart, Limit: 1})
	if err == nil && len(first.Items) > 0 && first.Items[0].Due != nil {
		stamp, _, _ := strings.Cut(first.Items[0].Due.Sort, "#")
		out.Next, err = time.Parse("2006-01-02T15:04:05.000Z", stamp)
	}
	return out, errors.Join(append(failed, err)...)
}

// due are the lanes that are due, at most a page of them.
func (d *Desk) due(ctx context.Context, now time.Time) ([]store.Key, error) {
	page, err := d.cfg.Store.List(ctx, store.Query{Index: store.ByDue, Part: duePart, To: store.TimeKey(now.Add(time.Millisecond))})
	if err != nil {
		return nil, fmt.Errorf("listing alerts: %w", err)
	}
	var keys []store.Key
	for _, item := range page.Items {
		keys = append(keys, item.Key)
	}
	return keys, nil
}

// sendLane takes a lane's message in hand, sends it, and notes what came of it.
func (d *Desk) sendLane(ctx context.Context, key store.Key) (bool, error) {
	l, err := d.take(ctx, key)
	if err != nil {
		return false, err
	}
	m := d.message(l)
	sendErr := d.channel(l.Channel).Send(ctx, m)
	if sendErr != nil && ctx.Err() != nil {
		return false, nil //nolint:nilerr // whoever looks after inHand sends it
	}
	return sendErr == nil, d.note(ctx, key, m, sendErr)
}

// take takes a lane in hand; store.ErrCondition: it is not due, or somebody else has it.
func (d *Desk) take(ctx context.Context, key store.Key) (*lane, error) {
	items, err := d.cfg.Store.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("reading alerts: %w", err)
	}
	l, err := decodeLane(items[0])
	now := d.now()
	if err != nil {
		return nil, err
	}
	if l == nil || l.Due.IsZero() || l.Due.After(now) {
		return nil, store.ErrCondition
	}
	if l.Taken == 0 { // else it is the message that was under way before
		l.Taken, l.TakenMore, l.Number = len(l.Waiting), l.More, l.Number+1
	}
	l.Tries++
	l.Due = now.Add(inHand)
	op, err := l.put()
	if err != nil {
		return nil, err
	}
	return l, d.write(ctx, op)
}

func (d *Desk) message(l *lane) Message {
	lines := l.Waiting[:l.Taken]
	m := Message{
		ID:    record.ShortID(l.Group, l.Channel, l.Incident, fmt.Sprint(l.Number)),
		Group: l.Group, Subject: d.subject(lines, l.TakenMore), Lines: lines, More: l.TakenMore, At: d.now(),
	}
	if d.cfg.Project == nil {
		return m
	}
	if g, known := d.cfg.Project.Group(l.Group); known {
		for _, name := range g.Members {
			if p, known := d.cfg.Project.Person(name); known {
				m.To = append(m.To, p.Email)
			}
		}
	}
	return m
}

// note writes what became of the message; lines that came meanwhile stay.
func (d *Desk) note(ctx context.Context, key store.Key, m Message, failure error) error {
	for range attempts {
		items, err := d.cfg.Store.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("reading alerts: %w", err)
		}
		l, err := decodeLane(items[0])
		if err != nil || l == nil || d.message(l).ID != m.ID || l.Taken == 0 {
			return err // another process has noted it
		}
		d.judge(l, failure)
		op, err := l.put()
		if err != nil {
			return err
		}
		if err = d.write(ctx, op); !errors.Is(err, store.ErrCondition) {
			return err
		}
	}
	return nil // it is sent again after inHand, under the same id
}

// judge decides what a lane does after a try.
func (d *Desk) judge(l *lane, failure error) {
	now := d.now()
	if failure == nil {
		l.done(now, d.cfg.Quiet)
		return
	}
	l.Fault = cut(failure.Error(), maxText)
	if l.Tries >= maxTries || errors.Is(failure, ErrRefused) {
		for _, line := range l.Waiting[:l.Taken] {
			d.cfg.Log.Error("an alert could not be sent", "group", l.Group, "channel", l.Channel, "tries", l.Tries, "why", l.Fault, "alert", line.sentence())
		}
		l.done(now, d.cfg.Quiet)
		return
	}
	wait := min(firstWait<<(l.Tries-1), longestWait)
	l.Due = now.Add(wait)
	var later *LaterError
	if errors.As(failure, &later) && later.Until.After(l.Due) {
		l.Due = later.Until
		if most := now.Add(longestWait); l.Due.After(most) {
			l.Due = most
		}
	}
	d.cfg.Log.Warn("an alert is sent again later", "group", l.Group, "channel", l.Channel, "try", l.Tries, "why", l.Fault, "at", l.Due)
}
