package outerloop_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop"
)

// One loop and subject give one id (R38), others another, and the longest name
// leaves room for a generation in an execution's 80 characters.
func TestRunID(t *testing.T) {
	t.Parallel()
	id := outerloop.RunID("crm-followup", "2026-11-30")
	if id != outerloop.RunID("crm-followup", "2026-11-30") {
		t.Error("the same run has two ids")
	}
	if id == outerloop.RunID("crm-followup", "2026-12-01") || id == outerloop.RunID("crm", "followup2026-11-30") {
		t.Error("two runs have one id")
	}
	if long := outerloop.RunID(strings.Repeat("x", 200), "s") + "-g99999"; len(long) > 80 {
		t.Errorf("an execution's name would have %d characters", len(long))
	}
}

// What FormatItem writes, ParseItem reads; nothing else is an address.
func TestItemAddresses(t *testing.T) {
	t.Parallel()
	for _, items := range [][]int{nil, {0}, {3}, {3, 12}, {49999, 0, 7}} {
		got, err := outerloop.ParseItem(outerloop.FormatItem(items))
		if err != nil || !slices.Equal(got, items) {
			t.Errorf("%v came back as %v, %v", items, got, err)
		}
	}
	for _, bad := range []string{".", "x.", "3..", "-1.", "3.x."} {
		if _, err := outerloop.ParseItem(bad); err == nil {
			t.Errorf("%q was taken for an address", bad)
		}
	}
}
