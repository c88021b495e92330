package claimchecker_test

import (
	"strings"
	"testing"
	"unicode"

	claimchecker "github.com/outerloop-dev/outerloop/functions/workers/claim-checker"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/letter"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

var header = strings.Join(crm.Columns(), ",") + "\n"

const (
	before = "D-0,Other,Beta,Tom Becker,tom@beta.example,Approved,Peter Lang,Lead,,700.00,EUR,15%,2026-10-07\n"
	row    = `D-1,"Warehouse rollout, phase 2","Müller, Söhne & Co. KG",Ana Gómez,ana@mueller.example,Approved,Nora Weiß,Proposal,Analytics 360,"12,500.50",USD,12.5 %,2026-10-05` + "\n"
)

func mail() letter.Mail {
	return letter.Mail{
		Subject: "Your project Warehouse rollout, phase 2",
		Body: "Hello Ana Gómez,\n\nwe last spoke on 5 October 2026 about Warehouse rollout, phase 2 for Müller, Söhne & Co. KG. " +
			"The proposal over USD 12,500.50 for Analytics 360 is still open.\n\nFor this project we can offer a discount of 12.5%.\n\nBest regards\nNora Weiß\n",
		Discount: 0.125,
		Facts: []letter.Fact{
			{Text: "USD 12,500.50", Row: 3, Column: "Amount", Value: "12500.50"},
			{Text: "5 October 2026", Row: 3, Column: "Last activity", Value: "2026-10-05"},
			{Text: "12.5%", Row: 3, Column: "Discount", Value: "12.5%"},
			{Text: "Ana Gómez", Row: 3, Column: "Contact", Value: "Ana Gómez"},
		},
	}
}

func input(m letter.Mail) claimchecker.Input {
	in := claimchecker.Input{Mail: m, File: "export"}
	in.Row.ID, in.Row.Source = "D-1", crm.Source{Row: 3, Offset: int64(len(header + before))}
	return in
}

func review(t testing.TB, m letter.Mail) claimchecker.Output {
	t.Helper()
	o := workertest.Run(t, claimchecker.Worker, input(m), workertest.Setup{
		Files: map[string][]byte{"file": []byte(header + before + row)},
	})
	return workertest.Output[claimchecker.Output](t, o)
}

func passes(out claimchecker.Output) bool {
	return len(out.Unsupported) == 0 && len(out.Forbidden) == 0
}

func TestReviewPassesWhatTheRowSays(t *testing.T) {
	t.Parallel()
	if out := review(t, mail()); !passes(out) || out.Checked < 10 {
		t.Errorf("%+v", out)
	}
}

// One altered digit, anywhere, to any other digit, is refused.
func TestReviewRefusesAnAlteredDigit(t *testing.T) {
	t.Parallel()
	altered := 0
	for i, r := range mail().Body {
		if !unicode.IsDigit(r) {
			continue
		}
		for digit := '0'; digit <= '9'; digit++ {
			if digit == r {
				continue
			}
			m := mail()
			m.Body = m.Body[:i] + string(digit) + m.Body[i+1:]
			if out := review(t, m); passes(out) {
				t.Fatalf("passed with %c for %c at %d: %s", digit, r, i, m.Body)
			}
			altered++
		}
	}
	if altered < 150 {
		t.Errorf("only %d alterations were tried", altered)
	}
}

func TestReviewFindsFaults(t *testing.T) {
	t.Parallel()
	unsupported := map[string]string{
		"another figure":        "We have 40 customers like you.",
		"a figure in words":     "About ninety customers use it.",
		"another name":          "Tom Becker sends his regards.",
		"a name in front":       "Acme uses it as well.",
		"another script":        "Олена is looking forward to it.",
		"a caseless script":     "We spoke to 太郎 about it.",
		"another date":          "We spoke on 6 October 2026.",
		"a weekday":             "We can call on Monday.",
		"another amount":        "The rest is USD 12,500.",
		"a longer number":       "The rest is USD 12,500.505.",
		"a larger number":       "The rest is USD 112,500.50.",
		"a per mille":           "The rate is 12.5%% or so.",
		"an address":            "Write to sales@acme.example for it.",
		"a link":                "See https://acme.example/offer for it.",
		"a currency":            "All in € of course.",
		"a fraction":            "We pay ½ of it.",
		"a hidden character":    "Please re\u200bply soon.",
		"a zero character":      "Please reply\x00 soon.",
		"lookalike letters":     "we guаrantee it.",
		"a minus":               "A change of -12.5% is possible.",
		"the other row's offer": "Or a discount of 15%.",
	}
	for name, sentence := range unsupported {
		m := mail()
		m.Body += "\n" + sentence + "\n"
		if out := review(t, m); len(out.Unsupported) == 0 {
			t.Errorf("%s: %q passed", name, sentence)
		}
	}
	for _, sentence := range []string{
		"we guarantee it.", "this is GUARANTEED to work.", "you get it free\nof charge.", "it is the best price.",
		"there is a money-back rule.", "this is risk-free.", "use is unlimited.", "we deliver by then.", "this is a final offer.",
		"an additional discount is possible.", "we promise that.", "only today.", "you get a refund.",
	} {
		m := mail()
		m.Body += "\n" + sentence + "\n"
		out := review(t, m)
		if len(out.Forbidden) == 0 || out.Forbidden[0].Why == "" {
			t.Errorf("%q is not forbidden", sentence)
		}
	}
	for _, sentence := range []string{"Would you like to go on, Ana?", "Please feel free to reply.", "May I call you?", "Ana's proposal is open."} {
		m := mail()
		m.Body += "\n" + sentence + "\n"
		if out := review(t, m); !passes(out) {
			t.Errorf("%q: %+v", sentence, out)
		}
	}
}

func TestReviewChecksOfferAndCitations(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*letter.Mail){
		"an offer that is not in the row": func(m *letter.Mail) { m.Discount = 0.13 },
		"a discount that is not offered":  func(m *letter.Mail) { m.Discount = 0 },
		"another row":                     func(m *letter.Mail) { m.Facts[0].Row = 2 },
		"another value":                   func(m *letter.Mail) { m.Facts[0].Value = "12500.51" },
		"another wording":                 func(m *letter.Mail) { m.Facts[0].Text = "USD" },
		"a column that supports nothing":  func(m *letter.Mail) { m.Facts[0].Column = "Notes" },
		"a fact that is not in the mail":  func(m *letter.Mail) { m.Body = strings.ReplaceAll(m.Body, "Ana Gómez", "you") },
		"the scan's word against the row": func(m *letter.Mail) { m.Facts[1].Value, m.Facts[1].Text = "2026-10-06", "6 October 2026" },
	}
	for name, change := range cases {
		m := mail()
		change(&m)
		if out := review(t, m); passes(out) {
			t.Errorf("%s passed", name)
		}
	}
}

