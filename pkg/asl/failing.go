package asl

import (
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// Error names of the States Language.
const (
	errAll        = "States.ALL"
	errTaskFailed = "States.TaskFailed"
	errTimeout    = "States.Timeout"
	errRuntime    = "States.Runtime"
	errDataLimit  = "States.DataLimitExceeded"
	errConflict   = "States.ReferencePathConflict"
	errIntrinsic  = "States.IntrinsicFailure"
	errThreshold  = "States.ExceedToleratedFailureThreshold"
)

// fault is an error on its way to a retrier or catcher. Name and cause are nil
// where Step Functions gives none.
type fault struct {
	Name  *string
	Cause *string
	// Fatal faults are not caught.
	Fatal bool
}

// runtimeFault is an error of the state itself: nothing catches it.
func (t *transition) runtimeFault(f *flow, format string, args ...any) fault {
	ft := t.stateFault(f, errRuntime, fmt.Sprintf(format, args...))
	ft.Fatal = true
	return ft
}

// stateFault words an error as one of the state where it occurred.
func (t *transition) stateFault(f *flow, name, reason string) fault {
	cause := fmt.Sprintf("An error occurred while executing the state '%s' (entered at the event id #%d). %s", f.state.name, f.Entered, reason)
	return fault{Name: &name, Cause: &cause}
}

// fail handles an error of the flow's state: retry, catch, or failure of what
// is around it.
func (t *transition) fail(f *flow, ft fault) {
	t.failAfter(f, f.Last, ft)
}

// failAfter is fail where the event that the failure follows is not on the
// flow's thread.
func (t *transition) failAfter(f *flow, previous int64, ft fault) {
	f.Group = nil
	ft = ft.limited()
	if ft.Fatal {
		t.uncaught(f, ft)
		return
	}
	if t.retry(f, ft) {
		return
	}
	if k := f.state.kind; k == typeParallel || k == typeMap {
		f.Last = t.aside(previous, failedType(k), nil)
	}
	if !t.catch(f, ft) {
		t.uncaught(f, ft)
	}
}

// The longest error name and cause, in bytes; what is longer is cut off. A cause
// that shows an input would otherwise grow each time it is caught and shown
// again.
const (
	maxErrorName = 256
	maxCause     = 32768
)

// limited returns the fault with its texts cut to their limits.
func (ft fault) limited() fault {
	ft.Name, ft.Cause = cut(ft.Name, maxErrorName), cut(ft.Cause, maxCause)
	return ft
}

func cut(s *string, most int) *string {
	if s == nil || len(*s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart((*s)[n]) {
		n--
	}
	short := (*s)[:n]
	return &short
}

// matches reports whether a retrier or catcher with these names takes the
// fault.
func (ft fault) matches(names []string) bool {
	for _, n := range names {
		switch {
		case n == errAll:
			return true
		case ft.Name == nil:
		case n == *ft.Name:
			return true
		case n == errTaskFailed && *ft.Name != errTimeout:
			return true
		}
	}
	return false
}

func (t *transition) retry(f *flow, ft fault) bool {
	i := slices.IndexFunc(f.state.retry, func(r retrier) bool { return ft.matches(r.errors) })
	if i < 0 {
		return false
	}
	r := f.state.retry[i]
	if f.Used == nil {
		f.Used = make([]int, len(f.state.retry))
	}
	if int64(f.Used[i]) >= r.maxAttempts {
		return false
	}
	delay := r.delay(f.Used[i])
	if r.jitter {
		delay = time.Duration(t.random.float() * float64(delay))
	}
	f.Used[i]++
	f.Retries++
	t.startTimer(f, t.now.Add(delay))
	return true
}

// maxSeconds is the longest delay that is kept exactly.
const maxSeconds = math.MaxInt32

// delay is the pause before retry n, counted from 0, without jitter.
func (r retrier) delay(n int) time.Duration {
	s := float64(r.interval) * math.Pow(r.rate, float64(n))
	if r.maxDelay > 0 {
		s = math.Min(s, float64(r.maxDelay))
	}
	return time.Duration(math.Min(s, maxSeconds) * float64(time.Second))
}

func (t *transition) catch(f *flow, ft fault) bool {
	for _, c := range f.state.catch {
		if !ft.matches(c.errors) {
			continue
		}
		errorOutput := ft.output()
		s := &scope{input: errorOutput, flow: f, run: t}
		assigned, bad := t.evalAssign(s, c.assign)
		if bad == nil {
			var out []byte
			if out, bad = t.applyResultPath(f, c.resultPath, errorOutput); bad == nil {
				t.leave(f, exit{output: out, next: c.next, assigned: assigned})
				return true
			}
		}
		t.uncaught(f, *bad)
		return true
	}
	return false
}

// uncaught passes an error on to what is around the flow.
func (t *transition) uncaught(f *flow, ft fault) {
	switch {
	case ft.Fatal:
		t.abandon(t.x.data.Flow, false)
		t.end(Failed, historyExecutionFailed, nil, ft)
	case f.parent != nil:
		t.branchFailed(f, ft)
	default:
		t.end(Failed, historyExecutionFailed, nil, ft)
	}
}

// output is the fault as a catcher gets it.
func (ft fault) output() []byte {
	out := append([]byte(nil), `{"Error":`...)
	out = appendText(out, ft.Name)
	out = append(out, `,"Cause":`...)
	cause := ft.Cause
	if cause == nil && ft.Name != nil {
		cause = new(string)
	}
	return append(appendText(out, cause), '}')
}

func appendText(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, rawjson.Null...)
	}
	return rawjson.AppendString(dst, *s)
}
