package coordinator

import (
	"context"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// KindAutonomy is the kind of alerts that a breach took autonomy away (R43).
const KindAutonomy = "autonomy"

// stages from least to most.
var stages5 = []charter.Stage{charter.StageObserve, charter.StageRecommend, charter.StageApproval, charter.StageLimited, charter.StageBroad}

// ceilings are the highest stages that an authority allows (R42).
var ceilings = map[charter.Authority]charter.Stage{
	charter.AuthorityRecommend: charter.StageRecommend, charter.AuthorityPrepare: charter.StageApproval, charter.AuthorityExecute: charter.StageBroad,
}

// stageOf is the stage that holds for an action now. What people raised holds
// for the version of the charter under which they did; what a breach lowered
// holds until people raise it, whatever the charter says.
func stageOf(c *charter.Charter, start charter.Stage, t *record.Trust) charter.Stage {
	stage := start
	if t != nil && t.Stage != "" {
		if put := charter.Stage(t.Stage); t.Version == c.Version || start.AtLeast(put) {
			stage = put
		}
	}
	if top, known := ceilings[c.Authority]; known && stage.AtLeast(top) {
		return top
	}
	return stage
}

// stage reads the stage of the call's action.
func (q *call) stage(ctx context.Context, action *loop.ActionRule) (charter.Stage, error) {
	t, err := one(ctx, q.c, record.TrustKey(q.worker.Charter.Worker, action.Declared.Name), record.DecodeTrust)
	if err != nil {
		return "", fmt.Errorf("reading the stage of %s: %w", action.Declared.Name, err)
	}
	return stageOf(q.worker.Charter, action.Stage, t), nil
}

// measured is what adds to an action's measured result.
type measured struct {
	worker, action               string
	reviewed, accepted, breaches int64
}

// measure is the operation that adds a result, beside the write of what it is
// measured by. It holds only at the version that was read, so that two at once
// both count.
func (c *Coordinator) measure(ctx context.Context, m measured) (store.Op, error) {
	t, err := c.trust(ctx, m.worker, m.action)
	if err != nil {
		return store.Op{}, err
	}
	t.Reviewed, t.Accepted, t.Breaches = t.Reviewed+m.reviewed, t.Accepted+m.accepted, t.Breaches+m.breaches
	return t.Put(), nil
}

func (c *Coordinator) trust(ctx context.Context, worker, action string) (*record.Trust, error) {
	t, err := one(ctx, c, record.TrustKey(worker, action), record.DecodeTrust)
	if err != nil {
		return nil, fmt.Errorf("reading what is measured of %s: %w", worker, err)
	}
	if t == nil {
		t = &record.Trust{Worker: worker, Action: action}
	}
	return t, nil
}

// breached records that work broke a hard rule: it counts, and where more have
// than the charter allows, an action that went without people asks them again,
// at once. A breach that cannot be recorded is logged; the rule has held anyway.
func (q *call) breached(ctx context.Context, why string) {
	for _, action := range q.worker.Actions {
		to, err := q.breachOf(ctx, action, why)
		if err != nil {
			q.c.cfg.Log.Warn("breach not recorded", "worker", q.worker.Charter.Worker, "action", action.Declared.Name, "err", err)
		}
		if to == "" {
			continue
		}
		q.c.cfg.Notify(ctx, Alert{
			To: q.worker.Charter.Owner, Kind: KindAutonomy, Loop: q.run.Loop, Run: q.run.ID, Step: q.Step, at: spot{q.Step, q.Item},
			ID:   record.ShortID("autonomy", q.worker.Charter.Worker, action.Declared.Name, q.c.now().String()),
			Text: fmt.Sprintf("%s of %s is in stage %s now, after a breach: %s", action.Declared.Name, q.worker.Charter.Worker, to, why),
		})
	}
}

func (q *call) breachOf(ctx context.Context, action *loop.ActionRule, why string) (charter.Stage, error) {
	name, c := q.worker.Charter.Worker, q.worker.Charter
	return deciding(ctx, q.c, "recording a breach of "+name, func(ctx context.Context) (charter.Stage, error) {
		t, err := q.c.trust(ctx, name, action.Declared.Name)
		if err != nil {
			return "", err
		}
		t.Breaches++
		stage, allowed := stageOf(c, action.Stage, t), int64(0)
		if c.Autonomy.Promote != nil {
			allowed = int64(c.Autonomy.Promote.Breaches)
		}
		var to charter.Stage
		if stage.AtLeast(charter.StageLimited) && t.Breaches > allowed {
			to = stages5[slices.Index(stages5, stage)-1]
			t.Demotions++
			t.Move(record.StageChange{From: string(stage), To: string(to), At: q.c.now(), By: "gate", Reason: cut(why, logText)}, c.Version)
		}
		return to, q.c.write(ctx, t.Put())
	})
}

// AutonomyView is how far an action of a worker is trusted, what was measured
// in its stage, and what follows from it (R42, R43).
type AutonomyView struct {
	Worker    string            `json:"worker"`
	Action    string            `json:"action"`
	Authority charter.Authority `json:"authority"`
	Stage     charter.Stage     `json:"stage"`
	// Ceiling is the highest stage that the authority allows.
	Ceiling  charter.Stage `json:"ceiling"`
	Reviewed int64         `json:"reviewed"`
	Accepted int64         `json:"accepted"`
	Breaches int64         `json:"breaches"`
	// Needed is the sample that a promotion asks for; 0: the charter names none.
	Needed int64 `json:"needed"`
	// Proposed is the next stage, where the measured results propose it: people
	// apply it. Why says what is missing, or what speaks for it.
	Proposed charter.Stage `json:"proposed,omitempty"`
	Why      string        `json:"why"`
	// Changes are the latest changes of the stage, the newest last.
	Changes []record.StageChange `json:"changes"`
}

// hysteresis bounds how much larger a sample becomes after demotions.
const hysteresis = 3

// autonomyOf is the view of one action.
func autonomyOf(c *charter.Charter, action charter.Action, t *record.Trust) AutonomyView {
	v := AutonomyView{
		Worker: c.Worker, Action: action.Name, Authority: c.Authority, Ceiling: ceilings[c.Authority], Changes: []record.StageChange{},
		Stage: stageOf(c, c.Stage(action), t), Reviewed: t.Reviewed, Accepted: t.Accepted, Breaches: t.Breaches,
	}
	v.Changes = append(v.Changes, t.Changes...)
	rule := c.Autonomy.Promote
	switch {
	case v.Stage.AtLeast(v.Ceiling):
		v.Why = fmt.Sprintf("authority %s goes no further", c.Authority)
		return v
	case rule == nil:
		v.Why = "the charter names no measure for a promotion"
		return v
	}
	v.Needed = int64(rule.Reviewed) * int64(1+min(t.Demotions, hysteresis))
	switch {
	case t.Reviewed < v.Needed:
		v.Why = fmt.Sprintf("%d of %d reviewed", t.Reviewed, v.Needed)
	case t.Breaches > int64(rule.Breaches):
		v.Why = fmt.Sprintf("%d breaches, %d are allowed", t.Breaches, rule.Breaches)
	case t.Accepted < int64(rule.Accepted.Of(int(t.Reviewed))):
		v.Why = fmt.Sprintf("%d of %d accepted as they were, %s are needed", t.Accepted, t.Reviewed, rule.Accepted)
	default:
		v.Proposed = stages5[slices.Index(stages5, v.Stage)+1]
		v.Why = fmt.Sprintf("%d of %d accepted as they were, %d breaches", t.Accepted, t.Reviewed, t.Breaches)
	}
	return v
}

// Autonomy lists the actions of charters with their stages, by worker and action.
func (c *Coordinator) Autonomy(ctx context.Context, charters ...*charter.Charter) ([]AutonomyView, error) {
	out := []AutonomyView{}
	for _, declared := range charters {
		for _, action := range declared.Actions {
			t, err := c.trust(ctx, declared.Worker, action.Name)
			if err != nil {
				return nil, err
			}
			out = append(out, autonomyOf(declared, action, t))
		}
	}
	return out, nil
}

// Trusted lists the actions of all workers of the loops that can be started,
// of one worker where it is named, by worker and action.
func (c *Coordinator) Trusted(ctx context.Context, worker string) ([]AutonomyView, error) {
	loops, err := c.Loops(ctx)
	if err != nil {
		return nil, err
	}
	found, names := map[string]*charter.Charter{}, []string{}
	for _, l := range loops {
		def, _, err := c.offered(ctx, l.ID)
		if err != nil {
			return nil, err
		}
		if def == nil {
			continue
		}
		for name, w := range def.Workers {
			if found[name] == nil && len(w.Charter.Actions) > 0 && (worker == "" || worker == name) {
				found[name] = w.Charter
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	charters := make([]*charter.Charter, 0, len(names))
	for _, name := range names {
		charters = append(charters, found[name])
	}
	return c.Autonomy(ctx, charters...)
}

// StageRequest is a person's word on how far an action is trusted.
type StageRequest struct {
	Loop   string `json:"loop"`
	Worker string `json:"worker"`
	Action string `json:"action"`
	// Up raises the stage by one, else it falls by one.
	Up bool   `json:"up"`
	By string `json:"by"`
	// Reason is recorded. Unmeasured raises what the measured results do not propose.
	Reason     string `json:"reason"`
	Unmeasured bool   `json:"unmeasured,omitempty"`
}

// ErrNotProposed says that measured results do not propose a promotion.
var ErrNotProposed = fmt.Errorf("the measured results do not propose it: %w", ErrNotPossible)

// SetStage raises or lowers an action's stage by one, by a person's word. The
// authority is the ceiling, whoever asks. Errors: *InputError, ErrNoLoop,
// ErrNotAllowed, ErrNotProposed, ErrNotPossible.
func (c *Coordinator) SetStage(ctx context.Context, req StageRequest) (AutonomyView, error) {
	hash, err := c.cfg.Definitions.Latest(ctx, req.Loop)
	if err != nil {
		return AutonomyView{}, err
	}
	def, err := c.cfg.Definitions.Definition(ctx, hash)
	if err != nil {
		return AutonomyView{}, err
	}
	w := def.Workers[req.Worker]
	if w == nil || w.Actions[req.Action] == nil || req.By == "" || req.Reason == "" {
		return AutonomyView{}, &InputError{What: "stage", Faults: []string{"a worker of the loop, an action of its charter, by whom and a reason are needed"}}
	}
	who := personNamed(def.Project, req.By)
	if !slices.Contains(members(def.Project, w.Charter.Owner), who) {
		return AutonomyView{}, fmt.Errorf("%s is not of %s, who own %s: %w", who, w.Charter.Owner, req.Worker, ErrNotAllowed)
	}
	return deciding(ctx, c, "changing the stage of "+req.Worker, func(ctx context.Context) (AutonomyView, error) {
		t, err := c.trust(ctx, req.Worker, req.Action)
		if err != nil {
			return AutonomyView{}, err
		}
		declared := w.Actions[req.Action].Declared
		view := autonomyOf(w.Charter, declared, t)
		to, err := nextStage(view, req)
		if err != nil {
			return view, err
		}
		if t.Demotions++; req.Up {
			t.Demotions = 0
		}
		t.Move(record.StageChange{From: string(view.Stage), To: string(to), At: c.now(), By: who, Reason: req.Reason}, w.Charter.Version)
		if err := c.write(ctx, t.Put()); err != nil {
			return view, err
		}
		return autonomyOf(w.Charter, declared, t), nil
	})
}

func nextStage(v AutonomyView, req StageRequest) (charter.Stage, error) {
	at := slices.Index(stages5, v.Stage)
	switch {
	case !req.Up && at == 0:
		return "", fmt.Errorf("%s is in stage %s: %w", req.Action, v.Stage, ErrNotPossible)
	case !req.Up:
		return stages5[at-1], nil
	case v.Stage.AtLeast(v.Ceiling):
		return "", fmt.Errorf("%s is in stage %s, and %s: %w", req.Action, v.Stage, v.Why, ErrNotPossible)
	case v.Proposed == "" && !req.Unmeasured:
		return "", fmt.Errorf("%s stays in stage %s, %s: %w", req.Action, v.Stage, v.Why, ErrNotProposed)
	}
	return stages5[at+1], nil
}
