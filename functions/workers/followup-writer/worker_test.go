package followupwriter_test

import (
	"strings"
	"testing"

	followuptemplate "github.com/outerloop-dev/outerloop/functions/workers/followup-template"
	followupwriter "github.com/outerloop-dev/outerloop/functions/workers/followup-writer"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/letter"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func input(change func(*crm.Deal)) letter.Input {
	in := letter.Input{Deal: crm.Deal{
		ID: "D-1", Name: "Warehouse rollout, phase 2", Company: "Müller, Söhne & Co. KG", Contact: "Ana Gómez",
		Owner: "Nora Weiß", Product: "Analytics 360", Amount: 12500.5, Currency: "USD", Discount: 0.125,
		LastActivity: "2026-10-05", IdleDays: 56, Source: crm.Source{Row: 17, Offset: 900},
	}}
	in.Scorecard.Result = "qualified"
	if change != nil {
		change(&in.Deal)
	}
	return in
}

const full = `Hello Ana Gómez,

we last spoke on 5 October 2026 about Warehouse rollout, phase 2 for Müller, Söhne & Co. KG. The proposal over USD 12,500.50 for Analytics 360 is still open on our side.

For this project we can offer a discount of 12.5%.

Would a short call help you to decide? A reply to this mail is enough, and I will suggest a time. If the project is no longer of interest, please tell me, and I will close it.

Best regards
Nora Weiß
`

func TestDraft(t *testing.T) {
	t.Parallel()
	o := workertest.Run(t, followupwriter.Worker, input(nil), workertest.Setup{})
	mail := workertest.Output[letter.Mail](t, o)
	if mail.Subject != "Your project Warehouse rollout, phase 2" || mail.Body != full || mail.Discount != 0.125 {
		t.Errorf("%s\n\n%s", mail.Subject, mail.Body)
	}
	columns := map[string]string{}
	for _, fact := range mail.Facts {
		columns[fact.Column] = fact.Text + "=" + fact.Value
		if fact.Row != 17 || !strings.Contains(mail.Subject+mail.Body, fact.Text) {
			t.Errorf("fact %+v", fact)
		}
	}
	if len(columns) != 8 || columns["Amount"] != "USD 12,500.50=12500.50" || columns["Last activity"] != "5 October 2026=2026-10-05" {
		t.Errorf("facts %v", columns)
	}
	if o.Result.Confidence != worker.High || len(o.Result.Evidence) != len(mail.Facts) {
		t.Errorf("confidence %s, evidence %v", o.Result.Confidence, o.Result.Evidence)
	}
}

func TestDraftLeavesOutWhatTheRowLacks(t *testing.T) {
	t.Parallel()
	o := workertest.Run(t, followupwriter.Worker, input(func(d *crm.Deal) { d.Contact, d.Product, d.Discount = "", "", 0 }), workertest.Setup{})
	mail := workertest.Output[letter.Mail](t, o)
	if !strings.HasPrefix(mail.Body, "Hello,\n") || strings.Contains(mail.Body, "discount") || strings.Contains(mail.Body, " for  ") || mail.Discount != 0 {
		t.Errorf("%s", mail.Body)
	}
	if o.Result.Confidence != worker.Medium || !strings.Contains(o.Result.Reason, "no person to greet") {
		t.Errorf("confidence %s: %s", o.Result.Confidence, o.Result.Reason)
	}
	o = workertest.Run(t, followupwriter.Worker, input(func(d *crm.Deal) { d.IdleDays = 366 }), workertest.Setup{})
	if o.Result.Confidence != worker.Medium {
		t.Errorf("confidence after 366 days: %s", o.Result.Confidence)
	}
}

// A name that ends in a full stop ends its sentence too.
func TestDraftAfterAnAbbreviation(t *testing.T) {
	t.Parallel()
	in := input(func(d *crm.Deal) { d.Company = "Ponte & Filhos, Lda." })
	for _, feedback := range [][]gate.Feedback{nil, {{From: "claim-checker", Faults: []string{"no"}}}} {
		o := workertest.Run(t, followupwriter.Worker, in, workertest.Setup{Feedback: feedback})
		mail := workertest.Output[letter.Mail](t, o)
		if strings.Contains(mail.Body, "..") || !strings.Contains(mail.Body, " for Ponte & Filhos, Lda. ") {
			t.Errorf("%s", mail.Body)
		}
	}
}

// A verdict changes the draft, so that the same faults do not come back (R7).
func TestDraftAfterAVerdict(t *testing.T) {
	t.Parallel()
	feedback := []gate.Feedback{{From: "claim-checker", Faults: []string{"the figure does not stand in row 17"}}}
	o := workertest.Run(t, followupwriter.Worker, input(nil), workertest.Setup{Feedback: feedback, Visit: 2})
	mail := workertest.Output[letter.Mail](t, o)
	if strings.Contains(mail.Body, "12,500.50") || strings.Contains(mail.Body, "%") || mail.Discount != 0 || mail.Body == full {
		t.Errorf("%s", mail.Body)
	}
}

// The backup has the same contract and makes no offer (R21, R30).
func TestBackup(t *testing.T) {
	t.Parallel()
	o := workertest.Run(t, followuptemplate.Worker, input(nil), workertest.Setup{})
	mail := workertest.Output[letter.Mail](t, o)
	if mail.Discount != 0 || strings.Contains(mail.Body, "%") || !strings.Contains(mail.Body, "Müller, Söhne & Co. KG") {
		t.Errorf("%s", mail.Body)
	}
}

func TestUnusableDeal(t *testing.T) {
	t.Parallel()
	o := workertest.Run(t, followupwriter.Worker, input(func(d *crm.Deal) { d.LastActivity = "yesterday" }), workertest.Setup{})
	if o.Failure == nil || o.Failure.Class != "fatal" {
		t.Errorf("%+v", o.Failure)
	}
}
