// Package crm is what the workers of crm-followup share: the deal as they hand
// it on, and how a CRM export is read, cell by cell. Two workers read the
// export independently of each other, the scan from end to end and the claim
// checker one row; they share the reading, so that they agree on what a cell says.
package crm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Source is where a deal stands in the export.
type Source struct {
	// Row is the row as a spreadsheet shows it: the header is row 1.
	Row int `json:"row"`
	// Offset is where the record begins in the file, in bytes.
	Offset int64 `json:"offset"`
}

// Deal is an open deal as the scan hands it on.
type Deal struct {
	ID            string  `json:"id"`
	Name          string  `json:"name"`
	Company       string  `json:"company"`
	Contact       string  `json:"contact"`
	Email         string  `json:"email"`
	ContactStatus string  `json:"contact_status"`
	Owner         string  `json:"owner"`
	Stage         string  `json:"stage"`
	Product       string  `json:"product"`
	Amount        float64 `json:"amount"`
	Currency      string  `json:"currency"`
	AmountEUR     float64 `json:"amount_eur"`
	Discount      float64 `json:"discount"`
	LastActivity  string  `json:"last_activity"`
	IdleDays      int     `json:"idle_days"`
	Source        Source  `json:"source"`
}

// Totals are the figures of one export.
type Totals struct {
	AsOf           string       `json:"as_of"`
	StaleAfterDays int          `json:"stale_after_days"`
	Read           int          `json:"read"`
	Open           int          `json:"open"`
	Closed         int          `json:"closed"`
	Rejected       int          `json:"rejected"`
	Stale          int          `json:"stale"`
	OpenEUR        float64      `json:"open_eur"`
	StaleEUR       float64      `json:"stale_eur"`
	Stages         []StageTotal `json:"stages"`
}

// StageTotal are the open deals of one stage.
type StageTotal struct {
	Stage string  `json:"stage"`
	Deals int     `json:"deals"`
	Stale int     `json:"stale"`
	EUR   float64 `json:"eur"`
}

// Day is the form of a date in the export and in the documents.
const Day = "2006-01-02"

// Cents is a decimal amount of a document in whole cents.
func Cents(amount float64) int64 { return int64(math.Round(amount * 100)) }

// Amount is whole cents as a decimal amount of a document.
func Amount(cents int64) float64 { return float64(cents) / 100 }

// Money is an amount as a mail writes it: "EUR 12,500.00".
func Money(cents int64, currency string) string {
	whole := strconv.FormatInt(cents/100, 10)
	var b strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return fmt.Sprintf("%s %s.%02d", currency, b.String(), cents%100)
}

// LongDate is a date as a mail writes it: "12 October 2026".
func LongDate(day time.Time) string { return day.Format("2 January 2006") }

// Percent is a discount as export and mail write it: "5%" or "12.5%".
func Percent(fraction float64) string {
	return strconv.FormatFloat(math.Round(fraction*1e4)/1e2, 'f', -1, 64) + "%"
}
