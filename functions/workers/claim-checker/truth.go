package claimchecker

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/letter"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// truth is what a mail may say about a deal, by its row.
type truth struct {
	row int
	// wordings are the ways to write a column's value, by column.
	wordings map[string][]string
	// values are the columns' values in plain form.
	values   map[string]string
	discount float64
}

// newTruth reads what the row says. A row that cannot be read is a missing
// input: nothing can be checked against it.
func newTruth(row crm.Row, offered float64) (truth, error) {
	t := truth{row: row.Row, wordings: map[string][]string{}, values: map[string]string{}}
	for _, column := range []string{crm.ColumnName, crm.ColumnCompany, crm.ColumnContact, crm.ColumnOwner, crm.ColumnProduct} {
		text, err := crm.ParseText(row.Cell(column))
		if err != nil {
			return t, worker.MissingInput("row %d, %s: %w", row.Row, column, err)
		}
		t.say(column, text, text)
	}
	for _, column := range []string{crm.ColumnContact, crm.ColumnOwner} { // a person may be called by one name
		for _, part := range strings.Fields(t.values[column]) {
			if !strings.ContainsFunc(part, unicode.IsNumber) {
				t.wordings[column] = append(t.wordings[column], part)
			}
		}
	}
	cents, err := crm.ParseAmount(row.Cell(crm.ColumnAmount))
	if err != nil {
		return t, worker.MissingInput("row %d, %s: %w", row.Row, crm.ColumnAmount, err)
	}
	currency := strings.ToUpper(crm.Text(row.Cell(crm.ColumnCurrency)))
	t.say(crm.ColumnAmount, fmt.Sprintf("%d.%02d", cents/100, cents%100), crm.Money(cents, currency))
	day, err := crm.ParseDay(row.Cell(crm.ColumnActivity))
	if err != nil {
		return t, worker.MissingInput("row %d, %s: %w", row.Row, crm.ColumnActivity, err)
	}
	t.say(crm.ColumnActivity, day.Format(crm.Day), crm.LongDate(day), day.Format(crm.Day))
	points, err := crm.ParseDiscount(row.Cell(crm.ColumnDiscount))
	if err != nil {
		return t, worker.MissingInput("row %d, %s: %w", row.Row, crm.ColumnDiscount, err)
	}
	t.discount = float64(points) / 1e4
	if points > 0 && offered > 0 { // a mail that offers no discount must not name one
		t.say(crm.ColumnDiscount, crm.Percent(t.discount), crm.Percent(t.discount))
	}
	return t, nil
}

func (t truth) say(column, value string, wordings ...string) {
	t.values[column] = value
	if value != "" {
		t.wordings[column] = wordings
	}
}

// phrases are all wordings, the longest first, so that "EUR 12,500.00" is
// taken before a company that is called "EUR".
func (t truth) phrases() []string {
	var all []string
	for _, wordings := range t.wordings {
		all = append(all, wordings...)
	}
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(all)
}

// check compares a mail with the row.
func (t truth) check(mail letter.Mail) Output {
	out := Output{Unsupported: []Fault{}, Forbidden: []Fault{}}
	phrases := t.phrases()
	for _, text := range []string{mail.Subject, mail.Body} {
		if strings.ContainsRune(text, taken) {
			out.Unsupported = append(out.Unsupported, Fault{Text: "U+0000", Why: "a hidden character"})
		}
		rest, found := mask(text, phrases)
		out.Checked += found
		out.Unsupported = append(out.Unsupported, t.unsupported(rest)...)
		out.Forbidden = append(out.Forbidden, forbidden(rest)...)
	}
	if mail.Discount != 0 && math.Abs(mail.Discount-t.discount) > 1e-9 {
		out.Unsupported = append(out.Unsupported, Fault{
			Text: "discount " + crm.Percent(mail.Discount),
			Why:  fmt.Sprintf("row %d says %s", t.row, crm.Percent(t.discount)),
		})
	}
	for _, fact := range mail.Facts {
		out.Checked++
		if why := t.refute(fact, mail); why != "" {
			out.Unsupported = append(out.Unsupported, Fault{Text: fact.Text, Why: why})
		}
	}
	return out
}

// refute says what is wrong with a cited fact; nothing: it is as cited.
func (t truth) refute(fact letter.Fact, mail letter.Mail) string {
	value, known := t.values[fact.Column]
	switch {
	case fact.Row != t.row:
		return fmt.Sprintf("cites row %d; the deal stands in row %d", fact.Row, t.row)
	case !known:
		return fmt.Sprintf("cites the column %q, which supports no fact of a mail", fact.Column)
	case fact.Value != value:
		return fmt.Sprintf("cites %s; row %d says %s", crm.Quote(fact.Value), t.row, crm.Quote(value))
	case !slices.Contains(t.wordings[fact.Column], fact.Text):
		return fmt.Sprintf("is no wording of %s", crm.Quote(value))
	case !strings.Contains(mail.Subject+"\n"+mail.Body, fact.Text):
		return "is cited but does not stand in the mail"
	}
	return ""
}

// unsupported names every figure, date, name and address that is left when
// what the row says has been taken out.
func (t truth) unsupported(rest string) []Fault {
	var faults []Fault
	for _, claim := range claims(rest) {
		faults = append(faults, Fault{Text: claim.text, Why: fmt.Sprintf("the %s does not stand in row %d", claim.kind, t.row)})
	}
	return faults
}
