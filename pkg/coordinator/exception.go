package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// incident is what an exception is about.
type incident struct {
	at    record.Address
	path  string
	item  string
	name  string
	cause string
	class string
	tried string
	entry string
	to    string
	// blocks: the whole run stands still.
	blocks bool
	ways   []string
	token  string
	needed string
}

// exceptionRecord words an incident (R39).
func (v *view) exceptionRecord(in incident) *record.Exception {
	state := "the step waits, everything that does not need it goes on"
	if in.blocks {
		state = "the run is blocked: nothing new starts"
	}
	if in.needed == "" {
		in.needed = "decide how to go on: " + strings.Join(in.ways, ", ")
	}
	owner := v.def.Loop.Owner
	if in.to != "" {
		owner = in.to
	}
	return &record.Exception{
		ID: record.ExceptionID(v.run.ID, in.at, v.run.Gen, in.cause), Run: v.run.ID, Loop: v.run.Loop, Address: in.at,
		Path: in.path, Item: in.item, Step: in.name, Gen: v.run.Gen, Cause: in.cause, Class: in.class, Tried: in.tried,
		State: state, Needed: in.needed, Owner: owner, Blocks: in.blocks, Entry: in.entry, Ways: in.ways,
		Since: v.c.now(), Token: in.token,
	}
}

// triedText tells what was done before a person is asked.
func triedText(s *record.Step) string {
	if s == nil || s.Attempts == 0 {
		return "nothing: it was stopped before the work"
	}
	classes := make([]string, 0, len(s.Tries.Failed))
	for class, n := range s.Tries.Failed {
		classes = append(classes, fmt.Sprintf("%d × %s", n, class))
	}
	sort.Strings(classes)
	if s.Tries.Crash > 0 {
		classes = append(classes, fmt.Sprintf("%d × crash", s.Tries.Crash))
	}
	text := fmt.Sprintf("%d attempts", s.Attempts)
	if s.Attempts == 1 {
		text = "1 attempt"
	}
	if len(classes) > 0 {
		text += " (" + strings.Join(classes, ", ") + ")"
	}
	if s.Backup {
		text += ", the backup worker too"
	}
	return text
}

var stepWays = []string{WayRetry, WayEdit, WaySkip, WaySubstitute, WayClose}

// halt are the writes that block the run with one exception, for a place where
// it cannot go on.
func (v *view) halt(ctx context.Context, cause error) ([]store.Op, *record.Exception, error) {
	in := incident{blocks: true, tried: "nothing: no rule allows to go on", ways: []string{WayRetry, WayClose}, cause: cause.Error()}
	var short *joinError
	var halt *haltError
	switch {
	case errors.As(cause, &short):
		in.at, in.path, in.name, in.class = short.at, short.node.Path, short.name, joinClass
		in.ways = []string{WayRetry, WaySkip, WayClose}
		in.needed = joinNeeds
	case errors.As(cause, &halt):
		in.at, in.path, in.name, in.class = halt.at, halt.node.Path, halt.name, "rule"
	default:
		return nil, nil, cause
	}
	return v.block(ctx, in)
}

// block are the writes of a blocked run: the run at its version and the
// exception, which is written once.
func (v *view) block(ctx context.Context, in incident) ([]store.Op, *record.Exception, error) {
	if !v.run.Open() {
		return nil, nil, fmt.Errorf("run %s is %s: %w", v.run.ID, v.run.Status, ErrNotPossible)
	}
	if v.c.cfg.Deliver != nil && v.run.Rollback == nil && canUndo(v.def) {
		in.ways = append(slices.Clone(in.ways), WayRollback)
	}
	exc := v.exceptionRecord(in)
	run := *v.run
	run.Status, run.Reason, run.Exception = outerloop.StatusBlocked, exc.Cause, exc.ID
	run.Note(record.Entry{At: v.c.now(), Kind: "blocked", Rule: cut(exc.Cause, logText), Outcome: string(run.Status)})
	put, err := v.putException(ctx, exc)
	if err != nil {
		return nil, nil, err
	}
	return []store.Op{run.Put(), put}, exc, nil
}

// canUndo tells whether a worker of the loop has an action that another undoes.
func canUndo(def *loop.Definition) bool {
	for _, w := range def.Workers {
		if slices.ContainsFunc(w.Charter.Actions, func(a charter.Action) bool { return a.Undo != "" && a.Undo != charter.UndoNone }) {
			return true
		}
	}
	return false
}

// putException writes the exception at the version of one that stood there
// before: the same failure once more after it was resolved opens it again.
func (v *view) putException(ctx context.Context, exc *record.Exception) (store.Op, error) {
	old, err := one(ctx, v.c, record.ExceptionKey(exc.ID), record.DecodeException)
	if err != nil {
		return store.Op{}, fmt.Errorf("reading exception: %w", err)
	}
	if old != nil {
		exc.Stored = old.Stored
	}
	return exc.Put(), nil
}

// alert tells the owner of an exception, after it was written. The same
// incident has the same id.
func (c *Coordinator) alert(ctx context.Context, exc *record.Exception, def *loop.Definition) {
	text := exc.Cause
	if exc.Step != "" {
		text = exc.Step + ": " + text
	}
	to := exc.Owner
	if to == def.Loop.Owner { // else the failure names whom to ask
		to = told(def)
	}
	c.cfg.Notify(ctx, Alert{To: to, Kind: KindException, ID: exc.ID, Loop: exc.Loop, Run: exc.Run, Step: exc.Step, Since: exc.Since, Text: text, at: spot{exc.Path, exc.Item}})
}

// classDuplicate marks an exception that shows two outcomes of one action.
const classDuplicate = "duplicate"

// possibleDuplicate raises an exception that shows both outcomes of an action.
func (q *call) possibleDuplicate(ctx context.Context, r gate.ActionReport) error {
	a, err := one(ctx, q.c, record.ActionKey(q.run.Loop, r.Entry), record.DecodeAction)
	if err != nil || a == nil {
		return err
	}
	exc := q.exceptionRecord(incident{
		at: q.at, path: q.Step, item: q.Item, name: q.name(ctx, q.node, q.index), entry: r.Entry, class: classDuplicate,
		cause: fmt.Sprintf("possible duplicate of %s: recorded is %s with result %s, an earlier attempt reports done with %s",
			r.Entry, a.State, cut(string(a.Result), logText), cut(string(r.Result), logText)),
		tried: "nothing can be taken back here", ways: []string{WayClose},
		needed: "look at the provider; close when it is put right",
	})
	exc.State = "both effects may exist; the run goes on"
	if err := q.c.write(ctx, exc.Put()); errors.Is(err, store.ErrCondition) {
		return nil // recorded before
	} else if err != nil {
		return fmt.Errorf("recording a possible duplicate: %w", err)
	}
	q.c.alert(ctx, exc, q.def)
	return nil
}
