package researchplanner_test

import (
	"strings"
	"testing"

	researchplanner "github.com/outerloop-dev/outerloop/functions/workers/research-planner"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func TestQuestionsBecomeSubtopics(t *testing.T) {
	t.Parallel()
	brief := "# Kites\n\nWe sell kites: soon.\n1. Wind: Where does it blow?\n2.\n3) Sails & lines : Which?\n- wind: again?\n* Empty:\n"
	o := workertest.Run(t, researchplanner.Worker, researchplanner.Input{Brief: brief}, workertest.Setup{})
	out := workertest.Output[researchplanner.Output](t, o)
	if out.Title != "Kites" || len(out.Subtopics) != 2 ||
		out.Subtopics[1] != (researchplanner.Topic{ID: "sails-lines", Title: "Sails & lines", Question: "Which?"}) {
		t.Errorf("%+v", out)
	}
	if said := strings.Join(o.Result.Decisions, " "); !strings.Contains(said, "Line 5 asks nothing") || !strings.Contains(said, "Line 7 repeats wind") {
		t.Errorf("%s", said)
	}
}

func TestBriefWithoutQuestions(t *testing.T) {
	t.Parallel()
	for _, brief := range []string{"", "No title", "# Title\n\nProse only.\n", "# Title\n1.\n"} {
		o := workertest.Run(t, researchplanner.Worker, researchplanner.Input{Brief: brief}, workertest.Setup{})
		if o.Failure == nil || o.Failure.Class != "missing_input" {
			t.Errorf("%q: %+v", brief, o.Failure)
		}
	}
}
