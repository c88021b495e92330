// Package letter writes a mail about a deal from an approved template, and
// notes for every fact that the template uses the cell it comes from.
package letter

import (
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
)

// Mail is what the writers of mails hand over.
type Mail struct {
	Subject string `json:"subject"`
	Body    string `json:"body"`
	// Discount is what the mail offers, as a fraction.
	Discount float64 `json:"discount"`
	Facts    []Fact  `json:"facts"`
}

// Fact is a fact that the mail states.
type Fact struct {
	// Text are the words of the mail, Value what the cell says.
	Text   string `json:"text"`
	Row    int    `json:"row"`
	Column string `json:"column"`
	Value  string `json:"value"`
}

// Input is the input of a writer of mails.
type Input struct {
	Deal      crm.Deal `json:"deal"`
	Scorecard struct {
		Result string `json:"result"`
		Reason string `json:"reason"`
	} `json:"scorecard"`
}

// Parse reads a template: a first line "Subject: …", a blank line, the body.
// It panics when the text is no template, since templates are part of the program.
func Parse(name, text string) *template.Template {
	return template.Must(template.New(name).Option("missingkey=error").Parse(text))
}

// Compose writes the mail. Errors are those of the template.
func Compose(t *template.Template, d crm.Deal) (Mail, error) {
	f := &facts{deal: d, found: []Fact{}}
	var b strings.Builder
	if err := t.Execute(&b, f); err != nil {
		return Mail{}, err
	}
	head, body, ok := strings.Cut(strings.TrimSpace(b.String()), "\n\n")
	subject, named := strings.CutPrefix(strings.TrimSpace(head), "Subject: ")
	if !ok || !named || strings.Contains(subject, "\n") {
		return Mail{}, fmt.Errorf("template %s does not begin with a subject and a blank line", t.Name())
	}
	return Mail{Subject: subject, Body: strings.TrimSpace(body) + "\n", Discount: f.discount, Facts: f.found}, nil
}

// facts is what a template sees: each method is a fact, and notes its use.
type facts struct {
	deal     crm.Deal
	found    []Fact
	discount float64
}

func (f *facts) cite(column, text, value string) string {
	for _, have := range f.found {
		if have.Column == column {
			return text
		}
	}
	f.found = append(f.found, Fact{Text: text, Row: f.deal.Source.Row, Column: column, Value: value})
	return text
}

// Deal is the deal's name.
func (f *facts) Deal() string { return f.cite(crm.ColumnName, f.deal.Name, f.deal.Name) }

// Company is the customer.
func (f *facts) Company() string { return f.cite(crm.ColumnCompany, f.deal.Company, f.deal.Company) }

// Owner is who signs.
func (f *facts) Owner() string { return f.cite(crm.ColumnOwner, f.deal.Owner, f.deal.Owner) }

// Stop ends a sentence after a fact, which may end in a full stop itself: "Lda.".
func (*facts) Stop(text string) string { return strings.TrimSuffix(text, ".") + "." }

// HasContact tells whether there is a name to greet.
func (f *facts) HasContact() bool { return f.deal.Contact != "" }

// Contact is the name to greet.
func (f *facts) Contact() string { return f.cite(crm.ColumnContact, f.deal.Contact, f.deal.Contact) }

// HasProduct tells whether the deal names a product.
func (f *facts) HasProduct() bool { return f.deal.Product != "" }

// Product is what the deal is about.
func (f *facts) Product() string { return f.cite(crm.ColumnProduct, f.deal.Product, f.deal.Product) }

// HasDiscount tells whether sales noted a discount.
func (f *facts) HasDiscount() bool { return f.deal.Discount > 0 }

// Discount is the discount that sales noted; using it makes the mail offer it.
func (f *facts) Discount() string {
	f.discount = f.deal.Discount
	text := crm.Percent(f.deal.Discount)
	return f.cite(crm.ColumnDiscount, text, text)
}

// Amount is the deal's amount in its own currency.
func (f *facts) Amount() string {
	cents := crm.Cents(f.deal.Amount)
	value := fmt.Sprintf("%d.%02d", cents/100, cents%100)
	return f.cite(crm.ColumnAmount, crm.Money(cents, f.deal.Currency), value)
}

// LastContact is the day of the last activity.
func (f *facts) LastContact() (string, error) {
	day, err := time.Parse(crm.Day, f.deal.LastActivity)
	if err != nil {
		return "", err
	}
	return f.cite(crm.ColumnActivity, crm.LongDate(day), f.deal.LastActivity), nil
}
