package deployed_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/internal/core"
	claimchecker "github.com/outerloop-dev/outerloop/functions/workers/claim-checker"
	crmscan "github.com/outerloop-dev/outerloop/functions/workers/crm-scan"
	followuptemplate "github.com/outerloop-dev/outerloop/functions/workers/followup-template"
	followupwriter "github.com/outerloop-dev/outerloop/functions/workers/followup-writer"
	leadqualifier "github.com/outerloop-dev/outerloop/functions/workers/lead-qualifier"
	"github.com/outerloop-dev/outerloop/functions/workers/mailer"
	salesdashboard "github.com/outerloop-dev/outerloop/functions/workers/sales-dashboard"
	"github.com/outerloop-dev/outerloop/internal/sampletest"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

const s1 = "crm-followup"

var (
	monday  = time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC) // 07:00 in Berlin
	s1Crew  = []worker.Worker{crmscan.Worker, leadqualifier.Worker, followupwriter.Worker, followuptemplate.Worker, claimchecker.Worker, mailer.Worker, salesdashboard.Worker}
	s1Files = "exports/crm.csv"
)

// fire is the schedule's, as the scheduler sends it.
func (a *account) fire(at string) (coordinator.Fired, string) {
	a.Helper()
	event, err := json.Marshal(map[string]any{"trigger": map[string]any{"loop": s1, "index": 0, "scheduled": at}})
	a.must(err)
	var out coordinator.Fired
	raw, failed := a.call("acme-trigger", event)
	if failed != nil {
		return out, failed.Type
	}
	a.must(json.Unmarshal(raw, &out))
	return out, ""
}

// use asks a function for a use case of people.
func (a *account) use(function, use string, request any) remote.Reply {
	a.Helper()
	raw, err := json.Marshal(request)
	a.must(err)
	event, err := json.Marshal(remote.Call{Use: use, Request: raw})
	a.must(err)
	out, failed := a.call(function, event)
	if failed != nil {
		a.Fatalf("%s: %v", use, failed)
	}
	var reply remote.Reply
	a.must(json.Unmarshal(out, &reply))
	return reply
}

func approved(id string) remote.Decide {
	return remote.Decide{Approval: id, Verdict: coordinator.Approve, By: "lead@acme.example", Reason: "checked"}
}

func (a *account) approvals(c *core.Core, run string) (ids []string) {
	a.Helper()
	all, err := c.Approvals(a.Context(), coordinator.ApprovalsQuery{Run: run})
	a.must(err)
	for _, ask := range all {
		ids = append(ids, ask.ID)
	}
	return ids
}

type outcome struct {
	output string
	mails  map[string]string
}

