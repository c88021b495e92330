package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

const (
	// rollbackWithin is how long a rollback may take.
	rollbackWithin = 24 * time.Hour
	// undoTries are further tries of an undo action, by class.
	undoTries = 3
)

// Rollback undoes the actions that a run has done and that can be undone, the
// last first, each once, whatever dies between (R35). It is a run of its own,
// whose steps are the undo actions with the input of what they undo, delivered
// to the same workers through the same gate; asking again goes on with it. A
// blocked run is closed first. What cannot be undone stays, and is named in the
// rollback's log. Errors: ErrNoRun; ErrNotAllowed; ErrNotPossible (wrapped) while the run is in
// progress, where an action's outcome is open, where nothing can be undone, and
// where the engine delivers nothing outside a machine.
func (c *Coordinator) Rollback(ctx context.Context, req PersonRequest) (RunView, error) {
	if err := c.mayAct(ctx, req.Run, req.By); err != nil {
		return RunView{}, err
	}
	id, err := deciding(ctx, c, "rolling back "+req.Run, func(ctx context.Context) (string, error) { return c.startRollback(ctx, req) })
	if err != nil {
		return RunView{}, err
	}
	if err := c.settleRun(ctx, req.Run); err != nil {
		c.cfg.Log.Warn("what follows a run's end is left to the watch", "run", req.Run, "err", err)
	}
	if err := c.driveRollback(ctx, id); err != nil {
		c.cfg.Log.Warn("the watch goes on with the rollback", "run", id, "err", err)
	}
	return c.Run(ctx, id)
}

func (c *Coordinator) startRollback(ctx context.Context, req PersonRequest) (string, error) {
	run, err := c.runOf(ctx, req.Run)
	if err != nil {
		return "", err
	}
	id := outerloop.RunID(run.Loop, run.ID+"\x00rollback")
	have, err := one(ctx, c, record.RunKey(id), record.DecodeRun)
	if err != nil || have != nil {
		return id, err
	}
	undo, stays, err := c.undoable(ctx, run)
	if err != nil {
		return "", err
	}
	now := c.now()
	back := &record.Run{
		ID: id, Loop: run.Loop, Version: run.Version, Definition: run.Definition, Subject: run.Subject + " (rollback)", Status: outerloop.StatusInProgress,
		Input: run.Input, InputHash: run.InputHash, AsOf: run.AsOf, Started: now, Deadline: now.Add(rollbackWithin), Trigger: "rollback", Gen: 1,
		Rollback: &record.Rollback{Of: run.ID, Steps: undo}, Numbers: map[string]int64{record.RunLeft: 0, record.RunSpent: 0, record.RunAwaiting: 0, record.RunQuestions: 0},
	}
	back.Note(record.Entry{At: now, Kind: "started", Rule: "rollback of " + run.ID + reasonText(req.Reason), By: req.By, Outcome: stays})
	var ops []store.Op
	if !run.Status.Closed() {
		c.closeRun(run, outerloop.StatusFailed, "rolled back by "+req.By+reasonText(req.Reason))
		ops = run.Closing()
	}
	return id, c.write(ctx, append(ops, back.Put())...)
}

