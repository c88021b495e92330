package asl

import (
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/jsonpath"
	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// effectiveInput applies InputPath and Parameters and returns the value after
// each.
func (t *transition) effectiveInput(f *flow) (selected, effective []byte, bad *fault) {
	selected = f.Input
	if bad = t.applyPath(f, f.state.inputPath, &selected); bad != nil {
		return nil, nil, bad
	}
	effective = selected
	if f.state.parameters == nil || f.state.kind == typeMap {
		return selected, effective, nil
	}
	s := &scope{input: selected, flow: f, run: t}
	if f.Task != nil && f.state.task.resource.Pattern == WaitForTaskToken {
		s.token = f.Task.Token
	}
	effective, bad = t.evalTemplate(s, f.state.parameters)
	return selected, effective, bad
}

// applyPath applies an InputPath or OutputPath to a value.
func (t *transition) applyPath(f *flow, p *pathField, value *[]byte) *fault {
	if p == nil {
		return nil
	}
	if p.expr == nil {
		*value = []byte("{}")
		return nil
	}
	s := &scope{input: *value, flow: f, run: t}
	v, err := p.expr.eval(s)
	if err != nil {
		return t.pathFault(f, p.text, err)
	}
	*value = v
	return nil
}

// pathFault words the error of a path that leads nowhere.
func (t *transition) pathFault(f *flow, text string, err error) *fault {
	ft := t.runtimeFault(f, "Invalid path '%s' : %v", text, err)
	return &ft
}

// evalTemplate evaluates a payload template.
func (t *transition) evalTemplate(s *scope, tpl *template) ([]byte, *fault) {
	v, err := tpl.eval(s)
	if err == nil {
		return v, nil
	}
	return nil, t.expressionFault(s.flow, err)
}

func (t *transition) expressionFault(f *flow, err error) *fault {
	var in *intrinsicError
	if errors.As(err, &in) && !in.missing {
		ft := t.stateFault(f, errIntrinsic, in.Error())
		return &ft
	}
	if errors.Is(err, errTooLarge) {
		ft := t.tooLarge(f.state.name)
		return &ft
	}
	ft := t.runtimeFault(f, "%v", err)
	return &ft
}

// evalAssign evaluates an Assign; nil for none.
func (t *transition) evalAssign(s *scope, tpl *template) ([]Variable, *fault) {
	if tpl == nil {
		return nil, nil
	}
	v, bad := t.evalTemplate(s, tpl)
	if bad != nil {
		return nil, bad
	}
	if oversized(v) {
		ft := t.tooLarge(s.flow.state.name)
		return nil, &ft
	}
	var vars []Variable
	for k, e := range rawjson.Members(v) {
		vars = append(vars, Variable{rawjson.Text(k), e})
	}
	return vars, nil
}

// applyResultPath puts a result into the state's raw input.
func (t *transition) applyResultPath(f *flow, p *resultPath, result []byte) ([]byte, *fault) {
	switch {
	case p == nil:
		return result, nil
	case p.path == nil:
		return f.Input, nil
	}
	out, err := p.path.Put(f.Input, result)
	if errors.Is(err, jsonpath.ErrConflict) {
		return nil, conflict(p.text, p.path, f.Input)
	}
	return out, nil
}

// conflict words the error of a reference path that does not fit a document.
func conflict(text string, p *jsonpath.Path, doc []byte) *fault {
	name, cause := errConflict, fmt.Sprintf("Unable to apply step \"%s\" to input %s", p.Blocked(doc), doc)
	if k := rawjson.KindOf(doc); k != rawjson.Object && k != rawjson.Array {
		cause = fmt.Sprintf("Unable to apply ReferencePath %s to input %s", text, doc)
	}
	return &fault{Name: &name, Cause: &cause}
}

// finish turns a state's result into its output and leaves the state.
func (t *transition) finish(f *flow, result []byte) {
	st := f.state
	s := &scope{input: result, flow: f, run: t}
	assigned, bad := t.evalAssign(s, st.assign)
	if bad == nil && st.selector != nil {
		result, bad = t.evalTemplate(s, st.selector)
	}
	if bad == nil {
		result, bad = t.applyResultPath(f, st.resultPath, result)
	}
	if bad == nil {
		bad = t.applyPath(f, st.outputPath, &result)
	}
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	t.leave(f, exit{output: result, next: st.next, assigned: assigned})
}
