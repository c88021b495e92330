package local_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// withMachine is the configuration with another machine of one loop.
func withMachine(cfg local.Config, name, machine string) local.Config {
	cfg.Loops = slices.Clone(cfg.Loops)
	for i, l := range cfg.Loops {
		if l.Definition.Loop.Name == name {
			cfg.Loops[i].Machine = []byte(machine)
		}
	}
	return cfg
}

func TestABrokenMachineFailsOnlyItsOwnStart(t *testing.T) {
	t.Parallel()
	for name, machine := range map[string]string{
		"nothing": "", "blanks": " \n", "half": `{"StartAt": "fir`, "no states": `{"StartAt": "first"}`,
		"a resource of nobody": `{"StartAt":"a","States":{"a":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:putItem","End":true}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, withMachine(config(t, &crew{}), "ask", machine))
			_, err := e.Coordinator().Start(t.Context(), request("ask", 1))
			var broken *local.MachineError
			if !errors.Is(err, local.ErrMachine) || !errors.As(err, &broken) || broken.File != "statemachines/ask.asl.json" {
				t.Fatalf("the start answers %v", err)
			}
			for _, said := range []string{"statemachines/ask.asl.json", "outerloop compile ask"} {
				if !strings.Contains(err.Error(), said) {
					t.Errorf("%q does not say %q", err, said)
				}
			}
			runs, err := e.Coordinator().Runs(t.Context(), coordinator.RunsQuery{})
			if err != nil || len(runs) != 0 {
				t.Errorf("a refused start left %v, %v", runs, err)
			}
			run := start(t, e, "chain", 1)
			idle(t, e)
			wants(t, e.Coordinator(), run, outerloop.StatusCompleted, `{"n":4}`)
		})
	}
}

// A run has pinned its machine: what becomes of the file is nothing to it.
func TestAnOpenRunGoesOnWithoutTheFile(t *testing.T) {
	t.Parallel()
	cfg := config(t, &crew{})
	cfg.Patience = -1
	e := open(t, cfg)
	run := start(t, e, "ask", 1)
	idle(t, e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := local.Join(t.Context(), withMachine(cfg, "ask", "{"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	coord := s.Owner().Coordinator()
	asked, err := coord.Approvals(t.Context(), coordinator.ApprovalsQuery{})
	if err != nil || len(asked) != 1 {
		t.Fatalf("approvals %+v, %v", asked, err)
	}
	decide := coordinator.DecideRequest{Approval: asked[0].ID, Verdict: coordinator.Reject, By: "me@example.com"}
	if _, err := s.Decide(t.Context(), decide); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Drive(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := coord.Start(t.Context(), request("ask", 1))
	if err != nil || !again.Duplicate {
		t.Errorf("starting the same again: %+v, %v", again, err)
	}
	// A redrive starts a new execution of what was pinned.
	if _, err := s.Redrive(t.Context(), coordinator.PersonRequest{Run: run, By: "me@example.com"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Drive(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked, err = coord.Approvals(t.Context(), coordinator.ApprovalsQuery{})
	if err != nil || len(asked) != 1 {
		t.Fatalf("approvals after the redrive %+v, %v", asked, err)
	}
	decide = coordinator.DecideRequest{Approval: asked[0].ID, Verdict: coordinator.Approve, By: "me@example.com"}
	if _, err := s.Decide(t.Context(), decide); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Drive(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, coord, run, outerloop.StatusCompleted, `{"n":3}`)
}
