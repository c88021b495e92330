package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// hint suggests one of the known names, or lists them where none is near.
func hint(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf(". Did you mean %q?", near)
	}
	switch {
	case len(known) == 0:
		return ""
	case len(known) > 12:
		return fmt.Sprintf("; known are %s and %d more", strings.Join(known[:12], ", "), len(known)-12)
	}
	return "; known are " + strings.Join(known, ", ")
}

func didYouMean(got any, want []any) string {
	name, ok := got.(string)
	if !ok {
		return ""
	}
	var names []string
	for _, w := range want {
		if s, ok := w.(string); ok {
			names = append(names, s)
		}
	}
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf(". Did you mean %q?", near)
	}
	return ""
}

func oneOf(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = show(v)
	}
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// show spells a value of the schema (not of the data) as JSON, shortened.
func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 60
	if r := []rune(string(text)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(text)
}

func formatWords(format string) string {
	switch format {
	case "date":
		return "a date such as 2026-11-30"
	case "date-time":
		return "a date and time such as 2026-11-30T07:00:00Z"
	case "email":
		return "an e-mail address"
	case "uri":
		return "a full URI such as https://example.com/page"
	case "uuid":
		return "a UUID such as 123e4567-e89b-12d3-a456-426614174000"
	}
	if format == "regex" {
		return "a regular expression (RE2 syntax, without look-around)"
	}
	return "a valid " + format
}

func article(word string) string {
	switch word {
	case "null":
		return word
	case "integer", "array", "object":
		return "an " + word
	}
	return "a " + word
}

func articles(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = article(w)
	}
	return out
}

func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// decimal trims the zeros that end a fixed-point number.
func decimal(fixed string) string {
	if !strings.Contains(fixed, ".") {
		return fixed
	}
	return strings.TrimRight(strings.TrimRight(fixed, "0"), ".")
}
