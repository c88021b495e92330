package sim

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Invariants are what the guard demands, by their short names: those of the
// protocol's executable model, and what the model does not cover.
var Invariants = []struct{ Name, Says string }{
	{"I0", "nothing panics"},
	{"I1", "no action has two effects; `retry` has one because the provider dedupes its key"},
	{"I1b", "no call is made of an action that is recorded as done, failed or somebody else's"},
	{"I1c", "an action has one payload, and it is the payload that is called"},
	{"I1d", "a begin never displaces another owner's executing action"},
	{"I1e", "done is never left; what stands as done was done, what stands as failed was not"},
	{"I2", "a settled answer never changes; a new visit keeps it beside"},
	{"I3", "a closed run never changes but by redrive: not its money, steps, decisions"},
	{"I3b", "no step is settled while its run is blocked or being cancelled"},
	{"I3c", "no action is begun on a run that is not open or of another generation, nor by an attempt that does not own its step"},
	{"I4", "fences, visits and generations never go back; every claim raises the fence; a live attempt is not displaced"},
	{"I5", "what needs an approval is not done without one, nor with another payload; a decision is final"},
	{"I6", "money adds up: a run's left, reserved and spent are its budget; a purse's are its limit; nothing stays reserved"},
	{"I6b", "nothing is reserved that is not there; only a cost above its reservation overdraws"},
	{"I7", "everything comes to rest, and everything that was started ends"},
	{"I8", "a completed run has only settled steps, tool calls apart; the action of a completed step is done"},
	{"I9", "no attempt beyond the declared tries"},
	{"I10", "no rule passes over an action whose outcome is open"},
	{"I12", "a call that has settled never claims again"},
	{"I14", "a resource has one owner that acts"},
	{"I15", "a blocked run has exactly one open exception; what waits is counted"},
	{"I16", "a loop has no more open runs than its overlap policy allows; rates and breakers hold"},
	{"I17", "indexes and numbers agree with their items"},
	{"I18", "when all is over nothing is left over: no request, no exception, no execution, no lease"},
	{"I21", "a fact that a step read is written only as it was read"},
	{"I20", "a completed rollback has undone what it lists, each once, the last first"},
	{"I19", "an answer that was given is the same when it is given again"},
}

// guard compares every write and every call with the promises.
type guard struct {
	s      *Sim
	broken []Broken
	runs   map[string]*record.Run
	// budget is what a run began with, children's share included.
	budget map[string]int64
	// asking are the undecided requests, open the unresolved exceptions of a run.
	asking map[string]map[string]bool
	open   map[string]map[string]*record.Exception
	alerts map[string]int
	// since is when a run last opened, closed or changed its generation.
	since map[string]time.Time
	// turn are the attempts that had a turn at the slow provider, turns when.
	turn map[string]bool
	// calls are the outputs of tool calls that were done.
	calls map[string]string
	turns []time.Time
	op    string
}

func newGuard(s *Sim) *guard {
	return &guard{
		s: s, runs: map[string]*record.Run{}, budget: map[string]int64{}, asking: map[string]map[string]bool{},
		open: map[string]map[string]*record.Exception{}, alerts: map[string]int{}, since: map[string]time.Time{}, turn: map[string]bool{}, calls: map[string]string{},
	}
}

func (g *guard) bad(invariant, format string, args ...any) {
	g.broken = append(g.broken, Broken{Invariant: invariant, What: fmt.Sprintf(format, args...)})
	g.s.log("BROKEN %s %s", invariant, g.broken[len(g.broken)-1].What)
}

// must decodes a record that the coordinator wrote.
func must[T any](r *T, err error) *T {
	if err != nil {
		panic(err)
	}
	return r
}

// written is one write as the guard looks at it.
type written struct {
	changes []change
	runs    []runChange
	touched map[string]bool
}

type runChange struct{ before, after *record.Run }

// has tells whether the write leaves an item of a sort key behind.
func (w *written) has(sort string) bool {
	for _, c := range w.changes {
		if c.after != nil && strings.HasPrefix(c.after.Sort, sort) {
			return true
		}
	}
	return false
}

// wrote looks at one write.
func (g *guard) wrote(changes []change) {
	g.op = "world"
	if g.s.cur != nil {
		g.op = g.s.cur.op
	}
	w := &written{changes: changes, touched: map[string]bool{}}
	for _, c := range changes {
		if c.after != nil && c.after.Sort == "RUN" {
			run := must(record.DecodeRun(c.after))
			w.runs = append(w.runs, runChange{before: g.runs[run.ID], after: run})
			g.runs[run.ID] = run
			w.touched[run.ID] = true
		}
	}
	for _, r := range w.runs {
		g.run(r.before, r.after)
	}
	for _, c := range changes {
		if c.after == nil {
			g.removed(c.before)
			continue
		}
		g.item(c, w)
		g.indexed(c.after)
	}
	g.purses(w)
	g.counted(w)
	for id := range w.touched {
		g.reserved(g.runs[id])
	}
}