// The row is read from the file, whatever the deal says.
func TestReviewReadsTheRowItself(t *testing.T) {
	t.Parallel()
	changed := strings.Replace(header+before+row, "12,500.50", "12,500.51", 1)
	o := workertest.Run(t, claimchecker.Worker, input(mail()), workertest.Setup{Files: map[string][]byte{"file": []byte(changed)}})
	if out := workertest.Output[claimchecker.Output](t, o); passes(out) {
		t.Error("the mail passed against a file that says otherwise")
	}
	for name, change := range map[string]func(*claimchecker.Input){
		"another id":     func(in *claimchecker.Input) { in.Row.ID = "D-2" },
		"another offset": func(in *claimchecker.Input) { in.Row.Source.Offset += 3 },
		"no row":         func(in *claimchecker.Input) { in.Row.Source.Offset = 1 << 30 },
	} {
		in := input(mail())
		change(&in)
		o := workertest.Run(t, claimchecker.Worker, in, workertest.Setup{Files: map[string][]byte{"file": []byte(header + before + row)}})
		if o.Failure == nil || o.Failure.Class != "missing_input" {
			t.Errorf("%s: %+v", name, o.Failure)
		}
	}
}

// Whatever stands in a mail, the review ends with a verdict, and a digit that
// stands alone never passes.
func FuzzReview(f *testing.F) {
	f.Add("Your project", mail().Body)
	f.Add("", "\x00\xff 12.5% ½ 太郎 EUR")
	f.Add("x", "12.5%12.5%")
	f.Fuzz(func(t *testing.T, subject, body string) {
		m := mail()
		m.Subject, m.Body, m.Facts = subject, body+" 7 ", nil
		if out := review(t, m); len(out.Unsupported) == 0 {
			t.Fatalf("%q passed", body)
		}
	})
}
