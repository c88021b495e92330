package schema

import (
	"math"
	"math/big"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// quick tells of most values at once that they are valid. It knows the keywords
// that charters use most; of everything else, and of whatever it does not pass,
// the full validator judges, which also says what is wrong.
type quick struct {
	types                    map[string]bool // nil: any
	props                    map[string]*quick
	required                 []string
	closed                   bool
	other                    *quick // of properties that are not named; nil: anything
	items                    *quick
	ref                      *quick
	minItems, maxItems       int
	minProps, maxProps       int
	minLength, maxLength     int
	least, most              float64
	aboveLeast, belowMost    bool // the bounds themselves are out
	bounded                  bool
	enum                     []string // of texts; nil: any
	format                   func(any) error
	pattern                  jsonschema.Regexp
	unknown, nothing, always bool
}

// exactBound is the greatest magnitude of a bound or whole number that is compared here.
const exactBound = 1e15

// quickOf derives what quick knows of a compiled schema; made holds those that
// are being derived, for a schema may refer to itself.
func quickOf(s *jsonschema.Schema, made map[*jsonschema.Schema]*quick) *quick {
	if s == nil {
		return nil
	}
	if q, ok := made[s]; ok {
		return q
	}
	q := &quick{maxItems: math.MaxInt, maxProps: math.MaxInt, maxLength: math.MaxInt, least: math.Inf(-1), most: math.Inf(1)}
	made[s] = q
	if s.Bool != nil {
		q.always, q.nothing = *s.Bool, !*s.Bool
		return q
	}
	if !known(s) || !q.scalars(s) || !q.bounds(s) {
		q.unknown = true
		return q
	}
	q.ref, q.items, q.required, q.pattern = quickOf(s.Ref, made), quickOf(s.Items2020, made), s.Required, s.Pattern
	switch other := s.AdditionalProperties.(type) {
	case bool:
		q.closed = !other
	case *jsonschema.Schema:
		q.other = quickOf(other, made)
	}
	q.props = make(map[string]*quick, len(s.Properties))
	for name, property := range s.Properties {
		q.props[name] = quickOf(property, made)
	}
	return q
}

// known tells whether a schema has only keywords that quick knows.
func known(s *jsonschema.Schema) bool {
	return s.DraftVersion == 2020 &&
		s.RecursiveRef == nil && s.DynamicRef == nil && s.DynamicAnchor == "" && s.Const == nil && s.Not == nil &&
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.If == nil && s.Then == nil && s.Else == nil &&
		s.PropertyNames == nil && len(s.PatternProperties) == 0 && len(s.Dependencies) == 0 &&
		len(s.DependentRequired)+len(s.DependentSchemas) == 0 && s.UnevaluatedProperties == nil &&
		!s.UniqueItems && s.Contains == nil && s.MinContains == nil && s.MaxContains == nil && s.Items == nil &&
		s.AdditionalItems == nil && len(s.PrefixItems) == 0 && s.UnevaluatedItems == nil &&
		s.ContentEncoding == nil && s.ContentMediaType == nil && s.ContentSchema == nil &&
		s.MultipleOf == nil && len(s.Extensions) == 0
}

// scalars takes over types, enumerations, formats and sizes.
func (q *quick) scalars(s *jsonschema.Schema) bool {
	if s.Types != nil && !s.Types.IsEmpty() {
		q.types = make(map[string]bool)
		for _, name := range s.Types.ToStrings() {
			q.types[name] = true
		}
	}
	if s.Enum != nil {
		q.enum = []string{}
		for _, value := range s.Enum.Values {
			if text, ok := value.(string); ok {
				q.enum = append(q.enum, text)
			}
		}
	}
	if s.Format != nil {
		if s.Format.Name == "regex" {
			return false
		}
		q.format = s.Format.Validate
	}
	for from, to := range map[**int]*int{
		&s.MinItems: &q.minItems, &s.MaxItems: &q.maxItems, &s.MinProperties: &q.minProps, &s.MaxProperties: &q.maxProps,
		&s.MinLength: &q.minLength, &s.MaxLength: &q.maxLength,
	} {
		if *from != nil {
			*to = **from
		}
	}
	return true
}

// bounds takes over the bounds of numbers, where float64 holds them exactly.
func (q *quick) bounds(s *jsonschema.Schema) bool {
	set := func(bound *big.Rat, to *float64, exclusive *bool, isExclusive bool) bool {
		if bound == nil {
			return true
		}
		value, exact := bound.Float64()
		if !exact || math.Abs(value) > exactBound || q.bounded && !math.IsInf(*to, 0) {
			return false
		}
		*to, *exclusive, q.bounded = value, isExclusive, true
		return true
	}
	return set(s.Minimum, &q.least, &q.aboveLeast, false) && set(s.ExclusiveMinimum, &q.least, &q.aboveLeast, true) &&
		set(s.Maximum, &q.most, &q.belowMost, false) && set(s.ExclusiveMaximum, &q.most, &q.belowMost, true)
}

// quickDepth bounds how deep passes goes: a schema may refer to itself in circles.
const quickDepth = 2 * MaxDepth

// passes tells whether a value is surely valid.
func (q *quick) passes(v any) bool { return q.judge(v, quickDepth) }

func (q *quick) judge(v any, left int) bool {
	switch {
	case q == nil || q.always:
		return true
	case q.unknown || q.nothing || left == 0:
		return false
	case q.ref != nil && !q.ref.judge(v, left-1), q.format != nil && q.format(v) != nil:
		return false
	}
	if text, isText := v.(string); q.enum != nil && (!isText || !slices.Contains(q.enum, text)) {
		return false
	}
	switch v := v.(type) {
	case nil:
		return q.is("null")
	case bool:
		return q.is("boolean")
	case string:
		return q.is("string") && q.passesText(v)
	case int64:
		return v > -exactBound && v < exactBound && (q.is("integer") || q.is("number")) && q.within(float64(v))
	case float64:
		whole := v == math.Trunc(v) && math.Abs(v) < exactBound
		return (q.is("number") || whole && q.is("integer")) && !math.IsNaN(v) && !math.IsInf(v, 0) && q.within(v)
	case []any:
		return q.is("array") && q.passesList(v, left-1)
	case map[string]any:
		return q.is("object") && q.passesObject(v, left-1)
	}
	return false
}

func (q *quick) is(kind string) bool { return q.types == nil || q.types[kind] }

func (q *quick) passesText(v string) bool {
	if q.minLength > 0 || q.maxLength < len(v) {
		if n := utf8.RuneCountInString(v); n < q.minLength || n > q.maxLength {
			return false
		}
	}
	return q.pattern == nil || q.pattern.MatchString(v)
}

func (q *quick) within(v float64) bool {
	return v >= q.least && v <= q.most && (v != q.least || !q.aboveLeast) && (v != q.most || !q.belowMost)
}

func (q *quick) passesList(v []any, left int) bool {
	if len(v) < q.minItems || len(v) > q.maxItems {
		return false
	}
	if q.items == nil {
		return true
	}
	for _, item := range v {
		if !q.items.judge(item, left) {
			return false
		}
	}
	return true
}

func (q *quick) passesObject(v map[string]any, left int) bool {
	if len(v) < q.minProps || len(v) > q.maxProps {
		return false
	}
	for _, name := range q.required {
		if _, there := v[name]; !there {
			return false
		}
	}
	for name, value := range v {
		property, named := q.props[name]
		switch {
		case named && !property.judge(value, left), !named && q.closed, !named && !q.other.judge(value, left):
			return false
		}
	}
	return true
}