// item looks at one item by its kind.
func (g *guard) item(c change, w *written) {
	kind, _, _ := strings.Cut(c.after.Part, "#")
	switch {
	case strings.HasPrefix(c.after.Sort, "STEP#"):
		g.step(c, w)
	case kind == "ACT":
		g.action(c)
	case kind == "APPROVAL":
		g.approval(c, w)
	case kind == "EXC":
		g.exception(c, w)
	case kind == "LEASE":
		g.lease(c)
	case kind == "LOOPS":
		g.slots(c)
	case kind == "RATE":
		g.rate(c)
	case kind == "FACT":
		g.fact(c)
	case strings.HasPrefix(c.after.Sort, "LATE#"):
		g.late(c.after)
	}
}

// removed: only a wait that is over may go.
func (g *guard) removed(before *store.Item) {
	if !strings.HasPrefix(before.Part, "WAITER#") {
		g.bad("I18", "%s/%s was removed", before.Part, before.Sort)
	}
}

// run: I3 a closed run changes only by redrive; I4 generations; I6 money.
func (g *guard) run(b, a *record.Run) {
	sum, reserved := unspent(a), int64(0)
	for name, n := range a.Numbers {
		if strings.HasPrefix(name, "res.") {
			reserved += n
		}
	}
	sum += a.Numbers[record.RunSpent]
	if b == nil || b.Open() != a.Open() || b.Gen != a.Gen {
		g.since[a.ID] = g.s.now
	}
	if b == nil {
		g.budget[a.ID] = sum
		g.asking[a.ID], g.open[a.ID] = map[string]bool{}, map[string]*record.Exception{}
		return
	}
	if sum != g.budget[a.ID] {
		g.bad("I6", "left, reserved and spent of %s are %d, not %d", a.ID, sum, g.budget[a.ID])
	}
	if a.Status.Closed() && reserved != 0 {
		g.bad("I6", "%d stay reserved at the end of %s", reserved, a.ID)
	}
	if left := a.Numbers[record.RunLeft]; left < 0 && left < b.Numbers[record.RunLeft] && (g.op == "admit" || g.op == "start_child") {
		g.bad("I6b", "%s of %s is reserved, it has %d", g.op, a.ID, left)
	}
	redriven := b.Status == outerloop.StatusFailed && a.Status == outerloop.StatusInProgress && a.Gen == b.Gen+1
	same := a.Status == b.Status && a.Gen == b.Gen && a.Output.Hash == b.Output.Hash && a.Ended.Equal(b.Ended) && maps.Equal(a.Numbers, b.Numbers)
	if b.Status.Closed() && !redriven && !same {
		g.bad("I3", "closed run %s changed: %s gen %d to %s gen %d", a.ID, b.Status, b.Gen, a.Status, a.Gen)
	}
	if a.Gen < b.Gen {
		g.bad("I4", "the generation of %s went from %d to %d", a.ID, b.Gen, a.Gen)
	}
	if a.Gen > b.Gen && (b.Cancelling || strings.HasPrefix(b.Reason, "cancelled")) {
		g.bad("I3", "cancelled run %s was redriven", a.ID)
	}
	if !b.Status.Closed() && b.Status != a.Status && !b.Status.CanBecome(a.Status) {
		g.bad("I3", "run %s went from %s to %s", a.ID, b.Status, a.Status)
	}
	if b.Cancelling && !a.Cancelling && !a.Status.Closed() {
		g.bad("I3", "run %s is cancelled no more", a.ID)
	}
	switch {
	case g.s.resting && g.s.rounds > 4 && a.Status == outerloop.StatusFailed && !b.Status.Closed() && strings.HasPrefix(a.Reason, "deadline passed") && a.Deadline.Sub(a.Started) > 10*time.Hour && a.Rollback == nil:
		g.bad("I7", "%s has come to its deadline although nothing went wrong any more: it was %s", a.ID, b.Status)
	case g.s.resting && g.s.rounds > 4 && a.Status == outerloop.StatusFailed && strings.Contains(a.Reason, "its execution ended"):
		g.bad("I7", "%s has come to its deadline and never went on: %s", a.ID, a.Reason)
	case a.Status == outerloop.StatusCompleted && b.Status != a.Status:
		g.completed(a)
	case a.Status == outerloop.StatusFailed && b.Cancelling && !b.Status.Closed():
		g.closedActing(a)
	}
}

// reserved: I6 what a run has reserved its steps have, attempt by attempt.
func (g *guard) reserved(run *record.Run) {
	if run.Status.Closed() {
		return
	}
	want := map[string]int64{}
	for name, n := range run.Numbers {
		if strings.HasPrefix(name, "res.") {
			want[name] = n
		}
	}
	for key, item := range g.s.shadow {
		if key.Part != "RUN#"+run.ID || !strings.HasPrefix(key.Sort, "STEP#") || !bytes.Contains(item.Body, []byte(`"reserved"`)) {
			continue
		}
		step := must(record.DecodeStep(item))
		name := step.ReservedAs()
		if n := want[name]; n != 0 && n != step.Reserved {
			g.bad("I6", "%s has reserved %d, its run says %d", step.Name, step.Reserved, n)
		}
		delete(want, name)
		delete(want, record.ForCalls(name))
	}
	for name, n := range want {
		g.bad("I6", "%d of %s are reserved as %s for nobody", n, run.ID, name)
	}
}

