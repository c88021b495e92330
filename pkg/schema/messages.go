package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

func (s *Schema) faults(err error) []Fault {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return []Fault{{Keyword: keywordJSON, Message: err.Error()}}
	}
	return sorted(flatten(v, s.Type()))
}

// flatten turns the validator's tree of errors into its leaves. Of alternatives it reports the one that was most likely meant.
// The view, if any, gives the field names for suggestions.
func flatten(e *jsonschema.ValidationError, view *Type) []Fault {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return alternatives(e, view)
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			return []Fault{at(e, "oneOf", "fits more than one of the allowed forms; exactly one must fit")}
		}
		return alternatives(e, view)
	case *kind.Contains, *kind.ContentSchema, *kind.PropertyNames:
		return leaf(e, view)
	}
	if len(e.Causes) == 0 {
		return leaf(e, view)
	}
	var out []Fault
	for _, cause := range e.Causes {
		out = append(out, flatten(cause, view)...)
	}
	return out
}

func at(e *jsonschema.ValidationError, keyword, format string, args ...any) Fault {
	return Fault{Path: Pointer(e.InstanceLocation...), Keyword: keyword, Message: fmt.Sprintf(format, args...)}
}

// alternatives picks the branch to report: one whose type fits before one whose type does not, then one without a failed
// constant (the usual discriminator), then the one with the fewest faults.
func alternatives(e *jsonschema.ValidationError, view *Type) []Fault {
	here := Pointer(e.InstanceLocation...)
	var best []Fault
	var kinds []*kind.Type
	bestScore := -1
	for _, cause := range e.Causes {
		if t := typeMismatch(cause, here); t != nil {
			kinds = append(kinds, t)
		}
		branch := flatten(cause, view)
		if score := distance(branch, here); bestScore < 0 || score < bestScore {
			best, bestScore = branch, score
		}
	}
	if len(kinds) == len(e.Causes) && len(kinds) > 0 {
		var want []string
		for _, k := range kinds {
			want = append(want, k.Want...)
		}
		slices.Sort(want)
		return []Fault{at(e, "type", "must be %s, but is %s", orList(articles(slices.Compact(want))), article(kinds[0].Got))}
	}
	return best
}

func typeMismatch(e *jsonschema.ValidationError, here string) *kind.Type {
	for {
		if t, ok := e.ErrorKind.(*kind.Type); ok && Pointer(e.InstanceLocation...) == here {
			return t
		}
		if len(e.Causes) != 1 {
			return nil
		}
		e = e.Causes[0]
	}
}

func distance(branch []Fault, here string) int {
	score := 0
	for _, f := range branch {
		switch {
		case f.Keyword == "type" && f.Path == here:
			score += 10000
		case f.Keyword == "const" || f.Keyword == "enum":
			score += 100
		default:
			score++
		}
	}
	return score
}

// leaf words one error of the validator.
func leaf(e *jsonschema.ValidationError, view *Type) []Fault {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return []Fault{at(e, "type", "must be %s, but is %s", orList(articles(k.Want)), article(k.Got))}
	case *kind.Required:
		return missing(e, "required", "is required, but missing", k.Missing)
	case *kind.DependentRequired:
		return missing(e, "dependentRequired", fmt.Sprintf("is required where %q is given, but missing", k.Prop), k.Missing)
	case *kind.AdditionalProperties:
		return unknown(e, view, k.Properties)
	case *kind.Enum:
		return []Fault{at(e, "enum", "must be %s%s", oneOf(k.Want), didYouMean(k.Got, k.Want))}
	case *kind.Const:
		return []Fault{at(e, "const", "must be %s", show(k.Want))}
	case *kind.FalseSchema:
		return []Fault{at(e, "false", "is not allowed here")}
	case *kind.Not:
		return []Fault{at(e, "not", "has a form that is excluded")}
	case *kind.Format:
		return []Fault{at(e, "format", "must be %s", formatWords(k.Want))}
	case *kind.Pattern:
		return []Fault{at(e, "pattern", "must match the pattern %s", k.Want)}
	case *kind.PropertyNames:
		return []Fault{at(e, "propertyNames", "has the key %q, which is not allowed", k.Property)}
	}
	return []Fault{limits(e)}
}

// limits words the keywords that compare a size or a number.
func limits(e *jsonschema.ValidationError) Fault {
	switch k := e.ErrorKind.(type) {
	case *kind.MinLength:
		return at(e, "minLength", "must have at least %s, but has %d", count(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return at(e, "maxLength", "must have at most %s, but has %d", count(k.Want, "character"), k.Got)
	case *kind.MinItems:
		return at(e, "minItems", "must have at least %s, but has %d", count(k.Want, "item"), k.Got)
	case *kind.MaxItems:
		return at(e, "maxItems", "must have at most %s, but has %d", count(k.Want, "item"), k.Got)
	case *kind.MinProperties:
		return at(e, "minProperties", "must have at least %s, but has %d", count(k.Want, "field"), k.Got)
	case *kind.MaxProperties:
		return at(e, "maxProperties", "must have at most %s, but has %d", count(k.Want, "field"), k.Got)
	case *kind.UniqueItems:
		return at(e, "uniqueItems", "must not repeat items, but items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Minimum:
		return at(e, "minimum", "must be at least %s, but is %s", decimal(k.Want.FloatString(6)), decimal(k.Got.FloatString(6)))
	case *kind.Maximum:
		return at(e, "maximum", "must be at most %s, but is %s", decimal(k.Want.FloatString(6)), decimal(k.Got.FloatString(6)))
	case *kind.ExclusiveMinimum:
		return at(e, "exclusiveMinimum", "must be more than %s, but is %s", decimal(k.Want.FloatString(6)), decimal(k.Got.FloatString(6)))
	case *kind.ExclusiveMaximum:
		return at(e, "exclusiveMaximum", "must be less than %s, but is %s", decimal(k.Want.FloatString(6)), decimal(k.Got.FloatString(6)))
	case *kind.MultipleOf:
		return at(e, "multipleOf", "must be a multiple of %s", decimal(k.Want.FloatString(6)))
	}
	keyword := "schema"
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		keyword = path[0]
	}
	return at(e, keyword, "fails %q: %s", keyword, e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}

func missing(e *jsonschema.ValidationError, keyword, message string, names []string) []Fault {
	var out []Fault
	for _, n := range names {
		path := append(slices.Clone(e.InstanceLocation), n)
		out = append(out, Fault{Path: Pointer(path...), Keyword: keyword, Message: message})
	}
	return out
}

func unknown(e *jsonschema.ValidationError, view *Type, names []string) []Fault {
	var known []string
	if view != nil {
		if t, _, err := view.Lookup(e.InstanceLocation...); err == nil {
			known = t.FieldNames()
		}
	}
	var out []Fault
	for _, n := range names {
		path := append(slices.Clone(e.InstanceLocation), n)
		out = append(out, Fault{Path: Pointer(path...), Keyword: "additionalProperties", Message: "is not a known field" + hint(n, known)})
	}
	return out
}

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
