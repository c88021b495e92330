package asl

import (
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// fieldSet says which fields a type of state has and how they are read.
type fieldSet struct {
	fields []string
	read   func(l *loader, o *object, s *state)
}

var stateFields map[stateType]fieldSet

func init() {
	inOut := []string{"InputPath", "OutputPath", "Assign"}
	flow := append([]string{"Next", "End"}, inOut...)
	result := append([]string{"Parameters", "ResultPath"}, flow...)
	work := append([]string{"ResultSelector", "Retry", "Catch"}, result...)
	with := func(base []string, more ...string) []string { return append(more, base...) }
	stateFields = map[stateType]fieldSet{
		typePass:     {with(result, "Result"), (*loader).passState},
		typeTask:     {with(work, "Resource", "TimeoutSeconds", "TimeoutSecondsPath", "HeartbeatSeconds", "HeartbeatSecondsPath"), (*loader).taskState},
		typeChoice:   {with(inOut, "Choices", "Default"), (*loader).choiceState},
		typeWait:     {with(flow, "Seconds", "SecondsPath", "Timestamp", "TimestampPath"), (*loader).waitState},
		typeSucceed:  {[]string{"InputPath", "OutputPath"}, func(*loader, *object, *state) {}},
		typeFail:     {[]string{"Error", "ErrorPath", "Cause", "CausePath"}, (*loader).failState},
		typeParallel: {with(work, "Branches"), (*loader).parallelState},
		typeMap: {with(work, "ItemsPath", "ItemProcessor", "Iterator", "ItemSelector", "MaxConcurrency", "MaxConcurrencyPath",
			"ToleratedFailureCount", "ToleratedFailureCountPath", "ToleratedFailurePercentage", "ToleratedFailurePercentagePath",
			"Label", "ItemBatcher"), (*loader).mapState},
	}
}

// allowState reports fields that the type of state does not have.
func (o *object) allowState(spec fieldSet) {
	o.allow(append([]string{"Type", "Comment", "QueryLanguage"}, spec.fields...)...)
}

// common reads the fields that types of states share, as far as the type has
// them.
func (l *loader) common(o *object, s *state) {
	o.text("Comment")
	s.inputPath = o.pathField("InputPath")
	s.outputPath = o.pathField("OutputPath")
	s.resultPath = o.resultPath("ResultPath")
	s.parameters = o.template("Parameters")
	s.selector = o.template("ResultSelector")
	s.assign = o.assign()
	s.retry = o.retriers()
	s.catch = o.catchers()
	switch s.kind {
	case typeSucceed, typeFail:
		s.end = true
	case typeChoice:
	default:
		o.transition(s)
	}
}

// transition checks Next and End; targets are resolved later.
func (o *object) transition(s *state) {
	v, hasEnd := o.get("End")
	if hasEnd && rawjson.KindOf(v) != rawjson.Bool {
		o.l.schema(o.at("End"), "Expected value of type [Boolean]")
	}
	s.end = hasEnd && string(v) == "true"
	switch hasNext := o.has("Next"); {
	case hasNext && s.end:
		o.l.schema(o.path, "You cannot use both 'Next' and 'End'")
	case !hasNext && !s.end:
		o.l.schema(o.path, "One of these fields is required: [End, Next]")
	}
	s.next = o.target("Next")
}

// target reads the name of a state; it stands for the state until resolve.
func (o *object) target(field string) *state {
	name, ok := o.text(field)
	if !ok {
		return nil
	}
	return &state{name: name, path: o.at(field)}
}

// pathField reads InputPath or OutputPath.
func (o *object) pathField(field string) *pathField {
	v, ok := o.get(field)
	if !ok {
		return nil
	}
	if rawjson.KindOf(v) == rawjson.NullKind {
		return &pathField{}
	}
	e := o.expression(field, false)
	if e == nil {
		return nil
	}
	if p, ok := e.(*pathExpression); ok && p.source == fromInput && p.path.IsRoot() {
		return nil
	}
	return &pathField{text: e.String(), expr: e}
}

// expression reads a path; with calls also an intrinsic function.
func (o *object) expression(field string, calls bool) expression {
	text, ok := o.text(field)
	if !ok {
		return nil
	}
	if !calls && !strings.HasPrefix(text, "$") {
		what := "Reference Path: Reference path"
		if field == "InputPath" || field == "OutputPath" {
			what = "valid JSONPath: JSONPath"
		}
		o.l.schema(o.at(field), "Value is not a %s didn't start with '$'", what)
		return nil
	}
	e, err := parseExpression(text)
	if err != nil {
		o.l.schema(o.at(field), "Value is not a valid JSONPath: %v", err)
		return nil
	}
	return e
}

// resultPath reads a ResultPath.
func (o *object) resultPath(field string) *resultPath {
	v, ok := o.get(field)
	if !ok {
		return nil
	}
	if rawjson.KindOf(v) == rawjson.NullKind {
		return &resultPath{}
	}
	e := o.expression(field, false)
	if e == nil {
		return nil
	}
	p := e.(*pathExpression)
	if p.source != fromInput || !p.path.IsReference() {
		o.l.schema(o.at(field), "Value is not a Reference Path: %q", p.text)
		return nil
	}
	if p.path.IsRoot() {
		return nil
	}
	return &resultPath{text: p.text, path: p.path}
}

// template reads a payload template.
func (o *object) template(field string) *template {
	v, ok := o.get(field)
	if !ok {
		return nil
	}
	return compileTemplate(v, o.at(field), func(path string, err error) { o.l.schema(path, "%v", err) })
}

// assign reads an Assign.
func (o *object) assign() *template {
	v, ok := o.get("Assign")
	if !ok {
		return nil
	}
	c := o.l.object(v, o.at("Assign"))
	if c == nil {
		return nil
	}
	for k := range rawjson.Members(v) {
		name := strings.TrimSuffix(rawjson.Text(k), ".$")
		if !validVariable(name) {
			o.l.schema(c.at(rawjson.Text(k)), "Invalid variable name: %q", name)
		}
	}
	return o.template("Assign")
}
