package rawjson

import (
	"bytes"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
)

// Equal reports whether two values are equal: objects without regard to order,
// numbers by value.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	kind := KindOf(a)
	if kind != KindOf(b) {
		return false
	}
	switch kind {
	case Number:
		return CompareNumbers(a, b) == 0
	case Array:
		return equalArrays(Split(a), Split(b))
	case Object:
		return equalObjects(a, b)
	}
	return false
}

func equalArrays(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equalObjects(a, b []byte) bool {
	if Len(a) != Len(b) {
		return false
	}
	other := make(map[string][]byte)
	for k, v := range Members(b) {
		other[string(k)] = v
	}
	for k, v := range Members(a) {
		w, ok := other[string(k)]
		if !ok || !Equal(v, w) {
			return false
		}
	}
	return true
}

// CompareNumbers compares two numbers by value: whole numbers exactly,
// otherwise in double precision.
func CompareNumbers(a, b []byte) int {
	if x, ok := wholeNumber(a); ok {
		if y, ok := wholeNumber(b); ok {
			return x.Cmp(y)
		}
	}
	x, y := Float(a), Float(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// maxExact is how many digits of a whole number are compared exactly.
const maxExact = 400

func wholeNumber(v []byte) (*big.Int, bool) {
	if bytes.ContainsAny(v, ".eE") || len(v) > maxExact {
		return nil, false
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return big.NewInt(n), true
	}
	return new(big.Int).SetString(string(v), 10)
}

// Float returns a number in double precision; infinite if it is out of range.
func Float(v []byte) float64 {
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

// Int returns a whole number that fits: written whole, or a decimal without a
// fraction, as in 2.0.
func Int(v []byte) (int64, bool) {
	if KindOf(v) != Number {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n, true
	}
	f := Float(v)
	if f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// AppendFloat appends a number the shortest way that reads back as the same
// double. Infinities and NaN, which JSON does not have, become null.
func AppendFloat(dst []byte, f float64) []byte {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return append(dst, Null...)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.AppendInt(dst, int64(f), 10)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// AppendKey appends text that is the same for values that are Equal: members
// sorted by name, numbers in one form.
func AppendKey(dst, v []byte) []byte {
	switch KindOf(v) {
	case Number:
		if n, ok := wholeNumber(v); ok {
			return n.Append(dst, 10)
		}
		return AppendFloat(dst, Float(v))
	case Array:
		dst = append(dst, '[')
		for e := range Elements(v) {
			dst = append(AppendKey(dst, e), ',')
		}
		return append(dst, ']')
	case Object:
		members := make(map[string][]byte)
		for k, e := range Members(v) {
			members[string(k)] = e
		}
		dst = append(dst, '{')
		for _, k := range slices.Sorted(maps.Keys(members)) {
			dst = append(AppendKey(append(append(dst, k...), ':'), members[k]), ',')
		}
		return append(dst, '}')
	}
	return append(dst, v...)
}
