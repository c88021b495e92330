package asl

import (
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// pass runs a Pass state.
func (t *transition) pass(f *flow) {
	_, result, bad := t.effectiveInput(f)
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	if f.state.result != nil {
		result = f.state.result
	}
	t.finish(f, result)
}

// succeed runs a Succeed state.
func (t *transition) succeed(f *flow) {
	input, _, bad := t.effectiveInput(f)
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	t.finish(f, input)
}

// choose runs a Choice state.
func (t *transition) choose(f *flow) {
	input, _, bad := t.effectiveInput(f)
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	s := &scope{input: input, flow: f, run: t}
	next, assign := f.state.choice.fallback, f.state.assign
	for _, r := range f.state.choice.rules {
		ok, err := r.test.holds(s)
		if err != nil {
			t.fail(f, t.runtimeFault(f, "%v", err))
			return
		}
		if ok {
			next, assign = r.next, r.assign
			break
		}
	}
	if next == nil {
		t.fail(f, t.runtimeFault(f, "Failed to transition out of the state. The state does not point to a next state."))
		return
	}
	assigned, bad := t.evalAssign(s, assign)
	if bad == nil {
		bad = t.applyPath(f, f.state.outputPath, &input)
	}
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	t.leave(f, exit{output: input, next: next, assigned: assigned})
}

// failState runs a Fail state.
func (t *transition) failState(f *flow) {
	spec := f.state.fail
	ft := fault{Name: spec.err, Cause: spec.cause}
	s := &scope{input: f.Input, flow: f, run: t}
	for _, p := range []struct {
		expr  expression
		field string
		to    **string
	}{{spec.errPath, "ErrorPath", &ft.Name}, {spec.causePath, "CausePath", &ft.Cause}} {
		if p.expr == nil {
			continue
		}
		v, err := s.parameter(p.expr, p.field)
		if err != nil {
			t.fail(f, *t.expressionFault(f, err))
			return
		}
		if rawjson.KindOf(v) != rawjson.String {
			t.fail(f, t.runtimeFault(f, "The JSONPath '%s' specified for the field '%s' must reference a string but was: %s", p.expr, p.field, v))
			return
		}
		text := rawjson.Text(v)
		*p.to = &text
	}
	t.fail(f, ft)
}

// wait runs a Wait state.
func (t *transition) wait(f *flow) {
	input, _, bad := t.effectiveInput(f)
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	at, bad := t.waitUntil(&scope{input: input, flow: f, run: t}, f.state.wait)
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	if !at.After(t.now) {
		t.waited(f)
		return
	}
	t.startTimer(f, at)
}

// waited ends a Wait state.
func (t *transition) waited(f *flow) {
	input, _, bad := t.effectiveInput(f)
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	t.finish(f, input)
}

func (t *transition) waitUntil(s *scope, w *waitSpec) (time.Time, *fault) {
	var at time.Time
	var bad *fault
	switch {
	case w.secondsPath != nil:
		at, bad = t.waitSecondsPath(s, w)
	case w.seconds != nil:
		n, _ := rawjson.Int(w.seconds)
		at = t.now.Add(seconds(n))
	case w.atPath != nil:
		at, bad = t.waitTimestampPath(s, w)
	default:
		at, _ = parseTimestamp(w.at)
	}
	if bad == nil && at.Sub(t.now) > maxSeconds*time.Second {
		ft := t.runtimeFault(s.flow, "Wait state delay is too long.")
		bad = &ft
	}
	return at, bad
}

// seconds is a duration that does not overflow.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, 2*maxSeconds)) * time.Second
}

func (t *transition) waitSecondsPath(s *scope, w *waitSpec) (time.Time, *fault) {
	v, err := w.secondsPath.eval(s)
	if err != nil {
		ft := t.runtimeFault(s.flow, "The SecondsPath parameter does not reference an input value: %s", w.text)
		return t.now, &ft
	}
	n, ok := rawjson.Int(v)
	if !ok || rawjson.KindOf(v) != rawjson.Number {
		ft := t.runtimeFault(s.flow, "The SecondsPath parameter cannot be parsed as a long value: %s == %s", w.text, shown(v))
		return t.now, &ft
	}
	if n < 0 {
		ft := t.runtimeFault(s.flow, "The SecondsPath parameter references a negative value: %s == %s", w.text, shown(v))
		return t.now, &ft
	}
	return t.now.Add(seconds(n)), nil
}

func (t *transition) waitTimestampPath(s *scope, w *waitSpec) (time.Time, *fault) {
	v, err := w.atPath.eval(s)
	if err != nil {
		ft := t.runtimeFault(s.flow, "The TimestampPath parameter does not reference an input value: %s", w.text)
		return t.now, &ft
	}
	at, ok := parseTimestamp(rawjson.Text(v))
	if !ok {
		ft := t.runtimeFault(s.flow, "The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: %s == %s", w.text, shown(v))
		return t.now, &ft
	}
	return at, nil
}

// shown is a value as messages show it: strings without quotes.
func shown(v []byte) string {
	if rawjson.KindOf(v) == rawjson.String {
		return rawjson.Text(v)
	}
	return string(v)
}

// startTimer makes a flow wait for a time.
func (t *transition) startTimer(f *flow, at time.Time) {
	f.Timer = &openTimer{ID: TimerID(t.nextID()), At: at}
	t.x.timers[f.Timer.ID] = f
	t.emit(StartTimer{f.Timer.ID, at})
}

// timerFired ends a Wait, the delay before a retry or a pause.
func (t *transition) timerFired(f *flow) {
	delete(t.x.timers, f.Timer.ID)
	paused := f.Timer.Pause
	f.Timer = nil
	if f.state.kind == typeWait && !paused {
		t.waited(f)
		return
	}
	t.execute(f)
}
