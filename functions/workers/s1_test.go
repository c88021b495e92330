package workers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	claimchecker "github.com/outerloop-dev/outerloop/functions/workers/claim-checker"
	crmscan "github.com/outerloop-dev/outerloop/functions/workers/crm-scan"
	followuptemplate "github.com/outerloop-dev/outerloop/functions/workers/followup-template"
	followupwriter "github.com/outerloop-dev/outerloop/functions/workers/followup-writer"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/letter"
	leadqualifier "github.com/outerloop-dev/outerloop/functions/workers/lead-qualifier"
	"github.com/outerloop-dev/outerloop/functions/workers/mailer"
	salesdashboard "github.com/outerloop-dev/outerloop/functions/workers/sales-dashboard"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// chain runs the workers of crm-followup one after another on the shipped
// export, checks each input and output against its schema, and counts what the
// loop's rules would ask of a person.
type chain struct {
	t        *testing.T
	export   []byte
	outbox   string
	approval map[string]int
	done     []map[string]any
}

func (c *chain) run(dir string, w worker.Worker, in any, s workertest.Setup) workertest.Outcome {
	c.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		c.t.Fatal(err)
	}
	conforms(c.t, dir+"/schemas/input.json", raw)
	o := workertest.Run(c.t, w, in, s)
	if o.Failure != nil {
		c.t.Fatalf("%s: %+v", dir, o.Failure)
	}
	conforms(c.t, dir+"/schemas/output.json", o.Result.Output)
	return o
}

func conforms(t *testing.T, path string, raw []byte) {
	t.Helper()
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := schema.Compile(path, doc)
	if err != nil {
		t.Fatal(err)
	}
	if _, faults := compiled.Check(raw); len(faults) > 0 {
		t.Errorf("%s: %v\n%.300s", path, faults, raw)
	}
}

func (c *chain) files() map[string][]byte { return map[string][]byte{"file": c.export} }

// deal takes one stale deal through qualify, draft, review and send.
func (c *chain) deal(d crm.Deal) {
	sent := ""
	defer func() { c.done = append(c.done, map[string]any{"deal": d.ID, "mail": sent, "declined": false}) }()
	qualified := c.run("lead-qualifier", leadqualifier.Worker, map[string]any{"deal": d}, workertest.Setup{})
	score := workertest.Output[leadqualifier.Output](c.t, qualified)
	if score.Result == leadqualifier.NeedsReview {
		c.approval["qualify"]++
	}
	if score.Result == leadqualifier.Unqualified {
		return
	}
	in := map[string]any{"deal": d, "scorecard": score}
	drafted := c.run("followup-writer", followupwriter.Worker, in, workertest.Setup{})
	mail := workertest.Output[letter.Mail](c.t, drafted)
	if mail.Discount > 0.10 {
		c.approval["draft"]++
	}
	c.review(d, mail)
	if len(c.done)%5 == 0 {
		c.alter(d, mail)
	}
	revised := c.run("followup-writer", followupwriter.Worker, in, workertest.Setup{
		Visit: 2, Feedback: []gate.Feedback{{From: "claim-checker", Faults: []string{"a figure does not stand in the row"}}},
	})
	c.review(d, workertest.Output[letter.Mail](c.t, revised))
	backup := c.run("followup-template", followuptemplate.Worker, in, workertest.Setup{})
	c.review(d, workertest.Output[letter.Mail](c.t, backup))
	if d.AmountEUR >= 10000 || drafted.Result.Confidence != worker.High {
		c.approval["send"]++
	}
	out := c.run("mailer", mailer.Worker, mailer.Input{To: d.Email, Subject: mail.Subject, Body: mail.Body}, workertest.Setup{
		Action: "send-follow-up", Gate: &workertest.Gate{},
		Connections: map[string]worker.Connection{"mail": {Name: "mail", Kind: "outbox", Settings: map[string]string{"dir": c.outbox}}},
	})
	sent = workertest.Output[mailer.Output](c.t, out).MessageID
}

func (c *chain) review(d crm.Deal, mail letter.Mail) {
	c.t.Helper()
	o := c.run("claim-checker", claimchecker.Worker, map[string]any{"mail": mail, "file": "export", "row": d},
		workertest.Setup{Files: c.files()})
	out := workertest.Output[claimchecker.Output](c.t, o)
	if len(out.Unsupported)+len(out.Forbidden) > 0 || out.Checked < 5 {
		c.t.Errorf("deal %s: %+v\n%s", d.ID, out, mail.Body)
	}
}

// alter changes each digit of a mail in turn and sees it refused.
func (c *chain) alter(d crm.Deal, mail letter.Mail) {
	c.t.Helper()
	for i := range mail.Body {
		if mail.Body[i] < '0' || mail.Body[i] > '9' {
			continue
		}
		other := mail
		other.Body = mail.Body[:i] + string('0'+(mail.Body[i]-'0'+1)%10) + mail.Body[i+1:]
		o := workertest.Run(c.t, claimchecker.Worker, map[string]any{"mail": other, "file": "export", "row": d},
			workertest.Setup{Files: c.files()})
		if out := workertest.Output[claimchecker.Output](c.t, o); len(out.Unsupported) == 0 {
			c.t.Errorf("deal %s passed with an altered digit at %d:\n%s", d.ID, i, other.Body)
		}
	}
}

func TestS1OnTheShippedExport(t *testing.T) {
	t.Parallel()
	export, err := os.ReadFile("../../exports/crm.csv")
	if err != nil {
		t.Fatal(err)
	}
	c := &chain{t: t, export: export, outbox: filepath.Join(t.TempDir(), "outbox"), approval: map[string]int{}}
	scanned := c.run("crm-scan", crmscan.Worker, map[string]any{
		"file": "export", "as_of": "2026-11-30", "stale_after": "14d", "eur": map[string]float64{"USD": 0.92, "GBP": 1.17, "CHF": 1.05},
	}, workertest.Setup{Files: c.files()})
	scan := workertest.Output[crmscan.Output](t, scanned)
	contacts := map[string]int{}
	for _, d := range scan.Stale {
		contacts[d.Email]++
		c.deal(d)
	}
	asked := c.approval["qualify"] + c.approval["draft"] + c.approval["send"]
	if asked < 5 || asked > 15 || c.approval["qualify"] < 2 || c.approval["draft"] < 2 || c.approval["send"] < 4 {
		t.Errorf("a person is asked %v", c.approval)
	}
	for email, deals := range contacts {
		if deals > 2 { // the quota of three mails in 30 days is the loop's, not the export's business
			t.Errorf("%s has %d stale deals", email, deals)
		}
	}
	board := c.run("sales-dashboard", salesdashboard.Worker,
		map[string]any{"totals": scan.Totals, "done": c.done, "rejected": scan.Rejected, "missing": []string{}}, workertest.Setup{})
	fact := workertest.Output[salesdashboard.Output](t, board)
	if fact.Mails < 25 || fact.NoMail < 8 || fact.Mails+fact.NoMail != fact.Stale {
		t.Errorf("%+v", fact)
	}
	if len(fact.RejectedRows) != fact.Rejected || fact.Rejected < 20 {
		t.Errorf("%d of %d rejected rows are listed", len(fact.RejectedRows), fact.Rejected)
	}
	t.Logf("%d stale, %d mails, %d without, asked %v", fact.Stale, fact.Mails, fact.NoMail, c.approval)
}
