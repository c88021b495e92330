package supporttriage_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	billingsupport "github.com/outerloop-dev/outerloop/functions/workers/billing-support"
	generalsupport "github.com/outerloop-dev/outerloop/functions/workers/general-support"
	"github.com/outerloop-dev/outerloop/functions/workers/helpdesk"
	supportstats "github.com/outerloop-dev/outerloop/functions/workers/support-stats"
	techsupport "github.com/outerloop-dev/outerloop/functions/workers/tech-support"
	ticketclassifier "github.com/outerloop-dev/outerloop/functions/workers/ticket-classifier"
	"github.com/outerloop-dev/outerloop/internal/sampletest"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// message is a line of requests.jsonl.
type message struct {
	Ticket   string    `json:"ticket"`
	Message  string    `json:"message"`
	Created  time.Time `json:"created"`
	Customer string    `json:"customer"`
	Text     string    `json:"text"`
}

func messages(t *testing.T) []message {
	t.Helper()
	f, err := os.Open("requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []message
	for s := bufio.NewScanner(f); s.Scan(); {
		var m message
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// S3: every request of a morning is answered from an approved article, or given
// to a person: the unhappy ones, the risky ones, and those that no article fits (R50, R51).
func TestMorning(t *testing.T) {
	t.Parallel()
	all := messages(t)
	d := &desk{T: t, World: world(t, all[0].Created), runs: map[string]string{}, asked: map[string]int{}}
	for _, m := range all {
		d.receive(m)
		d.decide()
	}
	d.For(time.Minute)
	d.decide()
	counts := map[outerloop.Status]int{}
	for _, run := range d.runs {
		counts[d.Show(run).Status]++
	}
	// 6 unhappy customers have a person; what no article fits, or one word only, waits for one.
	if len(d.runs) != 48 || counts[outerloop.StatusCompleted] != 37 || counts[outerloop.StatusAwaitingApproval] != 11 {
		t.Errorf("%d requests: %v", len(d.runs), counts)
	}
	if d.asked["classify"] != 4 || d.asked["reply/2/answer"] != 2 || d.asked["reply/2/send"] != 4 {
		t.Errorf("people were asked %v", d.asked)
	}
	entries := map[string]int{}
	for name, content := range d.Made(helpdesk.Connection) {
		var e helpdesk.Entry
		if err := json.Unmarshal([]byte(content), &e); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		entries[e.Entry]++
	}
	if entries[helpdesk.Assignment] != 6 || entries[helpdesk.Answer] != 31 {
		t.Errorf("entries %v", entries)
	}
	var today supportstats.Output
	d.Fact("support/2026-11-30", &today)
	if today.Answered != 31 || today.Assigned != 6 || today.Billing+today.Technical+today.General != 37 {
		t.Errorf("counted %+v", today)
	}
}

func world(t *testing.T, now time.Time) *sampletest.World {
	t.Helper()
	return sampletest.New(t, sampletest.Setup{
		Root: "../..", Now: now, Loops: []string{"support-triage"},
		Workers: []worker.Worker{
			ticketclassifier.Worker, billingsupport.Worker, techsupport.Worker, generalsupport.Worker, helpdesk.Worker, supportstats.Worker,
		},
	})
}

// desk is the support team's lead, who decides at once.
type desk struct {
	T *testing.T
	*sampletest.World
	runs  map[string]string
	asked map[string]int
}

func (d *desk) receive(m message) {
	d.T.Helper()
	if m.Created.After(d.Now()) {
		d.Until(m.Created)
	}
	run, err := d.Webhook("helpdesk", m)
	if err != nil {
		d.T.Fatal(err)
	}
	if before, again := d.runs[m.Message]; again && before != run {
		d.T.Errorf("%s was delivered twice and has two runs", m.Message)
	}
	d.runs[m.Message] = run
	d.For(time.Second)
}

// decide approves what is asked; an answer that a person must give is written.
func (d *desk) decide() {
	d.T.Helper()
	for open := d.Approvals(""); len(open) > 0; open = d.Approvals("") {
		req := coordinator.DecideRequest{Approval: open[0].ID, Verdict: coordinator.Approve, By: "agent-lead", Reason: "read"}
		if open[0].Step == "reply/2/answer" {
			req.Edit = json.RawMessage(`{"text":"We have received this and a person of our legal team answers within a day.","article":""}`)
		}
		d.asked[open[0].Step]++
		if _, err := d.Engine.Coordinator().Decide(d.T.Context(), req); err != nil {
			d.T.Fatal(err)
		}
		d.For(time.Second)
	}
}