// undoable lists what is to be undone, the last action first, and says what stays.
func (c *Coordinator) undoable(ctx context.Context, run *record.Run) ([]record.UndoStep, string, error) {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("run %s: %s: %w", run.ID, fmt.Sprintf(format, args...), ErrNotPossible)
	}
	switch {
	case c.cfg.Deliver == nil:
		return nil, "", refuse("this engine delivers nothing outside a machine, so it cannot roll back")
	case run.Rollback != nil:
		return nil, "", refuse("it is a rollback itself")
	case run.Open() || run.Cancelling:
		return nil, "", refuse("it is %s; cancel it first", run.Status)
	}
	done, err := c.actionsOf(ctx, run)
	if err != nil {
		return nil, "", err
	}
	var undo []record.UndoStep
	var stays []string
	for i, a := range done {
		switch {
		case a.State == record.ActionExecuting || a.State == record.ActionUnknown:
			return nil, "", refuse("the outcome of %s is open; find out first what became of it", a.Entry)
		case a.State != record.ActionDone:
			continue
		case a.Undo == nil:
			stays = append(stays, a.Entry)
			continue
		}
		reversed, err := one(ctx, c, record.ActionKey(run.Loop, a.Undo.Entry), record.DecodeAction)
		if err != nil {
			return nil, "", err
		}
		if reversed != nil && reversed.State == record.ActionDone {
			continue
		}
		path := fmt.Sprintf("%s%s%s.%d", a.Path, undoMark, a.Worker, len(done)-i)
		undo = append(undo, record.UndoStep{Path: path, Worker: a.Worker, Undoes: a.Entry, Undo: *a.Undo})
	}
	text := ""
	if len(stays) > 0 {
		text = "cannot be undone and stays: " + strings.Join(stays, ", ")
	}
	if len(undo) == 0 {
		if text != "" {
			text = "; " + text
		}
		return nil, "", refuse("it has done nothing that can be undone%s", text)
	}
	return undo, text, nil
}

// actionsOf are the actions that a run began, the last first.
func (c *Coordinator) actionsOf(ctx context.Context, run *record.Run) ([]*record.Action, error) {
	var out []*record.Action
	err := c.each(ctx, store.Query{Part: record.RunKey(run.ID).Part, Prefix: record.StepsPrefix("")}, func(item *store.Item) error {
		step, err := record.DecodeStep(item)
		if err != nil || step.Entry == "" {
			return err
		}
		a, err := one(ctx, c, record.ActionKey(run.Loop, step.Entry), record.DecodeAction)
		if err == nil && a != nil && a.Run == run.ID {
			a.Path = step.Path
			out = append(out, a)
		}
		return err
	})
	slices.SortStableFunc(out, func(a, b *record.Action) int { return b.Ended.Compare(a.Ended) })
	return out, err
}

// undoMark stands in the path of an undo step: STEP.undo.WORKER.NUMBER.
const undoMark = ".undo."

// undoNode is the node of an undo step: the worker's undo action, at no place of
// the loop, with nothing that it waits for and nobody to ask: a person has
// decided on the rollback.
func undoNode(def *loop.Definition, path string) (*loop.Node, bool) {
	i := strings.LastIndex(path, undoMark)
	if i < 0 {
		return nil, false
	}
	base, _, ok := lookup(def, path[:i])
	name, _, _ := strings.Cut(path[i+len(undoMark):], ".")
	w := def.Workers[name]
	if !ok || base.Action == nil || w == nil || w.Actions[base.Action.Declared.Undo] == nil {
		return nil, false
	}
	action := *w.Actions[base.Action.Declared.Undo]
	action.Key, action.Resource = nil, nil
	return &loop.Node{
		Path: path, Name: path, Kind: loop.KindWorker, Position: base.Position, Worker: w, Mode: w.Charter.Dispatch.Mode, Limits: w.Limits, Action: &action,
		Failure: &loop.FailureRules{Then: loop.EndingAsk, Retry: []loop.RetryRule{{Retry: loop.Retry{Class: outerloop.ClassAny, Times: undoTries}}}},
	}, true
}

// recordUndo notes beside an action how it is reversed, before it is done.
func (q *call) recordUndo(ctx context.Context, s *record.Step, a *record.Action) error {
	undo := q.node.Action.Declared.Undo
	if undo == "" || undo == charter.UndoNone || a.Undo != nil || q.run.Rollback != nil {
		return nil
	}
	if q.work == nil {
		if err := q.again(ctx, &prepared{}, s); err != nil {
			return err
		}
	}
	work, err := q.ownInput(ctx)
	if err != nil {
		return err
	}
	input, err := q.c.keep(ctx, work)
	if err != nil {
		return err
	}
	key := strings.TrimSuffix(s.Entry, ":"+a.Action)
	a.Undo = &record.Undo{Action: undo, Entry: outerloop.ActionEntry(key, undo), Key: key, Resource: s.Resource, Input: input}
	return nil
}
