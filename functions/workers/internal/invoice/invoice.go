// Package invoice reads the text of an invoice: German, English and French
// labels, and amounts as each of them writes them. It guesses nothing: what does
// not add up is no invoice.
package invoice

import (
	"fmt"
	"regexp"
	"strings"
)

// Invoice is what an invoice says. Amounts are in its currency.
type Invoice struct {
	Number      string  `json:"number"`
	OrderNumber string  `json:"order_number"`
	Currency    string  `json:"currency"`
	Net         float64 `json:"net"`
	Tax         float64 `json:"tax"`
	Gross       float64 `json:"gross"`
	Lines       []Line  `json:"lines"`
}

// Line is one position.
type Line struct {
	Text string  `json:"text"`
	Net  float64 `json:"net"`
}

// Place is where in the text a value stands: lines count from 1.
type Place struct {
	What string
	Line int
}

// Reading is an invoice with the places of its values.
type Reading struct {
	Invoice
	Places []Place
	// Corrected counts the characters that were read as others (see Lenient).
	Corrected int
}

// Fault says why a text is no usable invoice.
type Fault struct{ Reason string }

// Error is the reason.
func (f *Fault) Error() string { return f.Reason }

func fault(format string, args ...any) error { return &Fault{fmt.Sprintf(format, args...)} }

var (
	numberLabel = regexp.MustCompile(`(?i)(?:rechnungs?(?:nummer|-?nr\.?| nr\.?)|invoice(?: no\.?| number)|facture n°)\s*:?\s*([A-Z0-9][A-Z0-9/-]*[0-9])`)
	orderNumber = regexp.MustCompile(`(?i)\bp[o0][ -]?([0-9]{4})\b`)
	position    = regexp.MustCompile(`^\s*\d{1,3}[.)]?\s+(\pL.*)$`)
	netLabel    = regexp.MustCompile(`(?i)^\s*(netto|nettobetrag|zwischensumme|subtotal|net amount|total ht)\b`)
	taxLabel    = regexp.MustCompile(`(?i)^\s*(ust|mwst|umsatzsteuer|vat|tva)\b`)
	grossLabel  = regexp.MustCompile(`(?i)^\s*(brutto|gesamtbetrag|rechnungsbetrag|total due|amount due|total ttc)\b`)
	currency    = regexp.MustCompile(`\b(EUR|GBP|USD|CHF|PLN)\b|[€£$]`)
	signs       = map[string]string{"€": "EUR", "£": "GBP", "$": "USD"}
)

// Parse reads a clean text. Errors: *Fault.
func Parse(text string) (Reading, error) { return parse(text, strict{}) }

// Lenient reads a scan in which letters stand for the digits that look like
// them. Errors: *Fault; a misread digit that another digit replaces shows only
// in the sums, which must agree.
func Lenient(text string) (Reading, error) { return parse(text, lenient{}) }

// script is how characters are read.
type script interface {
	// label gives a line as it is compared with labels.
	label(line string) string
	// last gives the last amount of a line in cents, what stands before it, and
	// how many characters were corrected.
	last(line string) (cents int64, before string, corrected int, ok bool)
}

func parse(text string, s script) (Reading, error) {
	p := parser{script: s}
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		p.line(i+1, line)
	}
	return p.reading()
}

type parser struct {
	script
	Reading
	net, tax, gross, sum int64
	found                [3]bool
}

func (p *parser) place(what string, line int) { p.Places = append(p.Places, Place{what, line}) }

func (p *parser) line(n int, line string) {
	label := p.label(line)
	if m := numberLabel.FindStringSubmatch(line); m != nil && p.Number == "" {
		p.Number = m[1]
		p.place("number "+p.Number, n)
	}
	if m := orderNumber.FindStringSubmatch(line); m != nil && p.OrderNumber == "" {
		p.OrderNumber = "PO-" + m[1]
		p.place("order "+p.OrderNumber, n)
	}
	if code := currency.FindString(line); code != "" && p.Currency == "" {
		if p.Currency = code; signs[code] != "" {
			p.Currency = signs[code]
		}
	}
	for i, total := range []struct {
		label *regexp.Regexp
		what  string
		cents *int64
	}{{netLabel, "net", &p.net}, {taxLabel, "tax", &p.tax}, {grossLabel, "gross", &p.gross}} {
		if cents, _, corrected, ok := p.last(line); ok && !p.found[i] && total.label.MatchString(label) {
			*total.cents, p.found[i] = cents, true
			p.Corrected += corrected
			p.place(total.what, n)
			return
		}
	}
	p.position(n, line)
}

// position reads a line of the table: its number, a text, and the amount last.
func (p *parser) position(n int, line string) {
	m := position.FindStringSubmatch(line)
	if m == nil || p.found[0] {
		return
	}
	cents, before, corrected, ok := p.last(m[1])
	if !ok {
		return
	}
	p.Corrected += corrected
	p.sum += cents
	p.Lines = append(p.Lines, Line{Text: strings.Join(strings.Fields(before), " "), Net: units(cents)})
	p.place(fmt.Sprintf("position %d", len(p.Lines)), n)
}

func (p *parser) reading() (Reading, error) {
	for i, what := range []string{"net", "tax", "gross"} {
		if !p.found[i] {
			return Reading{}, fault("no %s amount can be read", what)
		}
	}
	switch {
	case p.Number == "":
		return Reading{}, fault("no invoice number can be read")
	case p.Currency == "":
		return Reading{}, fault("no currency can be read")
	case len(p.Lines) == 0:
		return Reading{}, fault("no position can be read")
	case p.sum != p.net:
		return Reading{}, fault("the positions add up to %.2f, but net is %.2f", units(p.sum), units(p.net))
	case p.net+p.tax != p.gross:
		return Reading{}, fault("net and tax add up to %.2f, but gross is %.2f", units(p.net+p.tax), units(p.gross))
	}
	p.Net, p.Tax, p.Gross = units(p.net), units(p.tax), units(p.gross)
	return p.Reading, nil
}

func units(cents int64) float64 { return float64(cents) / 100 }
