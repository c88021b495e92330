package worker

import (
	"context"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// InProcess is a gate in the same process, reached as over the network: every
// request and answer is copied, so that neither side can change what the other
// holds, and text that is no UTF-8 is replaced as in JSON.
func InProcess(g gate.Gate) gate.Gate { return inProcess{g} }

type inProcess struct{ gate gate.Gate }

func sent[Req, Ans any](ctx context.Context, req Req, call func(context.Context, Req) (Ans, error)) (Ans, error) {
	answer, err := call(ctx, copied(req))
	if err != nil {
		return answer, err
	}
	return copied(answer), nil
}

func copied[T any](value T) T {
	own(reflect.ValueOf(&value).Elem())
	return value
}

// own makes everything that a value points to a copy of its own. Fields that
// are not exported (those of times) stay as they are.
func own(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); !utf8.ValidString(text) {
			v.SetString(strings.ToValidUTF8(text, string(utf8.RuneError)))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			to := reflect.New(v.Type().Elem())
			to.Elem().Set(v.Elem())
			own(to.Elem())
			v.Set(to)
		}
	case reflect.Slice:
		ownSlice(v)
	case reflect.Map:
		ownMap(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				own(field)
			}
		}
	}
}

func ownSlice(v reflect.Value) {
	if v.IsNil() {
		return
	}
	list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(list, v)
	if v.Type().Elem().Kind() != reflect.Uint8 {
		for i := range list.Len() {
			own(list.Index(i))
		}
	}
	v.Set(list)
}

func ownMap(v reflect.Value) {
	if v.IsNil() {
		return
	}
	fields := reflect.MakeMapWithSize(v.Type(), v.Len())
	for each := v.MapRange(); each.Next(); {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(each.Value())
		own(value)
		fields.SetMapIndex(each.Key(), value)
	}
	v.Set(fields)
}

// Admit sends admit.
func (p inProcess) Admit(ctx context.Context, req gate.AdmitRequest) (gate.AdmitAnswer, error) {
	return sent(ctx, req, p.gate.Admit)
}

// Begin sends begin.
func (p inProcess) Begin(ctx context.Context, req gate.BeginRequest) (gate.BeginAnswer, error) {
	return sent(ctx, req, p.gate.Begin)
}

// Report sends report.
func (p inProcess) Report(ctx context.Context, req gate.ReportRequest) (gate.ReportAnswer, error) {
	return sent(ctx, req, p.gate.Report)
}

// Settle sends settle.
func (p inProcess) Settle(ctx context.Context, req gate.SettleRequest) (gate.SettleAnswer, error) {
	return sent(ctx, req, p.gate.Settle)
}

// Call sends a tool call; a gate without tool calls gives an error.
func (p inProcess) Call(ctx context.Context, req gate.CallRequest) (gate.CallAnswer, error) {
	caller, ok := p.gate.(gate.Caller)
	if !ok {
		return gate.CallAnswer{}, errNoCalls
	}
	return sent(ctx, req, caller.Call)
}

// Heartbeat sends a heartbeat.
func (p inProcess) Heartbeat(ctx context.Context, req gate.HeartbeatRequest) (gate.HeartbeatAnswer, error) {
	return sent(ctx, req, p.gate.Heartbeat)
}