// onEmbedded is the same run on the embedded engine.
func onEmbedded(t *testing.T) outcome {
	t.Helper()
	w := sampletest.New(t, sampletest.Setup{Root: root, Now: monday, Loops: []string{s1}, Workers: s1Crew})
	run := w.Start(s1, map[string]string{"file": w.File(s1Files)})
	for range 2 {
		w.For(time.Hour)
		all, err := w.Engine.Coordinator().Approvals(t.Context(), coordinator.ApprovalsQuery{Run: run})
		if err != nil {
			t.Fatal(err)
		}
		for _, ask := range all {
			if _, err := w.Engine.Coordinator().Decide(t.Context(), coordinator.DecideRequest(approved(ask.ID))); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.For(time.Hour)
	show, err := w.Engine.Coordinator().Show(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if show.Status != outerloop.StatusCompleted {
		t.Fatalf("the embedded run is %s: %s", show.Status, show.Reason)
	}
	out := outcome{string(show.Output), map[string]string{}}
	files, err := filepath.Glob(filepath.Join(w.Dir, "mail", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out.mails[filepath.Base(file)] = string(content)
	}
	return out
}

// S1 runs from its schedule on the functions, waits for people, goes on when
// they have decided, and comes to what the embedded run comes to (R11, R46, R67).
func TestFollowUpOnFunctions(t *testing.T) {
	t.Parallel()
	a := newAccount(t, monday)
	a.bucket.put(t, "inputs/"+s1Files, filepath.Join(root, s1Files))
	a.deploy(s1, s1Crew...)
	if _, failed := a.fire("<aws.scheduler.scheduled-time>"); failed != outerloop.ErrorFatal {
		t.Errorf("a fire without a time: %q", failed)
	}
	first, failed := a.fire("2026-11-30T06:00:00Z")
	again, failed2 := a.fire("2026-11-30T06:00:00Z")
	if failed+failed2 != "" || first.Run == "" || first.Run != again.Run || !again.Duplicate {
		t.Fatalf("fired %+v (%s), then %+v (%s)", first, failed, again, failed2)
	}
	late := a.decideAll(first.Run)
	if late.Error == nil || late.Error.Code != "decided" {
		t.Errorf("a late word: %+v", late.Error)
	}
	a.compare(first.Run, onEmbedded(t))
	gates, workers := a.invoked("acme-gate-"), a.invoked("acme-worker-")
	t.Logf("%d states entered, %d gate calls, %d calls of workers, %d of the approval function, %.0f write units, %.0f read units; %v",
		a.counts["states entered"], gates, workers, a.invoked("acme-approval"), a.usage.WriteUnits, a.usage.ReadUnits, a.counts)
	if a.usage.WriteUnits == 0 || gates < workers {
		t.Errorf("%+v of the table, %d gate calls for %d of workers: the meter does not count", a.usage, gates, workers)
	}
}

// invoked is how often functions were whose names begin so.
func (a *account) invoked(prefix string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for what, count := range a.counts {
		if strings.HasPrefix(what, "invoked "+prefix) {
			n += count
		}
	}
	return n
}

// decideAll lets the run go on and approves what it asks, twice, and says the
// first word once more.
func (a *account) decideAll(run string) (late remote.Reply) {
	a.Helper()
	a.until(monday.Add(time.Hour))
	waiting := a.approvals(a.open(), run)
	if len(waiting) < 5 {
		show, _ := a.open().Show(a.Context(), run)
		a.Fatalf("%d approvals; the run is %s: %s; %v", len(waiting), show.Status, show.Reason, a.counts)
	}
	for range 2 {
		for _, id := range a.approvals(a.open(), run) {
			if reply := a.use("acme-approval", remote.UseDecide, approved(id)); reply.Error != nil {
				a.Errorf("approving %s: %v", id, reply.Error)
			}
		}
		a.until(a.clock.Now().Add(time.Hour))
	}
	return a.use("acme-approval", remote.UseDecide, approved(waiting[0]))
}

func (a *account) compare(run string, want outcome) {
	a.Helper()
	show, err := a.open().Show(a.Context(), run)
	a.must(err)
	if show.Status != outerloop.StatusCompleted {
		a.Fatalf("the run is %s: %s", show.Status, show.Reason)
	}
	if diff := cmp.Diff(want.output, string(show.Output)); diff != "" {
		a.Errorf("the output differs from the embedded run's:\n%s", diff)
	}
	if diff := cmp.Diff(want.mails, a.bucket.under("connections/mail/")); diff != "" || len(want.mails) == 0 {
		a.Errorf("the outbox of %d differs from the embedded run's:\n%s", len(want.mails), diff)
	}
}

// Whatever is lost, throttled or dies on the way between functions, the run
// comes to the same, and no mail goes out twice (R33, R37).
func TestFollowUpInTrouble(t *testing.T) {
	t.Parallel()
	want := onEmbedded(t)
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, monday)
			a.bucket.put(t, "inputs/"+s1Files, filepath.Join(root, s1Files))
			a.deploy(s1, s1Crew...)
			out, failed := a.fire("2026-11-30T06:00:00Z")
			if failed != "" {
				t.Fatal(failed)
			}
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's dice
			a.trouble = func(_ string, payload []byte) trouble {
				if bytes.Contains(payload, []byte(`"use"`)) || random.IntN(12) > 0 {
					return none
				}
				happens := []trouble{never, lost, lost, busy}[random.IntN(4)]
				a.count(string(happens))
				return happens
			}
			a.decideAll(out.Run)
			a.compare(out.Run, want)
			if a.counts[string(lost)] < 10 || a.counts[string(busy)] < 5 {
				t.Errorf("too little went wrong: %v", a.counts)
			}
		})
	}
}
