package readiness

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// noRecord is what lines say that only operation can prove, where none is kept.
const noRecord = "no record is kept here"

func breaker(ctx context.Context, q Question) (Line, error) {
	l := Line{ID: "breaker", Asks: "Are the breakers of all workers closed?"}
	if q.Record == nil {
		return l.unknown("%s of breakers", noRecord), nil
	}
	names := make([]string, 0, len(q.Loop.Workers))
	for name := range q.Loop.Workers {
		names = append(names, name)
	}
	slices.Sort(names)
	var unknown, open []string
	for _, name := range names {
		state, err := q.Record.Breaker(ctx, name)
		switch {
		case errors.Is(err, ErrNotOnRecord):
			unknown = append(unknown, name)
		case err != nil:
			return l, err
		case state != "closed":
			open = append(open, name+" is "+state)
		}
	}
	switch {
	case len(open) > 0:
		return l.lacking("%s", strings.Join(open, ", ")), nil
	case len(unknown) > 0:
		return l.unknown("nothing is on record of %s", strings.Join(unknown, ", ")), nil
	}
	return l.held("%d workers, all closed", len(names)), nil
}

func drill(ctx context.Context, q Question) (Line, error) {
	l := Line{ID: "drill", Asks: "Has a drill passed at this version?"}
	name, version := q.Loop.Loop.Name, q.Loop.Loop.Version
	if q.Record == nil {
		return l.unknown("%s of drills", noRecord), nil
	}
	proof, err := q.Record.Drill(ctx, name, version)
	switch {
	case errors.Is(err, ErrNotOnRecord):
		return l.lacking("no drill of version %d is on record: outerloop drill %s --record --by YOUR-ADDRESS", version, name), nil
	case err != nil:
		return l, err
	}
	return l.held("%s", proof), nil
}

func alert(ctx context.Context, q Question) (Line, error) {
	group := q.Loop.Loop.Alert.To
	if group == "" {
		group = q.Loop.Loop.Owner
	}
	l := Line{ID: "alert", Asks: "Has a person received an alert of this loop's?"}
	if q.Record == nil {
		return l.unknown("%s of alerts to %s", noRecord, group), nil
	}
	proof, err := q.Record.Alert(ctx, group)
	switch {
	case errors.Is(err, ErrNotOnRecord):
		return l.lacking("nobody of %s has confirmed a test alert: outerloop doctor --alert %s", group, group), nil
	case err != nil:
		return l, err
	}
	return l.held("%s", proof), nil
}

// String says when, and by whom.
func (p Proof) String() string {
	at := p.At.UTC().Format(time.DateTime) + " UTC"
	if p.By == "" {
		return at
	}
	return at + " by " + p.By
}
