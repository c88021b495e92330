package schema

import (
	"errors"
	"fmt"
	"slices"

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
