package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// codec makes a Codec of two functions.
type codec[V any] struct {
	read   func(r *Reader, n *Node) (V, bool)
	schema func(defs Definitions) map[string]any
}

// Read reads one value.
func (c codec[V]) Read(r *Reader, n *Node) (V, bool) { return c.read(r, n) }

// Schema describes what Read accepts.
func (c codec[V]) Schema(defs Definitions) map[string]any { return c.schema(defs) }

func fixed(schema map[string]any) func(Definitions) map[string]any {
	return func(Definitions) map[string]any {
		out := make(map[string]any, len(schema)+1)
		for k, v := range schema {
			out[k] = v
		}
		return out
	}
}

// Line is a text that is not empty.
func Line() Codec[string] {
	return codec[string]{func(r *Reader, n *Node) (string, bool) {
		if n.Kind != Text || strings.TrimSpace(n.Text) == "" {
			r.Fault(n, "E112", "A text belongs here, not %s. A number as a text stands in quotes.", article(n))
			return "", false
		}
		return n.Text, true
	}, fixed(map[string]any{"type": "string", "minLength": 1})}
}

// The patterns of names.
const (
	// Hyphened names loops, workers, actions, groups and the like.
	Hyphened = `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`
	// Underscored names steps, items and facts in rules.
	Underscored = `^[a-z][a-z0-9]*(_[a-z0-9]+)*$`
	// Dotted names events.
	Dotted = `^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$`
	// Slashed names facts; * stands for any end.
	Slashed = `^[a-z][a-z0-9_-]*(/[A-Za-z0-9_.:-]+)*(/\*)?$`
)

var patternWords = map[string]string{
	Hyphened:    "lower-case letters, digits and single hyphens, beginning with a letter, such as crm-followup",
	Underscored: "lower-case letters, digits and single underscores, beginning with a letter, such as follow_up",
	Dotted:      "lower-case words joined by dots, such as session.closed",
	Slashed:     "words joined by slashes, such as dashboard/sales or order/*",
}

// MaxName is the greatest length of a name, in bytes.
const MaxName = 60

// Name is a text of a pattern.
func Name(pattern string) Codec[string] {
	expression := regexp.MustCompile(pattern)
	return codec[string]{func(r *Reader, n *Node) (string, bool) {
		if n.Kind != Text || !expression.MatchString(n.Text) || len(n.Text) > MaxName {
			r.Fault(n, "E115", "%s is no name here: write %s, of at most %d characters.", nameWords(n), patternWords[pattern], MaxName)
			return "", false
		}
		return n.Text, true
	}, fixed(map[string]any{"type": "string", "pattern": pattern, "maxLength": MaxName})}
}

func nameWords(n *Node) string {
	if n.Kind == Text {
		return fmt.Sprintf("%q", shorten(n.Text))
	}
	return upperFirst(article(n))
}

// Whole is a whole number between two bounds.
func Whole(low, high int) Codec[int] {
	return codec[int]{func(r *Reader, n *Node) (int, bool) {
		i, err := strconv.Atoi(n.Text)
		if n.Kind != Int || err != nil || i < low || i > high {
			r.Fault(n, "E112", "A whole number from %d to %d belongs here, not %s.", low, high, figure(n))
			return 0, false
		}
		return i, true
	}, fixed(map[string]any{"type": "integer", "minimum": low, "maximum": high})}
}

// Decimal is a number that is not negative.
func Decimal() Codec[float64] {
	return codec[float64]{func(r *Reader, n *Node) (float64, bool) {
		f, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != Int && n.Kind != Float || err != nil || f < 0 {
			r.Fault(n, "E112", "A number that is not negative belongs here, not %s.", figure(n))
			return 0, false
		}
		return f, true
	}, fixed(map[string]any{"type": "number", "minimum": 0})}
}

// Flag is true or false.
func Flag() Codec[bool] {
	return codec[bool]{func(r *Reader, n *Node) (bool, bool) {
		if n.Kind != Bool {
			r.Fault(n, "E112", "true or false belongs here, not %s.", article(n))
			return false, false
		}
		return n.Text == "true", true
	}, fixed(map[string]any{"type": "boolean"})}
}

// OneOf is one of some words.
func OneOf[V ~string](words ...V) Codec[V] {
	plain := make([]string, len(words))
	enum := make([]any, len(words))
	for i, w := range words {
		plain[i], enum[i] = string(w), string(w)
	}
	return codec[V]{func(r *Reader, n *Node) (V, bool) {
		if n.Kind == Text && slices.Contains(plain, n.Text) {
			return V(n.Text), true
		}
		message := fmt.Sprintf("One of %s belongs here, not %s.", strings.Join(plain, ", "), article(n))
		if nearest := schema.Nearest(n.Text, slices.Sorted(slices.Values(plain))); n.Kind == Text && nearest != "" {
			message += fmt.Sprintf(" Did you mean %q?", nearest)
		}
		r.Fault(n, "E113", "%s", message)
		return "", false
	}, fixed(map[string]any{"type": "string", "enum": enum})}
}

// parsed makes a codec of a parser of texts.
func parsed[V any](pattern string, parse func(string) (V, error)) Codec[V] {
	return codec[V]{func(r *Reader, n *Node) (V, bool) {
		var none V
		if n.Kind == Mapping || n.Kind == Sequence {
			r.Fault(n, "E114", "A text belongs here, not %s.", article(n))
			return none, false
		}
		v, err := parse(n.Text)
		if err != nil {
			r.Fault(n, "E114", "%s.", upperFirst(err.Error()))
			return none, false
		}
		return v, true
	}, fixed(map[string]any{"type": "string", "pattern": pattern})}
}

// Duration is "90s", "15m", "4h", "14d"; it is longer than nothing.
func Duration() Codec[time.Duration] {
	return parsed(`^[0-9]+[smhdwy]$`, func(text string) (time.Duration, error) {
		d, err := schedule.ParseDuration(text)
		if err == nil && d == 0 {
			err = fmt.Errorf("%q is no time at all: write at least 1s", text)
		}
		return d, err
	})
}

// leastKept is how long what has ended is kept at least.
const leastKept = 24 * time.Hour

// Kept is a Duration of a day at least: how long something is kept that has ended.
func Kept() Codec[time.Duration] {
	duration := Duration()
	return Custom(map[string]any{"type": "string", "pattern": `^[0-9]+[smhdwy]$`}, func(r *Reader, n *Node) (time.Duration, bool) {
		d, ok := duration.Read(r, n)
		if ok && d < leastKept {
			r.Fault(n, "E238", "%s is too short: keep what has ended for at least 1d.", n.Text)
			return d, false
		}
		return d, ok
	})
}

// Money is "0.50 USD".
func Money() Codec[quantity.Money] {
	return parsed(`^[0-9]+(\.[0-9]{1,6})? [A-Z]{3}$`, quantity.ParseMoney)
}

// Percent is "90%".
func Percent() Codec[quantity.Percent] {
	return parsed(`^[0-9]+(\.[0-9]{1,2})? ?%$`, quantity.ParsePercent)
}

var clockTime = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// Clock is a time of day in quotes: "08:00".
func Clock() Codec[string] {
	return parsed(clockTime.String(), func(text string) (string, error) {
		if !clockTime.MatchString(text) {
			return "", fmt.Errorf("%q is no time of day: write hours and minutes in quotes, such as \"08:00\"", text)
		}
		return text, nil
	})
}
