package asl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

func (l *loader) choiceState(o *object, s *state) {
	o.require("Choices")
	s.choice = &choiceSpec{fallback: o.target("Default")}
	for i, v := range o.list("Choices", true) {
		c := l.object(v, fmt.Sprintf("%s[%d]", o.at("Choices"), i))
		if c == nil {
			continue
		}
		c.require("Next")
		s.choice.rules = append(s.choice.rules, rule{test: c.rule(0), next: c.target("Next"), assign: c.assign()})
	}
}

// maxRuleNest is how deeply And, Or and Not may nest.
const maxRuleNest = 50

// invalidRule stands for a rule that was reported.
var invalidRule = allOf(nil)

// rule reads a rule; depth counts And, Or and Not around it.
func (o *object) rule(depth int) test {
	if depth > maxRuleNest {
		o.l.schema(o.path, "Rules are nested more than %d deep", maxRuleNest)
		return invalidRule
	}
	var operator string
	for k := range rawjson.Members(o.value) {
		name := rawjson.Text(k)
		switch {
		case name == "Variable" || name == "Comment" || depth == 0 && (name == "Next" || name == "Assign"):
		case !isOperator(name):
			o.unknown(name)
		case operator != "":
			o.l.schema(o.at(name), "A rule has one operator, but there is %s already", operator)
		default:
			operator = name
		}
	}
	switch operator {
	case "":
		o.l.schema(o.path, "A comparison operator is required")
		return invalidRule
	case "And", "Or":
		return o.combined(operator, depth)
	case "Not":
		if inner, ok := o.child("Not"); ok {
			return not{inner.rule(depth + 1)}
		}
		return invalidRule
	}
	o.require("Variable")
	subject := o.expression("Variable", false)
	if subject == nil {
		return invalidRule
	}
	return o.comparison(operator, subject)
}

func isOperator(name string) bool {
	if slices.Contains([]string{"And", "Or", "Not", "IsPresent", "StringMatches"}, name) || kindTests[name] != nil {
		return true
	}
	if _, ok := comparisons[name]; ok {
		return true
	}
	base, isPath := strings.CutSuffix(name, "Path")
	_, ok := comparisons[base]
	return isPath && ok
}

func (o *object) combined(operator string, depth int) test {
	var tests []test
	for i, v := range o.list(operator, true) {
		if c := o.l.object(v, fmt.Sprintf("%s[%d]", o.at(operator), i)); c != nil {
			tests = append(tests, c.rule(depth+1))
		}
	}
	if operator == "And" {
		return allOf(tests)
	}
	return anyOf(tests)
}

func (o *object) comparison(operator string, subject expression) test {
	v, _ := o.get(operator)
	if is := kindTests[operator]; is != nil || operator == "IsPresent" {
		o.expect(operator, v, rawjson.Bool)
		return kindTest{subject: subject, is: is, present: operator == "IsPresent", want: string(v) == "true"}
	}
	if operator == "StringMatches" {
		o.expect(operator, v, rawjson.String)
		parts, err := splitPattern(rawjson.Text(v))
		if err != nil {
			o.l.schema(o.at(operator), "Invalid pattern: %v", err)
		}
		return matchTest{subject, parts}
	}
	if c, ok := comparisons[operator]; ok {
		if o.expect(operator, v, c.kind) && c.stamp {
			if _, valid := parseTimestamp(rawjson.Text(v)); !valid {
				o.l.schema(o.at(operator), "String does not match RFC3339 timestamp")
			}
		}
		return valueTest{subject: subject, compare: c.compare, literal: v}
	}
	c := comparisons[strings.TrimSuffix(operator, "Path")]
	return valueTest{subject: subject, compare: c.compare, path: o.expression(operator, false)}
}

var kindNames = map[rawjson.Kind]string{rawjson.Bool: "Boolean", rawjson.String: "String", rawjson.Number: "Number"}

func (o *object) expect(field string, v []byte, kind rawjson.Kind) bool {
	if rawjson.KindOf(v) == kind {
		return true
	}
	o.l.schema(o.at(field), "Expected value of type [%s]", kindNames[kind])
	return false
}
