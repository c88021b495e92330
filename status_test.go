package outerloop_test

import (
	"testing"

	"github.com/outerloop-dev/outerloop"
)

// Nothing leads out of completed, and only a redrive out of failed (R24).
func TestClosedRunsStayClosed(t *testing.T) {
	t.Parallel()
	for _, next := range outerloop.Statuses() {
		if outerloop.StatusCompleted.CanBecome(next) {
			t.Errorf("a completed run may become %s", next)
		}
		if got, want := outerloop.StatusFailed.CanBecome(next), next == outerloop.StatusInProgress; got != want {
			t.Errorf("failed to %s: %v, want %v", next, got, want)
		}
	}
	for _, s := range outerloop.Statuses() {
		if !s.Valid() || s.CanBecome(s) {
			t.Errorf("%s is not valid or becomes itself", s)
		}
	}
}

// Every class has one name in a machine and is found again by it; a crash and
// the engine's own time-out are timeouts, what is unknown is fatal.
func TestClassNames(t *testing.T) {
	t.Parallel()
	for _, class := range outerloop.Classes() {
		if got := outerloop.ClassOf(class.ErrorName()); got != class {
			t.Errorf("%s came back as %s", class, got)
		}
	}
	for name, want := range map[string]outerloop.Class{
		"States.Timeout": outerloop.ClassTimeout, outerloop.ErrorCrashed: outerloop.ClassTimeout, "anything": outerloop.ClassFatal,
	} {
		if got := outerloop.ClassOf(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
