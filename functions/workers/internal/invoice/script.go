package invoice

import (
	"regexp"
	"strconv"
	"strings"
)

// Amounts always have two decimals; the sign before them groups thousands.
var (
	amount  = regexp.MustCompile(`(?:^|[^\w.,])(-?[0-9]{1,3}(?:[.,'’\x{a0}\x{202f}]?[0-9]{3})*[.,][0-9]{2})(?:[^\w]|$)`)
	misread = regexp.MustCompile(`(?:^|[^\w.,])(-?[0-9OoIlSB|]{1,3}(?:[.,'’\x{a0}\x{202f}]?[0-9OoIlSB|]{3})*[.,][0-9OoIlSB|]{2})(?:[^\w|]|$)`)
	alike   = strings.NewReplacer("O", "0", "o", "0", "I", "1", "l", "1", "|", "1", "S", "5", "B", "8")
	asWord  = strings.NewReplacer("0", "o", "1", "l", "|", "l", "5", "s", "8", "b")
)

type strict struct{}

func (strict) label(line string) string { return line }

func (strict) last(line string) (int64, string, int, bool) {
	return last(amount, line, strings.NewReplacer())
}

type lenient struct{}

func (lenient) label(line string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	return asWord.Replace(first) + " " + rest
}

func (lenient) last(line string) (int64, string, int, bool) { return last(misread, line, alike) }

// last finds the last amount of a line.
func last(pattern *regexp.Regexp, line string, digits *strings.Replacer) (int64, string, int, bool) {
	all := pattern.FindAllStringSubmatchIndex(line, -1)
	if len(all) == 0 {
		return 0, "", 0, false
	}
	at := all[len(all)-1]
	text := line[at[2]:at[3]]
	read := digits.Replace(text)
	corrected := 0
	for i := range min(len(text), len(read)) {
		if text[i] != read[i] {
			corrected++
		}
	}
	cents, err := strconv.ParseInt(strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, read), 10, 64)
	return cents, line[:at[2]], corrected, err == nil
}
