package sim

import (
	"maps"
	"reflect"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// approval: I5 a decision is final, I3 none is made on a closed run.
func (g *guard) approval(c change, w *written) {
	a := must(record.DecodeApproval(c.after))
	b := must(record.DecodeApproval(c.before))
	w.touched[a.Run] = true
	if a.Decided() || a.Void {
		delete(g.asking[a.Run], a.ID)
	} else {
		g.asking[a.Run][a.ID] = true
	}
	if b == nil {
		return
	}
	if b.Decided() && (a.Decision != b.Decision || a.Hash != b.Hash || a.By != b.By) {
		g.bad("I5", "the decision on %s changed: %s by %s to %s by %s", a.Step, b.Decision, b.By, a.Decision, a.By)
	}
	if b.Visit == a.Visit && !b.Decided() && a.Hash != b.Hash && a.By == "" && len(a.Votes) == 0 && a.Editor == "" {
		g.bad("I5", "what is asked about %s changed under people's hands", a.Step)
	}
	if a.Gen < b.Gen {
		g.bad("I4", "the request of %s went from generation %d to %d", a.Step, b.Gen, a.Gen)
	}
	run := g.runs[a.Run]
	if !b.Decided() && a.Decided() && (run.Status.Closed() || run.Cancelling) {
		g.bad("I3", "%s was %s on a run that is %s", a.Step, a.Decision, run.Status)
	}
	if b.Void && !b.Decided() && a.Token != b.Token {
		g.bad("I7", "%s waits for a request that is closed", a.Step)
	}
	if b.Void && !a.Void {
		g.bad("I3", "a closed request of %s is open again", a.Step)
	}
	if !a.Delivered && a.Decided() && a.Token == "" {
		g.s.saw("decision / token not registered yet")
	}
}

// exception: I15 an answer is final.
func (g *guard) exception(c change, w *written) {
	a := must(record.DecodeException(c.after))
	b := must(record.DecodeException(c.before))
	w.touched[a.Run] = true
	if a.Resolved() {
		delete(g.open[a.Run], a.ID)
	} else {
		g.open[a.Run][a.ID] = a
	}
	if b != nil && b.Resolved() && (a.Resolution != b.Resolution || a.By != b.By) {
		g.bad("I15", "the answer to %s changed: %s by %s to %s by %s", a.Step, b.Resolution, b.By, a.Resolution, a.By)
	}
}

// counted: I15 a blocked run has its one exception, and the run's numbers say
// how many requests and questions are open.
func (g *guard) counted(w *written) {
	for id := range w.touched {
		run := g.runs[id]
		if run == nil || run.Status.Closed() {
			continue
		}
		questions, blocking := int64(0), 0
		for _, exc := range g.open[id] {
			switch {
			case exc.Blocks:
				blocking++
			case exc.Class != "duplicate":
				questions++
			}
		}
		if n := run.Numbers[record.RunAwaiting]; n != int64(len(g.asking[id])) {
			g.bad("I15", "%d requests of %s are open, it says %d", len(g.asking[id]), id, n)
		}
		if n := run.Numbers[record.RunQuestions]; n != questions {
			g.bad("I15", "%d questions of %s are open, it says %d", questions, id, n)
		}
		if blocked := run.Status == outerloop.StatusBlocked; blocked && (blocking != 1 || g.open[id][run.Exception] == nil) {
			g.bad("I15", "%s is blocked with %d exceptions open", id, blocking)
		} else if !blocked && blocking != 0 {
			g.bad("I15", "%s is %s, an exception says that it is blocked", id, run.Status)
		}
	}
}

// indexed: I17 the indexes and numbers of an item are those of its content.
func (g *guard) indexed(item *store.Item) {
	op, ok := asWritten(item)
	if !ok {
		return
	}
	if !reflect.DeepEqual(op.Item.List, item.List) || !reflect.DeepEqual(op.Item.Due, item.Due) || !maps.Equal(op.Item.Numbers, item.Numbers) {
		g.bad("I17", "the indexes or numbers of %s/%s are not those of its content", item.Part, item.Sort)
	}
}

// asWritten is how a record would be written as it is read.
func asWritten(item *store.Item) (store.Op, bool) {
	switch {
	case item.Sort == "RUN":
		return must(record.DecodeRun(item)).Put(), true
	case item.Sort == "ACT":
		return must(record.DecodeAction(item)).Put(), true
	case item.Sort == "APPROVAL":
		return must(record.DecodeApproval(item)).Put(), true
	case item.Sort == "EXC":
		return must(record.DecodeException(item)).Put(), true
	case item.Sort == "LEASE":
		return must(record.DecodeLease(item)).Put(), true
	case item.Sort == "BREAKER":
		return must(record.DecodeBreaker(item)).Put(), true
	}
	return store.Op{}, false
}

// asked is the provider's key of the action that an exception asks about; empty: none.
func (g *guard) asked(exception string) string {
	exc := must(record.DecodeException(g.s.shadow[record.ExceptionKey(exception)]))
	if exc == nil || exc.Entry == "" {
		return ""
	}
	return record.ProviderKey(exc.Loop, exc.Entry)
}

// decided: I19 who was told that a decision stands finds it.
func (g *guard) decided(ap coordinator.ApprovalView, err error) {
	if err != nil {
		return
	}
	if stored := must(record.DecodeApproval(g.s.shadow[record.ApprovalKey(ap.ID)])); stored == nil || !stored.Decided() && len(stored.Votes) == 0 && stored.Editor == "" {
		g.bad("I19", "a decision on %s was confirmed and does not stand", ap.Step)
	}
}

// resolved: I19 who was told that an answer stands finds it.
func (g *guard) resolved(exc coordinator.ExceptionView, err error) {
	if err != nil {
		return
	}
	if stored := must(record.DecodeException(g.s.shadow[record.ExceptionKey(exc.ID)])); stored == nil || !stored.Resolved() {
		g.bad("I19", "an answer to %s was confirmed and does not stand", exc.Step)
	}
}
