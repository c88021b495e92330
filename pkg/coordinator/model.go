package coordinator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// KindModel is the kind of alerts that a provider answers as another model than
// before (R56).
const KindModel = "model"

// summed adds the usage of a step's attempts; the model is the last one's.
func summed(before, more gate.Tokens) gate.Tokens {
	before.Input += more.Input
	before.Output += more.Output
	before.CacheRead += more.CacheRead
	before.CacheWrite += more.CacheWrite
	if more.Model != "" {
		before.Model = more.Model
	}
	return before
}

// seen notes under which name the provider answered, and tells the worker's
// owner once when a declared model answers under a new one: the same name, yet
// another version (R56). What it could not note, a later attempt notes.
func (q *call) seen(ctx context.Context, used gate.Tokens) {
	agent := q.worker.Charter.Agent
	if agent == nil || used.Model == "" {
		return
	}
	asked := q.def.Project.Asked(agent.Model)
	if asked == nil {
		return
	}
	changed, err := deciding(ctx, q.c, "noting the model of "+q.Step, func(ctx context.Context) (*record.Model, error) {
		m, err := one(ctx, q.c, record.ModelKey(asked.Kind, asked.URL, asked.ID), record.DecodeModel)
		if err != nil {
			return nil, err
		}
		if m == nil {
			m = &record.Model{Kind: asked.Kind, URL: asked.URL, ID: asked.ID}
		}
		if !m.See(used.Model, q.run.ID, q.c.now()) {
			return nil, nil
		}
		return m, q.c.write(ctx, m.Put())
	})
	if err != nil {
		q.c.cfg.Log.Warn("model not noted", "model", asked.ID, "reported", used.Model, "err", err)
		return
	}
	if changed == nil || len(changed.Reported) < 2 {
		return
	}
	before := changed.Reported[len(changed.Reported)-2]
	q.c.cfg.Notify(ctx, Alert{
		To: q.worker.Charter.Owner, Kind: KindModel, ID: record.ShortID("model", asked.Kind, asked.URL, asked.ID, used.Model),
		Run: q.run.ID, Step: q.Step,
		Text: fmt.Sprintf("model %s (%s) now answers as %s; until now it was %s. Results may differ: outerloop replay compares",
			asked.Name, asked.ID, used.Model, before.Name),
	})
}

// ModelView is which version of an agent a run used: its charter, prompt and
// model, declared and as the provider called it (R56).
type ModelView struct {
	Worker  string `json:"worker"`
	Version int    `json:"version"`
	// Prompt is the SHA-256 of its text.
	Prompt string `json:"prompt"`
	// Model is the project's name, ID the provider's as declared.
	Model string `json:"model"`
	ID    string `json:"id"`
	// Reported are the names under which the provider answered, in the order of
	// the steps; more than one: it changed while the run was open.
	Reported []string `json:"reported"`
	// Price is what was declared when the run began.
	Price gate.Price `json:"price"`
}

// models are the agents among the workers of a run's steps, by name; nil where
// none has worked yet, or the store holds no definitions.
func (c *Coordinator) models(ctx context.Context, hash string, steps []StepView) []ModelView {
	if !slices.ContainsFunc(steps, func(s StepView) bool { return s.Tokens != gate.Tokens{} }) {
		return nil
	}
	def, err := c.cfg.Definitions.Definition(ctx, hash)
	if err != nil {
		return nil
	}
	return modelViews(def, steps)
}

func modelViews(def *loop.Definition, steps []StepView) []ModelView {
	var out []ModelView
	for name, w := range def.Workers {
		agent := w.Charter.Agent
		if agent == nil {
			continue
		}
		sum := sha256.Sum256([]byte(w.Prompt))
		v := ModelView{Worker: name, Version: w.Charter.Version, Prompt: hex.EncodeToString(sum[:]), Model: agent.Model, Reported: []string{}}
		if asked := def.Project.Asked(agent.Model); asked != nil {
			v.ID, v.Price = asked.ID, asked.Price
		}
		used := false
		for _, s := range steps {
			if s.Worker != name {
				continue
			}
			used = true
			if m := s.Tokens.Model; m != "" && !slices.Contains(v.Reported, m) {
				v.Reported = append(v.Reported, m)
			}
		}
		if used {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b ModelView) int { return cmp.Compare(a.Worker, b.Worker) })
	return out
}
