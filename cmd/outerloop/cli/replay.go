package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/revision"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Again is recorded work that is to be done again, without acting.
type Again struct {
	// Root is the project's directory.
	Root string
	Task gate.Task
	// Prompt replaces the task's; empty: the recorded one.
	Prompt string
	Files  worker.Files
	// Calls are the tool calls that were recorded; others are refused.
	Calls []coordinator.TrialCall
}

// AgainAnswer is what it came to: exactly one of the two is set.
type AgainAnswer struct {
	Result  *gate.Result
	Failure *gate.Failure
}

type replayFlags struct {
	worker, prompt string
	limit          int
	modelFlags
}

func (a *app) replayCommand() *cobra.Command {
	var flags replayFlags
	cmd := &cobra.Command{
		Use:   "replay RUN --worker W",
		Short: "Do a run's agent work again with another prompt or model, without acting",
		Long: `Takes the inputs that a worker had in a run, asks the model again, with --prompt or
--model in place of the run's own, and shows what differs: outputs, tokens, cost, and
whether the gate would accept them (schema, evidence, acceptance rules, limits).

Nothing is done and nothing is written: no action, no mail, no state. Tool calls get
the answers that were recorded; a call that was not made then is refused. Facts are
read as they are now, reviews are not held, and feedback that earlier attempts got is
given to the run's own prompt only. The model calls are real and cost
what they cost; --limit bounds how many steps are asked about.

Exit code 1 when work that was accepted would not be, else 0.`,
		Example: `  outerloop replay market-research-3f2a --worker researcher --prompt new.md
  outerloop replay market-research-3f2a --worker researcher --model openai:http://127.0.0.1:11434#qwen3 --model-price 0/0
  outerloop replay market-research-3f2a --worker researcher --prompt new.md -o json | jq '.after.accepted'`,
		Args: one("a run", "usage: outerloop replay RUN --worker W [--prompt FILE]"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.replay(cmd.Context(), args[0], flags) },
	}
	cmd.Flags().StringVar(&flags.worker, "worker", "", "the `WORKER` whose work is done again")
	cmd.Flags().StringVar(&flags.prompt, "prompt", "", "the `FILE` of another prompt (default the run's)")
	cmd.Flags().IntVar(&flags.limit, "limit", 20, "ask about at most `N` steps")
	flags.add(cmd)
	return cmd
}

// replayed is what `replay -o json` prints.
type replayed struct {
	Run    string `json:"run"`
	Worker string `json:"worker"`
	// Steps is how many the worker did in the run; fewer are in Compared with --limit.
	Steps int `json:"steps"`
	// Lost are steps whose recorded input is there no more, with the reason.
	Lost     []lostStep   `json:"lost,omitempty"`
	Same     int          `json:"same"`
	Before   replaySum    `json:"before"`
	After    replaySum    `json:"after"`
	Compared []comparison `json:"compared"`
}

type lostStep struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// replaySum adds up one side.
type replaySum struct {
	Accepted int         `json:"accepted"`
	Tokens   gate.Tokens `json:"tokens"`
	Cost     float64     `json:"cost"`
}

// comparison is one step, as it was recorded and as it would be.
type comparison struct {
	Path   string                  `json:"path"`
	Before coordinator.TrialResult `json:"before"`
	After  coordinator.Appraisal   `json:"after"`
	Tokens gate.Tokens             `json:"tokens"`
	Cost   float64                 `json:"cost"`
	// Changes are the places of the output that differ.
	Changes []revision.Change `json:"changes"`
}

func (a *app) replay(ctx context.Context, id string, flags replayFlags) error {
	if flags.worker == "" {
		return usage("whose work? name a worker", "outerloop replay "+id+" --worker W", "outerloop show "+id+"   names the agents")
	}
	again, err := a.again(flags)
	if err != nil {
		return err
	}
	doc := replayed{Worker: flags.worker, Compared: []comparison{}}
	err = a.readingFile(ctx, func(r *local.Reader) error {
		if doc.Run, err = findRun(ctx, r.Coordinator(), id); err != nil {
			return err
		}
		trials, err := r.Coordinator().Trials(ctx, doc.Run, flags.worker)
		if err != nil {
			return err
		}
		doc.Steps = len(trials)
		again.Files = &worker.BlobFiles{Get: r.Store().GetBlob}
		for _, t := range trials[:min(len(trials), max(flags.limit, 1))] {
			if t.Lost != "" {
				doc.Lost = append(doc.Lost, lostStep{t.Path, t.Lost})
				continue
			}
			c, err := a.compare(ctx, r.Coordinator(), t, again)
			if err != nil {
				return err
			}
			doc.add(c)
		}
		return nil
	})
	switch {
	case errors.Is(err, local.ErrNoState):
		return a.noRuns()
	case errors.Is(err, coordinator.ErrNoAgent):
		return usage(err.Error(), "outerloop show "+doc.Run+"   names the agents of the run, with their models")
	case err != nil:
		return err
	}
	if a.asJSON() {
		err = a.writeJSON(doc)
	} else {
		a.printReplay(doc)
	}
	if lost := slices.ContainsFunc(doc.Compared, func(c comparison) bool { return c.wasAccepted() && !c.After.Accepted }); lost && err == nil {
		return silent(ExitFailed)
	}
	return err
}