// unspent is what a run holds: left and reserved.
func unspent(r *record.Run) int64 {
	sum := r.Numbers[record.RunLeft]
	for name, n := range r.Numbers {
		if strings.HasPrefix(name, "res.") {
			sum += n
		}
	}
	return sum
}

// completed: I8 nothing of a completed run is left undone.
func (g *guard) completed(run *record.Run) {
	for key, item := range g.s.shadow {
		if key.Part != "RUN#"+run.ID || !strings.HasPrefix(key.Sort, "STEP#") {
			continue
		}
		if step := must(record.DecodeStep(item)); step.State != outerloop.StepSettled && !g.unreviewed(step) && !isCall(step) {
			g.bad("I8", "%s is completed, its %s is %s", run.ID, step.Name, step.State)
			return
		}
	}
}

// isCall tells whether a step is a tool call: it ends with its caller, wherever it stands.
func isCall(step *record.Step) bool { return strings.Contains(string(step.Address), ".call.") }

// unreviewed tells whether a step is the review of work that was replaced or
// skipped since: there is nothing to review any more.
func (g *guard) unreviewed(step *record.Step) bool {
	author, isReview := strings.CutSuffix(string(step.Address), ".review")
	if !isReview {
		return false
	}
	work := must(record.DecodeStep(g.s.shadow[record.StepKey(step.Run, record.Address(author))]))
	return work != nil && work.State == outerloop.StepSettled && work.Outcome != outerloop.OutcomeCompleted
}

// purses: I6 what a purse loses a run has or has spent.
func (g *guard) purses(w *written) {
	change := map[string]int64{}
	for _, c := range w.changes {
		if c.after == nil || c.after.Sort != "PURSE" {
			continue
		}
		name := strings.TrimPrefix(c.after.Part, "PURSE#")
		before := c.after.Numbers[record.PurseLimit]
		if c.before != nil {
			before = c.before.Numbers[record.PurseLeft]
		}
		change[name] += c.after.Numbers[record.PurseLeft] - before
		if left := c.after.Numbers[record.PurseLeft]; left < 0 && left < before && g.op == "start" {
			g.bad("I6b", "purse %s is overdrawn: %d", name, left)
		}
	}
	for _, r := range w.runs {
		for _, name := range r.after.Drawn {
			change[name] += held(r.after)
		}
		if r.before == nil {
			continue
		}
		for _, name := range r.before.Drawn {
			change[name] -= held(r.before)
			if !r.before.Status.Closed() {
				change[name] += r.after.Numbers[record.RunSpent] - r.before.Numbers[record.RunSpent]
			}
		}
	}
	for name, n := range change {
		if n != 0 {
			g.bad("I6", "purse %s and its runs differ by %d", name, n)
		}
	}
}

// held is what an open run has of its purses' money.
func held(r *record.Run) int64 {
	if r.Status.Closed() || r.Queued {
		return 0
	}
	return unspent(r)
}

// slots: I16 the overlap policy.
func (g *guard) slots(c change) {
	slot := must(record.DecodeLoop(c.after))
	def := g.s.project.defs[g.s.project.latest[slot.Name]]
	most := def.Loop.AtOnce
	if def.Loop.Overlap != "allow" {
		most = max(most, 1)
	}
	open := 0
	for _, run := range g.runs {
		if run.Loop == slot.Name && !run.Status.Closed() && !run.Cancelling && !run.Queued && run.Parent == nil && run.Rollback == nil {
			open++
		}
	}
	if most > 0 && open > most {
		g.bad("I16", "%d runs of %s are open, %d may be", open, slot.Name, most)
	}
}

// told is the coordinator's Notify.
func (g *guard) told(_ context.Context, a coordinator.Alert) { g.alerts[a.Kind+" "+a.ID]++ }

// executionEnded notes an execution that ended before its run. I7: nobody stops
// the execution of a run that goes on.
func (g *guard) executionEnded(name, errorName, cause string) {
	i := strings.LastIndex(name, "-g")
	run := g.runs[name[:i]]
	if run == nil || !run.Open() || name != fmt.Sprintf("%s-g%d", run.ID, run.Gen) {
		return
	}
	g.s.saw("execution ended, event lost")
	late := run.Deadline.Before(g.s.now.Add(2 * largestSkew))
	if errorName == outerloop.ErrorStop && !late && !strings.HasPrefix(cause, "not due") {
		g.bad("I7", "the execution of %s is stopped although the run goes on: %s", run.ID, cause)
	}
}
