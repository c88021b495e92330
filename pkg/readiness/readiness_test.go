package readiness

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

// record is what operation has shown, in a test.
type record struct {
	drills, alerts map[string]Proof
	breakers       map[string]string
	err            error
}

func (r record) Drill(_ context.Context, loop string, _ int) (Proof, error) {
	return found(r, r.drills, loop)
}

func (r record) Alert(_ context.Context, group string) (Proof, error) {
	return found(r, r.alerts, group)
}

func (r record) Breaker(_ context.Context, worker string) (string, error) {
	return found(r, r.breakers, worker)
}

func found[T any](r record, in map[string]T, key string) (T, error) {
	v, ok := in[key]
	if r.err != nil {
		return v, r.err
	}
	if !ok {
		return v, ErrNotOnRecord
	}
	return v, nil
}

func question(t *testing.T) Question {
	t.Helper()
	p, problems := project.Open("../..")
	d, ok := p.Loop("crm-followup")
	if !ok {
		t.Fatal(problems)
	}
	machine, err := compile.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	copied := *d
	return Question{Loop: &copied, Machine: machine, Fresh: machine}
}

func check(t *testing.T, q Question) map[string]Line {
	t.Helper()
	lines, err := Check(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]Line{}
	for _, line := range lines {
		if line.Says == "" || line.Asks == "" || byID[line.ID].ID != "" {
			t.Errorf("the line %+v is empty or double", line)
		}
		byID[line.ID] = line
	}
	return byID
}

// R74: every line of the list has its proof or says what is missing.
func TestEveryLineIsAnswered(t *testing.T) {
	t.Parallel()
	lines := check(t, question(t))
	for _, id := range []string{"schemas", "order", "failure_rules", "breaker", "fallback", "resumability", "access", "drill", "alert", "baseline", "owner", "machine", "approvals", "budget"} {
		if lines[id].ID == "" {
			t.Errorf("the list lacks %s", id)
		}
	}
	for _, id := range []string{"breaker", "drill", "alert"} {
		if lines[id].Status != Unknown {
			t.Errorf("without a record %s is %s", id, lines[id].Status)
		}
	}
}

// Each line turns when what it asks for turns.
func TestLinesTurn(t *testing.T) {
	t.Parallel()
	day := Proof{At: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), By: "lead"}
	for _, c := range []struct {
		name, line string
		change     func(*Question)
		status     Status
		says       string
	}{
		{"a baseline", "baseline", func(q *Question) {
			l := *q.Loop.Loop
			l.Baseline = &loop.Baseline{Minutes: 45, Failures: quantity.Percent(1000), Cleanup: 30}
			q.Loop.Loop = &l
		}, Held, "45 minutes"},
		{"no baseline", "baseline", func(q *Question) {
			l := *q.Loop.Loop
			l.Baseline = nil
			q.Loop.Loop = &l
		}, Missing, "baseline: {minutes"},
		{"an owner alone", "owner", owners("lead"), Missing, "lead alone"},
		{"an owner and a deputy", "owner", owners("lead", "deputy"), Held, "lead, deputy"},
		{"no machine", "machine", func(q *Question) { q.Machine = nil }, Missing, "outerloop compile crm-followup"},
		{"a stale machine", "machine", func(q *Question) { q.Machine = []byte("{}") }, Missing, "stale"},
		{"a passed drill", "drill", func(q *Question) { q.Record = record{drills: map[string]Proof{"crm-followup": day}} }, Held, "2026-11-30 09:00:00 UTC by lead"},
		{"no drill", "drill", func(q *Question) { q.Record = record{} }, Missing, "outerloop drill crm-followup"},
		{"a confirmed alert", "alert", func(q *Question) { q.Record = record{alerts: map[string]Proof{"sales-ops": day}} }, Held, "by lead"},
		{"no alert", "alert", func(q *Question) { q.Record = record{} }, Missing, "sales-ops"},
		{"an open breaker", "breaker", func(q *Question) { q.Record = record{breakers: map[string]string{"mailer": "open"}} }, Missing, "mailer is open"},
		{"a step that halts", "fallback", func(*Question) {}, Missing, "scan"},
		{"actions", "resumability", func(*Question) {}, Held, "unknown outcome: 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := question(t)
			c.change(&q)
			line := check(t, q)[c.line]
			if line.Status != c.status || !strings.Contains(line.Says, c.says) {
				t.Errorf("%s: %s, want %s and %q", line.Status, line.Says, c.status, c.says)
			}
		})
	}
}

func owners(members ...string) func(*Question) {
	return func(q *Question) {
		p := *q.Loop.Project
		p.Groups = []registry.Group{{Name: q.Loop.Loop.Owner, Members: members}}
		q.Loop.Project = &p
	}
}

// A record that cannot be read is an error, not an answer.
func TestBrokenRecord(t *testing.T) {
	t.Parallel()
	q := question(t)
	q.Record = record{err: os.ErrPermission}
	if _, err := Check(context.Background(), q); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
}
