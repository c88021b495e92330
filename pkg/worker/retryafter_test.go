package worker_test

import (
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"30": 30 * time.Second, " 1 ": time.Second, "0": 0, "": 0, "-5": 0, "soon": 0, "1.5": 0,
		"Mon, 30 Nov 2026 07:02:00 GMT": 2 * time.Minute, "Monday, 30-Nov-26 07:02:00 GMT": 2 * time.Minute,
		"Mon Nov 30 07:02:00 2026": 2 * time.Minute, "Mon, 30 Nov 2026 06:59:59 GMT": 0,
		"86401": 24 * time.Hour, "9223372036854775807": 24 * time.Hour, "99999999999999999999": 0,
		"Mon, 30 Nov 2099 07:02:00 GMT": 24 * time.Hour,
	} {
		got := worker.RetryAfter(header, now)
		if want == 0 && !got.IsZero() || want > 0 && !got.Equal(now.Add(want)) {
			t.Errorf("%q: %s, want %s from now", header, got, want)
		}
	}
}
