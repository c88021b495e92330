package topicsummary_test

import (
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/quarterly"
	topicsummary "github.com/outerloop-dev/outerloop/functions/workers/topic-summary"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func TestCountsByTheme(t *testing.T) {
	t.Parallel()
	in := topicsummary.Input{Topic: "patents", Quarter: "2026-Q3",
		Current: []quarterly.Record{{ID: "a", Theme: "x", Weight: 1}, {ID: "b", Theme: "y", Weight: 9}, {ID: "c", Theme: "y", Weight: 9}, {ID: "d", Theme: "y", Weight: 3}},
		Before:  []quarterly.Record{{ID: "e", Theme: "z"}, {ID: "f", Theme: "x"}},
	}
	out := workertest.Output[quarterly.Topic](t, workertest.Run(t, topicsummary.Worker, in, workertest.Setup{}))
	if out.Total != 4 || out.Before != 2 || out.Change != 100 || len(out.Themes) != 3 || out.Themes[0] != (quarterly.Theme{Theme: "y", Count: 3}) || out.Themes[2].Theme != "z" {
		t.Errorf("%+v", out)
	}
	if len(out.Highlights) != 3 || out.Highlights[0].ID != "b" || out.Highlights[1].ID != "c" || out.Highlights[2].ID != "d" {
		t.Errorf("%+v", out.Highlights)
	}
}
