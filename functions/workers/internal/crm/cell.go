package crm

import (
	"errors"
	"fmt"
	"net/mail"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Quote is a cell in a message: quoted, and cut to 40 characters.
func Quote(cell string) string {
	runes := []rune(cell)
	if len(runes) > 40 {
		cell = string(runes[:39]) + "…"
	}
	return strconv.Quote(cell)
}

// Text is a cell as one line: runs of white space, line breaks and
// non-breaking spaces become one space.
func Text(cell string) string { return strings.Join(strings.Fields(cell), " ") }

// textLimit is the longest text of a cell that is used, in bytes.
const textLimit = 200

// ParseText reads a cell of text. Control characters and texts of over 200
// bytes are errors; an empty cell is not.
func ParseText(cell string) (string, error) {
	text := Text(cell)
	if len(text) > textLimit {
		return "", fmt.Errorf("%s is longer than %d bytes", Quote(text), textLimit)
	}
	for _, r := range text {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return "", fmt.Errorf("%s holds the invisible character %U", Quote(text), r)
		}
	}
	return text, nil
}

// amountLimit is the first amount that is too large, in whole units.
const amountLimit = 1e12

// ParseAmount reads an amount in cents: digits, optionally in groups of three
// with one kind of separator (comma, space or apostrophe), and optionally a
// point with one or two decimals. Anything else, such as 12.500,00, is an
// error: it is never guessed at.
func ParseAmount(cell string) (int64, error) {
	text := strings.TrimSpace(cell)
	bad := fmt.Errorf("%s is not of the form 12,500.00", Quote(cell))
	whole, decimals, pointed := strings.Cut(text, ".")
	if pointed && len(decimals) != 1 && len(decimals) != 2 || !digits(decimals) {
		return 0, bad
	}
	whole, ok := ungroup(whole)
	if !ok || whole == "" || len(whole) > 15 {
		return 0, bad
	}
	units, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || units >= amountLimit {
		return 0, fmt.Errorf("%s is too large", Quote(cell))
	}
	cents, err := strconv.ParseInt((decimals + "00")[:2], 10, 64)
	if err != nil {
		return 0, bad
	}
	return units*100 + cents, nil
}

// ungroup takes thousands separators out of a whole number.
func ungroup(text string) (string, bool) {
	at := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if at < 0 {
		return text, true
	}
	separator := text[at:]
	for i := range separator {
		if i > 0 { // the first character alone, however many bytes it has
			separator = separator[:i]
			break
		}
	}
	if !strings.Contains(",' \u00a0\u202f\u2019", separator) {
		return "", false
	}
	groups := strings.Split(text, separator)
	for i, group := range groups {
		if !digits(group) || i == 0 && (group == "" || len(group) > 3) || i > 0 && len(group) != 3 {
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}

func digits(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// ParseDiscount reads a discount in hundredths of a percent: "5%", "12.5 %" or
// an empty cell, which is none.
func ParseDiscount(cell string) (int64, error) {
	text := strings.TrimSpace(cell)
	if text == "" {
		return 0, nil
	}
	number, ok := strings.CutSuffix(text, "%")
	bad := fmt.Errorf("%s is not of the form 5%%", Quote(cell))
	if !ok {
		return 0, bad
	}
	points, err := ParseAmount(number)
	if err != nil || points > 100_00 {
		return 0, bad
	}
	return points, nil
}

// ParseDay reads a date of the declared form YYYY-MM-DD.
func ParseDay(cell string) (time.Time, error) {
	day, err := time.Parse(Day, strings.TrimSpace(cell))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is not a date of the form YYYY-MM-DD", Quote(cell))
	}
	return day, nil
}

// ParseEmail reads an address that mail can be sent to: one plain ASCII
// address with a domain of at least two labels, in lower case.
func ParseEmail(cell string) (string, error) {
	text := strings.ToLower(strings.TrimSpace(cell))
	if text == "" {
		return "", errors.New("is empty")
	}
	bad := fmt.Errorf("%s is not an e-mail address", Quote(cell))
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || parsed.Name != "" || len(text) > 254 || strings.ContainsAny(text, "\" ") {
		return "", bad
	}
	for _, r := range text {
		if r > unicode.MaxASCII || unicode.IsControl(r) {
			return "", bad
		}
	}
	domain := text[strings.LastIndexByte(text, '@')+1:]
	labels := strings.Split(domain, ".")
	for _, label := range labels {
		if label == "" || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") || !hostLabel(label) {
			return "", bad
		}
	}
	if len(labels) < 2 {
		return "", bad
	}
	return text, nil
}

func hostLabel(label string) bool {
	return strings.IndexFunc(label, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	}) < 0
}
