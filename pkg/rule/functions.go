package rule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

// The names of functions that stand for operators where one side's type is known only when the rule runs.
var dynamicOperators = map[string]string{"_+_": "@add", "_-_": "@subtract", "_*_": "@multiply", "_/_": "@divide"}

// functions declares what loops have beyond CEL. The zone is that of the loop.
func functions(zone *time.Location) []cel.EnvOption {
	a, b := cel.TypeParamType("A"), cel.TypeParamType("B")
	opts := []cel.EnvOption{
		cel.Function("default",
			cel.Overload("default_value", []*cel.Type{a, a}, a, cel.OverloadIsNonStrict(), cel.BinaryBinding(orDefault))),
		cel.Function("@default",
			cel.Overload("default_other", []*cel.Type{a, b}, cel.DynType, cel.OverloadIsNonStrict(), cel.BinaryBinding(orDefault))),
		cel.Function("sum",
			cel.Overload("sum_list", []*cel.Type{cel.ListType(a)}, a, cel.UnaryBinding(func(l ref.Val) ref.Val { return sum(l, types.IntZero) })),
			cel.Overload("sum_list_from", []*cel.Type{cel.ListType(a), a}, a, cel.BinaryBinding(sum))),
		cel.Function("duration",
			cel.Overload("duration_text", []*cel.Type{cel.StringType}, cel.DurationType, cel.UnaryBinding(toSpan)),
			cel.Overload("duration_same", []*cel.Type{cel.DurationType}, cel.DurationType, cel.UnaryBinding(func(v ref.Val) ref.Val { return v }))),
		cel.Function("next",
			cel.Overload("next_moment", []*cel.Type{cel.TimestampType, cel.StringType}, cel.TimestampType, cel.BinaryBinding(nextMoment(zone)))),
		timeFunction("month_end", cel.TimestampType, zone, func(t time.Time) ref.Val { return types.Timestamp{Time: monthEnd(t)} }),
	}
	for name, format := range map[string]func(time.Time) string{"day": dayText, "week": weekText, "month": monthText, "quarter": quarterText} {
		opts = append(opts, timeFunction(name, cel.StringType, zone, func(t time.Time) ref.Val { return types.String(format(t)) }))
	}
	for operator, name := range dynamicOperators {
		opts = append(opts, cel.Function(name, cel.Overload(name[1:]+"_dynamic", []*cel.Type{a, b}, cel.DynType, cel.BinaryBinding(dynamic(operator)))))
	}
	return opts
}

// timeFunction declares a function of a timestamp, or of text that holds one, seen in the zone.
func timeFunction(name string, result *cel.Type, zone *time.Location, f func(time.Time) ref.Val) cel.EnvOption {
	return cel.Function(name,
		cel.Overload(name+"_timestamp", []*cel.Type{cel.TimestampType}, result, cel.UnaryBinding(func(v ref.Val) ref.Val {
			t, ok := v.(types.Timestamp)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			return f(t.In(zone))
		})),
		cel.Overload(name+"_text", []*cel.Type{cel.StringType}, result, cel.UnaryBinding(func(v ref.Val) ref.Val {
			text, ok := v.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			t, err := parseTime(string(text), zone)
			if err != nil {
				return types.WrapErr(err)
			}
			return f(t.In(zone))
		})))
}

func parseTime(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return t, nil
	}
	return time.Time{}, errors.New("the text is no date or RFC 3339 time")
}

func dayText(t time.Time) string   { return t.Format(time.DateOnly) }
func monthText(t time.Time) string { return t.Format("2006-01") }

func weekText(t time.Time) string {
	year, week := t.ISOWeek()
	return fmt.Sprintf("%04d-W%02d", year, week)
}

func quarterText(t time.Time) string {
	return fmt.Sprintf("%04d-Q%d", t.Year(), (t.Month()+2)/3)
}

// monthEnd is the last second of the month in the time's zone.
func monthEnd(t time.Time) time.Time {
	m, err := schedule.ParseMoment("00:00")
	if err != nil {
		panic(err) // a constant
	}
	last := time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, -1)
	noon := time.Date(last.Year(), last.Month(), last.Day(), 12, 0, 0, 0, t.Location())
	return m.At(noon, t.Location()).Add(-time.Second)
}

func nextMoment(zone *time.Location) func(t, text ref.Val) ref.Val {
	return func(t, text ref.Val) ref.Val {
		start, ok1 := t.(types.Timestamp)
		words, ok2 := text.(types.String)
		if !ok1 || !ok2 {
			return types.MaybeNoSuchOverloadErr(t)
		}
		m, err := schedule.ParseMoment(string(words))
		if err != nil {
			return types.WrapErr(err)
		}
		return types.Timestamp{Time: m.At(start.Time, zone)}
	}
}

// parseSpan reads durations as loops write them ("14d") and as CEL does ("1.5h", "-18h").
func parseSpan(text string) (time.Duration, error) {
	if d, err := schedule.ParseDuration(strings.TrimPrefix(text, "-")); err == nil {
		if strings.HasPrefix(text, "-") {
			return -d, nil
		}
		return d, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration; write for example 90s, 15m, 4h, 14d", text)
	}
	return d, nil
}

func toSpan(v ref.Val) ref.Val {
	text, ok := v.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	d, err := parseSpan(string(text))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Duration{Duration: d}
}

// orDefault is its first argument, or the second where the first is absent or null.
func orDefault(v, other ref.Val) ref.Val {
	if types.IsError(v) {
		if absent(v.(*types.Err)) {
			return other
		}
		return v
	}
	if v == types.NullValue {
		return other
	}
	return v
}

// sum adds the numbers of a list to a start.
func sum(list, start ref.Val) ref.Val {
	l, ok := list.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	add := dynamic("_+_")
	total := start
	for it := l.Iterator(); it.HasNext() == types.True; {
		v := it.Next()
		switch v.(type) {
		case types.Int, types.Double:
		default:
			return types.NewErr("sum: an item is %s, not a number", v.Type().TypeName())
		}
		if total = add(total, v); types.IsError(total) {
			return total
		}
	}
	return total
}

// dynamic computes with values whose types are known only now: a whole number meets a decimal one as decimal.
func dynamic(operator string) func(a, b ref.Val) ref.Val {
	return func(a, b ref.Val) ref.Val {
		if i, ok := a.(types.Int); ok {
			if _, ok := b.(types.Double); ok {
				a = types.Double(i)
			}
		}
		if i, ok := b.(types.Int); ok {
			if _, ok := a.(types.Double); ok {
				b = types.Double(i)
			}
		}
		return operate(operator, a, b)
	}
}

func operate(operator string, a, b ref.Val) ref.Val {
	switch operator {
	case "_+_":
		if x, ok := a.(traits.Adder); ok {
			return x.Add(b)
		}
	case "_-_":
		if x, ok := a.(traits.Subtractor); ok {
			return x.Subtract(b)
		}
	case "_*_":
		if x, ok := a.(traits.Multiplier); ok {
			return x.Multiply(b)
		}
	case "_/_":
		if x, ok := a.(traits.Divider); ok {
			return x.Divide(b)
		}
	}
	return types.MaybeNoSuchOverloadErr(a)
}
