package jsonpath

import (
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// condition is a filter's test of one value.
type condition interface {
	holds(w *walk, value []byte) bool
}

type (
	both    struct{ left, right condition }
	either  struct{ left, right condition }
	inverse struct{ inner condition }
	exists  struct{ path *Path }
	compare struct {
		left, right operand
		op          operator
	}
)

func (c both) holds(w *walk, v []byte) bool   { return c.left.holds(w, v) && c.right.holds(w, v) }
func (c either) holds(w *walk, v []byte) bool { return c.left.holds(w, v) || c.right.holds(w, v) }
func (c inverse) holds(w *walk, v []byte) bool {
	return !c.inner.holds(w, v)
}

func (c exists) holds(w *walk, v []byte) bool {
	got, err := operand{path: c.path}.value(w, v)
	if err != nil {
		return false
	}
	return c.path.Definite() || rawjson.Len(got) > 0
}

func (c compare) holds(w *walk, v []byte) bool {
	left, lerr := c.left.value(w, v)
	right, rerr := c.right.value(w, v)
	if lerr != nil || rerr != nil {
		return c.op.absent && (lerr == nil) != (rerr == nil)
	}
	return c.op.test(left, right)
}

// operand is one side of a comparison: a path or a literal.
type operand struct {
	path    *Path
	literal []byte
}

func (o operand) value(w *walk, v []byte) ([]byte, error) {
	switch {
	case o.path == nil:
		return o.literal, nil
	case strings.HasPrefix(o.path.text, "$"):
		return o.path.evalAt(w.root, w.root, w.looked)
	}
	return o.path.evalAt(w.root, v, w.looked)
}

// operator is a comparison. absent says that it holds where exactly one side
// does not exist.
type operator struct {
	test   func(left, right []byte) bool
	absent bool
}

var operators = map[string]operator{
	"==":       {test: equal},
	"===":      {test: rawjson.Equal},
	"!=":       {test: func(l, r []byte) bool { return !equal(l, r) }, absent: true},
	"!==":      {test: func(l, r []byte) bool { return !rawjson.Equal(l, r) }, absent: true},
	"<":        {test: ordered(func(c int) bool { return c < 0 })},
	"<=":       {test: ordered(func(c int) bool { return c <= 0 })},
	">":        {test: ordered(func(c int) bool { return c > 0 })},
	">=":       {test: ordered(func(c int) bool { return c >= 0 })},
	"in":       {test: func(l, r []byte) bool { return member(l, r) }},
	"nin":      {test: func(l, r []byte) bool { return !member(l, r) }},
	"contains": {test: contains},
	"size":     {test: size},
	"empty":    {test: empty},
	"anyof":    {test: func(l, r []byte) bool { return some(l, r) }},
	"noneof":   {test: func(l, r []byte) bool { return !some(l, r) }},
	"subsetof": {test: subset},
}

// equal compares as the Java library does: a number and a string that reads
// as one are equal.
func equal(l, r []byte) bool {
	lk, rk := rawjson.KindOf(l), rawjson.KindOf(r)
	if lk == rawjson.Number && rk == rawjson.String {
		return string(l) == rawjson.Text(r)
	}
	if lk == rawjson.String && rk == rawjson.Number {
		return string(r) == rawjson.Text(l)
	}
	return rawjson.Equal(l, r)
}

func ordered(want func(int) bool) func(l, r []byte) bool {
	return func(l, r []byte) bool {
		lk := rawjson.KindOf(l)
		if lk != rawjson.KindOf(r) {
			return false
		}
		switch lk {
		case rawjson.Number:
			return want(rawjson.CompareNumbers(l, r))
		case rawjson.String:
			return want(strings.Compare(rawjson.Text(l), rawjson.Text(r)))
		}
		return false
	}
}

func member(v, list []byte) bool {
	for e := range rawjson.Elements(list) {
		if equal(v, e) {
			return true
		}
	}
	return false
}

func contains(l, r []byte) bool {
	if rawjson.KindOf(l) == rawjson.String && rawjson.KindOf(r) == rawjson.String {
		return strings.Contains(rawjson.Text(l), rawjson.Text(r))
	}
	return member(r, l)
}

func size(l, r []byte) bool {
	n, ok := rawjson.Int(r)
	if !ok {
		return false
	}
	if rawjson.KindOf(l) == rawjson.String {
		return int64(len([]rune(rawjson.Text(l)))) == n
	}
	return rawjson.KindOf(l) == rawjson.Array && int64(rawjson.Len(l)) == n
}

func empty(l, r []byte) bool {
	var is bool
	switch rawjson.KindOf(l) {
	case rawjson.String:
		is = len(l) == 2
	case rawjson.Array, rawjson.Object:
		is = len(l) == 2
	default:
		return false
	}
	return is == (string(r) == "true")
}

func some(l, r []byte) bool {
	for e := range rawjson.Elements(l) {
		if member(e, r) {
			return true
		}
	}
	return false
}

func subset(l, r []byte) bool {
	for e := range rawjson.Elements(l) {
		if !member(e, r) {
			return false
		}
	}
	return rawjson.KindOf(l) == rawjson.Array
}
