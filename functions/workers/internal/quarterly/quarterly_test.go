package quarterly_test

import (
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	from, to, err := quarterly.Span("2026-Q4")
	if err != nil || from.Format(time.DateOnly) != "2026-10-01" || to.Format(time.DateOnly) != "2027-01-01" {
		t.Errorf("%v to %v, %v", from, to, err)
	}
	for _, text := range []string{"", "2026", "2026-Q0", "2026-Q5", "Q3-2026", "x-Q1", "2026-Q", "26-Q1"} {
		if _, _, err := quarterly.Span(text); err == nil {
			t.Errorf("%q is a quarter", text)
		}
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now, before int
		want        float64
	}{{13, 10, 30}, {2, 3, -33.3}, {0, 0, 0}, {4, 0, 100}, {0, 9, -100}} {
		if got := quarterly.Percent(c.now, c.before); got != c.want {
			t.Errorf("from %d to %d: %v, want %v", c.before, c.now, got, c.want)
		}
	}
}
