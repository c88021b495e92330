package asl

import (
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// kindTests are the type tests by name, without IsPresent.
var kindTests = map[string]func(v []byte) bool{
	"IsNull":    func(v []byte) bool { return rawjson.KindOf(v) == rawjson.NullKind },
	"IsString":  func(v []byte) bool { return rawjson.KindOf(v) == rawjson.String },
	"IsNumeric": func(v []byte) bool { return rawjson.KindOf(v) == rawjson.Number },
	"IsBoolean": func(v []byte) bool { return rawjson.KindOf(v) == rawjson.Bool },
	"IsTimestamp": func(v []byte) bool {
		_, ok := parseTimestamp(rawjson.Text(v))
		return ok
	},
}

// comparison is a comparison operator: what its literal may be and how values
// compare.
type comparison struct {
	kind    rawjson.Kind
	stamp   bool
	compare func(v, with []byte) bool
}

// comparisons are the comparison operators by name, without their Path forms.
var comparisons = makeComparisons()

func makeComparisons() map[string]comparison {
	orders := map[string]func(c int) bool{
		"Equals":            func(c int) bool { return c == 0 },
		"LessThan":          func(c int) bool { return c < 0 },
		"LessThanEquals":    func(c int) bool { return c <= 0 },
		"GreaterThan":       func(c int) bool { return c > 0 },
		"GreaterThanEquals": func(c int) bool { return c >= 0 },
	}
	all := map[string]comparison{
		"BooleanEquals": {kind: rawjson.Bool, compare: func(v, w []byte) bool {
			return rawjson.KindOf(v) == rawjson.Bool && string(v) == string(w)
		}},
	}
	for name, want := range orders {
		all["String"+name] = comparison{kind: rawjson.String, compare: func(v, w []byte) bool {
			c, ok := compareStrings(v, w)
			return ok && want(c)
		}}
		all["Numeric"+name] = comparison{kind: rawjson.Number, compare: func(v, w []byte) bool {
			c, ok := compareNumbers(v, w)
			return ok && want(c)
		}}
		all["Timestamp"+name] = comparison{kind: rawjson.String, stamp: true, compare: func(v, w []byte) bool {
			c, ok := compareTimestamps(v, w)
			return ok && want(c)
		}}
	}
	return all
}

func compareStrings(v, w []byte) (int, bool) {
	if rawjson.KindOf(v) != rawjson.String || rawjson.KindOf(w) != rawjson.String {
		return 0, false
	}
	return strings.Compare(rawjson.Text(v), rawjson.Text(w)), true
}

func compareNumbers(v, w []byte) (int, bool) {
	if rawjson.KindOf(v) != rawjson.Number || rawjson.KindOf(w) != rawjson.Number {
		return 0, false
	}
	return rawjson.CompareNumbers(v, w), true
}

func compareTimestamps(v, w []byte) (int, bool) {
	a, ok := parseTimestamp(rawjson.Text(v))
	if !ok {
		return 0, false
	}
	b, ok := parseTimestamp(rawjson.Text(w))
	if !ok {
		return 0, false
	}
	return a.Compare(b), true
}
