package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// asOf is the day that the export was made on.
var asOf = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

const day = "2006-01-02"

var header = []string{
	"Deal ID", "Deal name", "Company", "Contact", "E-mail", "Phone", "Contact status", "Owner", "Stage", "Product",
	"Amount", "Currency", "Discount", "Created", "Last activity", "Notes",
}

// The places of the cells that are changed after a row was made.
const (
	atID = iota
	atName
	atCompany
	atContact
	atEmail
	_
	atStatus
	_
	atStage
	_
	atAmount
	atCurrency
	atDiscount
	_
	atActivity
)

// source makes rows; all its randomness comes from the seed.
type source struct {
	*rand.Rand
	used   map[string]int
	number int
	dirt   int
	// kept are clean rows to make duplicates of.
	kept [][]string
}

// write writes an export of so many data rows.
func write(to io.Writer, rows int, seed uint64) error {
	s := &source{Rand: rand.New(rand.NewPCG(seed, 0x6f75746572)), used: map[string]int{}}
	if _, err := io.WriteString(to, "\ufeff"); err != nil {
		return err
	}
	w := csv.NewWriter(to)
	w.UseCRLF = true
	if err := w.Write(header); err != nil {
		return err
	}
	for n := range rows {
		row := s.row(n)
		if row.cells != nil {
			if err := w.Write(row.cells); err != nil {
				return err
			}
			continue
		}
		w.Flush()
		if _, err := io.WriteString(to, row.raw); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// line is a row by its cells, or as raw text where it is not well-formed.
type line struct {
	cells []string
	raw   string
}

// row is the n-th row: one of the chosen ones at its place, now and then a
// dirty one, else a plain one.
func (s *source) row(n int) line {
	if special, ok := chosen[n]; ok {
		return line{cells: s.deal(special)}
	}
	roll := s.Float64()
	switch {
	case n%12 == 5 && len(s.kept) > 3:
		return s.dirty()
	case roll < 0.30:
		return line{cells: s.closed()}
	case roll < 0.42:
		return line{cells: s.keep(s.deal(s.stale()))}
	}
	fresh := s.stale()
	fresh.idle = s.IntN(14)
	return line{cells: s.keep(s.deal(fresh))}
}

func (s *source) keep(cells []string) []string {
	if len(s.kept) < 50 {
		s.kept = append(s.kept, cells)
	}
	return cells
}

// profile is what matters of a deal.
type profile struct {
	stage    string
	euro     float64
	currency string
	idle     int
	status   string
	discount string
	nameless bool
	contact  string
}

// chosen are deals that a person must look at, and the edges beside them. All
// other deals need nobody, so that their number does not grow with the export.
var chosen = map[int]profile{
	17: {stage: "Negotiation", euro: 10000, currency: "EUR", idle: 14},
	23: {stage: "Proposal", euro: 9999.99, currency: "EUR", idle: 15},
	31: {stage: "Proposal", euro: 18400, currency: "GBP", idle: 44},
	38: {stage: "Qualified", euro: 1900, currency: "EUR", idle: 150},
	44: {stage: "Negotiation", euro: 2300, currency: "EUR", idle: 31, discount: "12%"},
	52: {stage: "Proposal", euro: 4100, currency: "EUR", idle: 58, nameless: true},
	57: {stage: "Negotiation", euro: 12750.5, currency: "USD", idle: 73},
	61: {stage: "Qualified", euro: 900, currency: "CHF", idle: 199},
	66: {stage: "Proposal", euro: 3600, currency: "EUR", idle: 402},
	70: {stage: "Negotiation", euro: 5200, currency: "USD", idle: 21, discount: "10%"},
	74: {stage: "Negotiation", euro: 46000, currency: "CHF", idle: 90},
	78: {stage: "Qualified", euro: 2499, currency: "EUR", idle: 240},
	83: {stage: "Proposal", euro: 6400, currency: "EUR", idle: 27, discount: "12.5 %"},
	88: {stage: "Proposal", euro: 3100, currency: "EUR", idle: 19, contact: "anna.schmidt@sevenhills.example"},
	91: {stage: "Negotiation", euro: 2700, currency: "EUR", idle: 16, contact: "anna.schmidt@sevenhills.example"},
	95: {stage: "Proposal", euro: 30000, currency: "EUR", idle: 13},
	98: {stage: "Proposal", euro: 25000, currency: "EUR", idle: 33, status: "Opted out"},
}

// stale is a deal that no person need look at: clearly worth a mail, or
// clearly not.
func (s *source) stale() profile {
	p := profile{status: "Approved", discount: s.pick("", "", "", "", "5%", "7.5%", "10 %")}
	p.currency = factors[s.IntN(len(factors))].currency
	switch roll := s.Float64(); {
	case roll < 0.62:
		p.stage, p.euro, p.idle = s.pick("Proposal", "Negotiation"), 600+s.Float64()*8600, 14+s.IntN(100)
	case roll < 0.76:
		p.stage, p.euro, p.idle = "Lead", 600+s.Float64()*1700, 130+s.IntN(220)
	case roll < 0.86:
		p.stage, p.euro, p.idle = s.pick("Lead", "Qualified", "Proposal"), 60+s.Float64()*360, 20+s.IntN(300)
	default:
		p.stage, p.euro, p.idle = s.pick("Qualified", "Proposal"), 600+s.Float64()*8000, 14+s.IntN(200)
		p.status = s.pick("Pending", "Opted out", "pending")
	}
	return p
}

func (s *source) pick(from ...string) string { return from[s.IntN(len(from))] }

// deal writes a profile as a row.
func (s *source) deal(p profile) []string {
	s.number++
	who, firm := people[s.IntN(len(people))], companies[s.IntN(len(companies))]
	email := s.address(who.mailbox, firm.domain)
	if p.contact != "" {
		who, firm, email = person{"Anna Schmidt", ""}, company{"Seven Hills Hotels", ""}, p.contact
	}
	if p.nameless {
		who.name = ""
	}
	if p.status == "" {
		p.status = "Approved"
	}
	last := asOf.AddDate(0, 0, -p.idle)
	return []string{
		fmt.Sprintf("D-%05d", 10000+s.number), projects[s.IntN(len(projects))], firm.name, who.name, email,
		phones[s.IntN(len(phones))], p.status, owners[s.IntN(len(owners))], p.stage, products[s.IntN(len(products))],
		s.amount(p), p.currency, p.discount, last.AddDate(0, 0, -20-s.IntN(300)).Format(day), last.Format(day),
		notes[s.IntN(len(notes))],
	}
}

// address is new for every deal, so that each contact has one.
func (s *source) address(mailbox, domain string) string {
	email := mailbox + "@" + domain
	s.used[email]++
	if n := s.used[email]; n > 1 {
		email = fmt.Sprintf("%s%d@%s", mailbox, n, domain)
	}
	if s.IntN(9) == 0 {
		return strings.ToUpper(email[:1]) + email[1:]
	}
	return email
}

// amount writes an amount in the deal's currency, with thousands separators now and then.
func (s *source) amount(p profile) string {
	value := p.euro
	for _, f := range factors {
		if f.currency == p.currency {
			value = p.euro * f.factor
		}
	}
	whole, cents := int64(value), int64(value*100+0.5)%100
	text := fmt.Sprintf("%d", whole)
	if separator := s.pick("", "", ",", ",", "\u00a0", "'"); separator != "" && len(text) > 3 {
		text = text[:len(text)-3] + separator + text[len(text)-3:]
	}
	if cents == 0 && s.IntN(2) == 0 {
		return text
	}
	return fmt.Sprintf("%s.%02d", text, cents)
}

func (s *source) closed() []string {
	p := s.stale()
	p.stage, p.euro = s.pick("Closed won", "Closed lost"), 200+s.Float64()*40000
	p.idle = s.IntN(500)
	cells := s.deal(p)
	if s.IntN(6) == 0 {
		cells[atEmail] = "" // nobody tidies up a closed deal
	}
	return cells
}
