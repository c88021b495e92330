package worker

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// TestCopiesAreWhatJSONGives: a request or answer that passes in process is what
// it would be after the way through JSON, for every type of the gate.
func TestCopiesAreWhatJSONGives(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		through[gate.AdmitRequest](t, random)
		through[gate.AdmitAnswer](t, random)
		through[gate.BeginRequest](t, random)
		through[gate.BeginAnswer](t, random)
		through[gate.ReportRequest](t, random)
		through[gate.ReportAnswer](t, random)
		through[gate.SettleRequest](t, random)
		through[gate.SettleAnswer](t, random)
		through[gate.CallRequest](t, random)
		through[gate.CallAnswer](t, random)
		through[gate.HeartbeatRequest](t, random)
		through[gate.HeartbeatAnswer](t, random)
	}
}

func through[T any](t *testing.T, random *rand.Rand) {
	t.Helper()
	var value, want T
	anything(random, reflect.ValueOf(&value).Elem(), 0)
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%T: %v", value, err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("%T: %v", value, err)
	}
	isRaw := func(p cmp.Path) bool { return p.Last().Type() == reflect.TypeFor[json.RawMessage]() }
	same := cmp.Options{ // an absent list or value is an empty one or null, as every reader takes it
		cmp.FilterPath(func(p cmp.Path) bool { return !isRaw(p) }, cmpopts.EquateEmpty()),
		cmp.FilterPath(isRaw, cmp.Comparer(func(a, b json.RawMessage) bool { return spelled(a) == spelled(b) })),
	}
	if diff := cmp.Diff(want, copied(value), same); diff != "" {
		t.Fatalf("%T through JSON (-) and copied (+):\n%s", value, diff)
	}
}

func spelled(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}

// anything fills a value with what callers may give: times of any zone, texts
// that are no UTF-8, JSON as it is encoded.
func anything(random *rand.Rand, v reflect.Value, depth int) {
	if depth > 8 || depth > 1 && random.IntN(6) == 0 {
		return // as it is: empty
	}
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = time.UnixMilli(random.Int64N(4e12)).UTC()
		return
	case *json.RawMessage:
		*value = json.RawMessage([]string{"null", `"tëxt"`, `{"a":[1,2.5],"b":null}`, "9007199254740993"}[random.IntN(4)])
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"a", "ä<&>", "\"quoted\"\n", "\u2028", "cut \xc3"}[random.IntN(5)])
	case reflect.Int, reflect.Int64:
		v.SetInt(random.Int64N(1 << 40))
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		anything(random, v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(3), 3))
		for i := range v.Len() {
			anything(random, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.SetString("key")
		anything(random, value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				anything(random, v.Field(i), depth+1)
			}
		}
	}
}
