package drill_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/drill"
	"github.com/outerloop-dev/outerloop/pkg/drill/drilltest"
)

// samples are the loops of this project.
func samples(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("../../statemachines/*.loop.yaml")
	if err != nil || len(paths) < 10 {
		t.Fatal(paths, err)
	}
	var names []string
	for _, path := range paths {
		base := filepath.Base(path)
		names = append(names, base[:len(base)-len(".loop.yaml")])
	}
	return names
}

// R40: every sample loop holds under every fault that it has a place for, and
// nothing is left behind.
func TestSamplesHold(t *testing.T) {
	left := temporary(t)
	t.Run("samples", func(t *testing.T) {
		for _, name := range samples(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				report := drilltest.Holds(t, "../..", name)
				held := 0
				for _, row := range report.Rows {
					if row.Held {
						held++
					}
				}
				if len(report.Rows) != 12 || held < 8 || report.Reached == 0 {
					t.Errorf("%d rows, %d held, %d of %d steps reached", len(report.Rows), held, report.Reached, report.Steps)
				}
			})
		}
	})
	if now := temporary(t); len(now) > len(left) {
		t.Errorf("left behind: %v", now)
	}
}

func temporary(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(os.TempDir(), "outerloop-drill-*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// R40: the same drill gives the same rows.
func TestDrillIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	first, second := drilltest.Holds(t, "../..", "month-end"), drilltest.Holds(t, "../..", "month-end")
	if !slices.Equal(first.Rows, second.Rows) {
		t.Errorf("%+v\n%+v", first.Rows, second.Rows)
	}
}

// R40: the drill sees what does not hold. A machine that does not catch a
// step's failure ends the run without the step's rule.
func TestDrillSeesABrokenMachine(t *testing.T) {
	t.Parallel()
	cfg, err := drilltest.Config("../..", "paper-digest")
	if err != nil {
		t.Fatal(err)
	}
	var machine map[string]any
	if err := json.Unmarshal(cfg.Loop.Machine, &machine); err != nil {
		t.Fatal(err)
	}
	search := machine["States"].(map[string]any)["search"].(map[string]any)
	for _, c := range search["Catch"].([]any) {
		if c := c.(map[string]any); c["Next"] == "search.rule" {
			c["ErrorEquals"] = []any{"Nobody.Says"}
		}
	}
	if cfg.Loop.Machine, err = json.Marshal(machine); err != nil {
		t.Fatal(err)
	}
	report, err := drill.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if report.Held() {
		t.Errorf("all held: %+v", report.Rows)
	}
	for _, row := range report.Rows {
		if row.ID == "missing_data" && row.Held || row.ID == "duplicate_trigger" && !row.Held {
			t.Errorf("%+v", row)
		}
	}
}

// R40: a step can be named; one that is not there is an error.
func TestDrillOfOneStep(t *testing.T) {
	t.Parallel()
	cfg, err := drilltest.Config("../..", "crm-followup")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Step = "follow_up/draft"
	report, err := drill.Run(t.Context(), cfg)
	if err != nil || !report.Held() {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, row := range report.Rows {
		if row.ID == "missing_data" && row.Expected != "not tried again, then done by the backup followup-template" {
			t.Errorf("%+v", row)
		}
	}
	cfg.Step = "nowhere"
	if _, err := drill.Run(t.Context(), cfg); !errors.Is(err, drill.ErrUnreached) {
		t.Errorf("a step that is not there: %v", err)
	}
}
