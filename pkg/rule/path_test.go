package rule_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// A lone reference means the same whether it is read directly or by CEL (which spaces around it ask for).
func TestLoneReferencesAreWhatCELMakesOfThem(t *testing.T) {
	t.Parallel()
	e, vars := environment(t), data(t)
	for _, source := range []string{
		"scan", "scan.read", "scan.total", "scan.note", "scan.maybe", "scan.rates.USD", "scan.rates.CHF", "scan.counts", "scan.best.name", "run.as_of",
		"run", "about.scan.ended_at", "about.send.ended_at", "about.send.status", "about.scan.attempts", "draft", "draft.result", "send.message_id", "any", "any.n",
		"event.body.created", "event.headers.x", "qualify.score", "qualify.resutl", "nothing", "scan.read.x", "scan.in", "long", "scan.stale",
	} {
		direct, directFaults := e.Compile(source)
		through, faults := e.Compile(" " + source)
		if (faults == nil) != (directFaults == nil) {
			t.Errorf("%s: %v and %v", source, directFaults, faults)
			continue
		}
		if faults != nil {
			if directFaults[0].Message != faults[0].Message {
				t.Errorf("%s: %v and %v", source, directFaults, faults)
			}
			continue
		}
		if a, b := direct.Type().String(), through.Type().String(); a != b || direct.Optional() != through.Optional() {
			t.Errorf("%s: %s %v and %s %v", source, a, direct.Optional(), b, through.Optional())
		}
		if a, b := direct.References()[0].String(), through.References()[0].String(); a != b {
			t.Errorf("%s: %s and %s", source, a, b)
		}
		a, errA := direct.Eval(context.Background(), vars)
		b, errB := through.Eval(context.Background(), vars)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
		var absentA, absentB *rule.AbsentError
		if errors.As(errA, &absentA) != errors.As(errB, &absentB) || (errA == nil) != (errB == nil) || absentA != nil && (absentA.Root != absentB.Root || !strings.HasSuffix(absentA.Path, absentB.Path)) { // in maps CEL tells the last name only
			t.Errorf("%s: %v and %v", source, errA, errB)
		}
	}
}

func TestNamesMustBeUsable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"loop", "in", "follow-up", "1st", ""} {
		if _, err := rule.NewEnv(rule.Config{Names: map[string]*schema.Type{name: schema.Scalar(schema.Any)}}); err == nil || !strings.Contains(err.Error(), "cannot be used in rules") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
