// Package readiness is the list of what should hold before a loop works for
// real (R74): each line with its proof, or with what is missing. What follows
// from the declarations is checked here; what only operation can show (a drill,
// an alert that reached a person, a breaker) is asked of a Record, and unknown
// without one. Nothing is taken for granted.
package readiness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/exposure"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// Status is how a line stands.
type Status string

// The statuses.
const (
	// Held: the proof is given.
	Held Status = "held"
	// Missing: something has to be done, and the line says what.
	Missing Status = "missing"
	// Unknown: nothing is on record either way.
	Unknown Status = "unknown"
)

// Line is one point of the list.
type Line struct {
	// ID is stable: schemas, order, machine, failure_rules, breaker, fallback,
	// resumability, approvals, budget, access, drill, alert, baseline, owner.
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Asks is the question in words.
	Asks string `json:"asks"`
	// Says is the proof, or what is missing and how to get it.
	Says string `json:"says"`
}

// ErrNotOnRecord says that a thing did not happen as far as is known.
var ErrNotOnRecord = errors.New("not on record")

// Record is what operation has shown. Each answers ErrNotOnRecord where
// nothing is known; other errors are passed on.
type Record interface {
	// Drill is the last drill of a loop that passed at a version.
	Drill(ctx context.Context, loop string, version int) (Proof, error)
	// Alert is the last alert to a group that a person has confirmed.
	Alert(ctx context.Context, group string) (Proof, error)
	// Breaker is the state of a worker's breaker: closed, open or half-open.
	Breaker(ctx context.Context, worker string) (string, error)
}

// Proof is when something was shown, and by whom.
type Proof struct {
	At time.Time
	By string
}

// Question is whose readiness is asked. Loop is required.
type Question struct {
	Loop *loop.Definition
	// Machine is the committed machine, Fresh the one compiled now; nil Machine:
	// not compiled.
	Machine, Fresh []byte
	// Fields are the project's sensitive fields, as package exposure lists them.
	Fields []exposure.Field
	// Record is nil where no record is kept.
	Record Record
}

// Check answers all lines, in the order of the list. Errors are the Record's.
func Check(ctx context.Context, q Question) ([]Line, error) {
	c := checker{q.Loop}
	lines := []Line{
		c.schemas(), c.order(), machine(q), c.failures(), c.fallback(), c.resumability(), c.approvals(), c.budget(), c.access(q.Fields),
		c.baseline(), c.owner(),
	}
	for _, ask := range []func(context.Context, Question) (Line, error){breaker, drill, alert} {
		line, err := ask(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("checking %s: %w", line.ID, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// Ready tells whether every line holds.
func Ready(lines []Line) bool {
	for _, line := range lines {
		if line.Status != Held {
			return false
		}
	}
	return true
}

// held and lacking make a line's answer.
func (l Line) held(format string, args ...any) Line {
	l.Status, l.Says = Held, fmt.Sprintf(format, args...)
	return l
}

func (l Line) lacking(format string, args ...any) Line {
	l.Status, l.Says = Missing, fmt.Sprintf(format, args...)
	return l
}

func (l Line) unknown(format string, args ...any) Line {
	l.Status, l.Says = Unknown, fmt.Sprintf(format, args...)
	return l
}