// again is what all steps have in common: prompt and model.
func (a *app) again(flags replayFlags) (Again, error) {
	p, err := a.openChosen(flags.modelFlags)
	if err != nil {
		return Again{}, err
	}
	again := Again{Root: p.root}
	if flags.prompt != "" {
		text, err := os.ReadFile(a.path(flags.prompt))
		if err != nil {
			return again, usage("reading the prompt: "+err.Error(), "--prompt FILE is a text such as functions/workers/W/prompts/NAME.md")
		}
		again.Prompt = string(text)
	}
	if chosen := p.Registry.Asked(p.Registry.Chosen); chosen != nil {
		again.Task.Agent = &gate.Agent{Model: chosen}
	}
	if a.Replay == nil {
		return again, usage("this program has no agents", "outerloop version   says which program it is")
	}
	return again, nil
}

// compare does one step again.
func (a *app) compare(ctx context.Context, c *coordinator.Coordinator, t coordinator.Trial, again Again) (comparison, error) {
	chosen := again.Task.Agent
	again.Task, again.Calls = t.Task, t.Calls
	if again.Prompt != "" {
		again.Task.Feedback = nil // it is on what the old prompt led to
	}
	if chosen != nil {
		agent := *t.Task.Agent
		agent.Model = chosen.Model
		again.Task.Agent = &agent
	}
	answer, err := a.Replay(ctx, again)
	if err != nil {
		return comparison{}, fmt.Errorf("replaying %s: %w", t.Path, err)
	}
	out := comparison{Path: t.Path, Before: t.Recorded, Changes: []revision.Change{}}
	if f := answer.Failure; f != nil {
		out.After = coordinator.Appraisal{Class: f.Class, Cause: f.Message}
		out.Tokens, out.Cost = f.Tokens, float64(f.Cost)/1e6
		return out, nil
	}
	out.Tokens, out.Cost = answer.Result.Tokens, float64(answer.Result.Cost)/1e6
	if out.After, err = c.Appraise(ctx, t, *answer.Result); err != nil {
		return out, err
	}
	out.Changes = revision.Compare(outputSide(t.Recorded.Output), outputSide(out.After.Output)).Changes
	for i := range out.Changes {
		out.Changes[i].Meaning = true // an output has no wording of its own
	}
	return out, nil
}

// outputSide is an output as package revision compares trees.
func outputSide(raw json.RawMessage) revision.Side {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	if d.Decode(&v) != nil || v == nil {
		return revision.Side{Tree: map[string]any{}}
	}
	if tree, ok := v.(map[string]any); ok {
		return revision.Side{Tree: tree}
	}
	return revision.Side{Tree: map[string]any{"output": v}}
}

// wasAccepted tells whether the recorded work had an output that later steps read.
func (c comparison) wasAccepted() bool { return c.Before.Outcome == "completed" }

// same: the outputs and what becomes of them do not differ.
func (c comparison) same() bool { return len(c.Changes) == 0 && c.wasAccepted() == c.After.Accepted }

func (r *replayed) add(c comparison) {
	r.Compared = append(r.Compared, c)
	r.Before.add(c.wasAccepted(), c.Before.Tokens, c.Before.Cost)
	r.After.add(c.After.Accepted, c.Tokens, c.Cost)
	if c.same() {
		r.Same++
	}
}

func (s *replaySum) add(accepted bool, used gate.Tokens, cost float64) {
	if accepted {
		s.Accepted++
	}
	s.Tokens.Input += used.Input + used.CacheRead + used.CacheWrite
	s.Tokens.Output += used.Output
	s.Cost += cost
	if used.Model != "" {
		s.Tokens.Model = used.Model
	}
}
