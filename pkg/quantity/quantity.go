// Package quantity reads and writes the amounts that loops, charters and
// project files state: money ("0.50 USD") and percentages ("90%"). It is a leaf
// and keeps everything in whole numbers.
package quantity

import (
	"fmt"
	"strconv"
	"strings"
)

// Money is an amount in millionths of a currency's unit.
type Money struct {
	// Micro is the amount; 1 USD is 1,000,000.
	Micro int64 `json:"micro"`
	// Currency is the ISO 4217 code.
	Currency string `json:"currency"`
}

// ParseMoney reads an amount with up to six decimals and a three-letter
// currency: "0.50 USD".
func ParseMoney(text string) (Money, error) {
	wrong := fmt.Errorf("%q is not an amount of money: write a number and a currency, such as 0.50 USD", text)
	amount, currency, found := strings.Cut(text, " ")
	if !found || len(currency) != 3 || strings.Trim(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return Money{}, wrong
	}
	micro, err := scaled(amount, 6)
	if err != nil {
		return Money{}, wrong
	}
	return Money{Micro: micro, Currency: currency}, nil
}

// String writes the amount as ParseMoney reads it, with at least two decimals.
func (m Money) String() string {
	decimals := strings.TrimRight(fmt.Sprintf("%06d", m.Micro%1_000_000), "0")
	for len(decimals) < 2 {
		decimals += "0"
	}
	return fmt.Sprintf("%d.%s %s", m.Micro/1_000_000, decimals, m.Currency)
}

// Percent is a share in hundredths of a percent: 9000 is 90 %.
type Percent int

// ParsePercent reads a number with up to two decimals and a percent sign: "90%".
func ParsePercent(text string) (Percent, error) {
	number, found := strings.CutSuffix(text, "%")
	n, err := scaled(strings.TrimSpace(number), 2)
	if !found || err != nil || n > 10_000 {
		return 0, fmt.Errorf("%q is not a percentage: write a number from 0 to 100 and %%, such as 90%%", text)
	}
	return Percent(n), nil
}

// Of is the smallest whole number that is at least this share of n.
func (p Percent) Of(n int) int {
	return int((int64(n)*int64(p) + 9_999) / 10_000)
}

// String writes the share as ParsePercent reads it.
func (p Percent) String() string {
	return strconv.FormatFloat(float64(p)/100, 'f', -1, 64) + "%"
}

// scaled reads an unsigned decimal number as a whole number of 10^-places.
func scaled(text string, places int) (int64, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > places || whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(whole+fraction+strings.Repeat("0", places-len(fraction)), 10, 64)
}
