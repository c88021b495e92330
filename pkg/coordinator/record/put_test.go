package record_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// TestPutReadsAsStored: what the decoder keeps of a record that was put is what
// decoding the stored body gives, whatever stands in it; and what the caller does
// to the record afterwards does not show.
func TestPutReadsAsStored(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var d record.Decoder
		step, run := &record.Step{}, &record.Run{}
		fill(random, reflect.ValueOf(step).Elem(), 0)
		fill(random, reflect.ValueOf(run).Elem(), 0)
		step.Stored, run.Stored = 1, 1
		compare(t, d.PutStep(step), record.DecodeStep, d.Step, func() { step.Name, step.Log = "changed", nil })
		compare(t, d.PutRun(run), record.DecodeRun, d.Run, func() { run.Subject, run.Log = "changed", nil })
	}
}

func compare[T any](t *testing.T, op store.Op, stored, kept func(*store.Item) (*T, error), change func()) {
	t.Helper()
	change()
	item := op.Item
	item.Version = 2
	want, err := stored(&item)
	if err != nil {
		t.Fatal(err)
	}
	got, err := kept(&item)
	if err != nil {
		t.Fatal(err)
	}
	isRaw := func(p cmp.Path) bool { return p.Last().Type() == reflect.TypeFor[json.RawMessage]() }
	same := cmp.Options{
		cmp.FilterPath(func(p cmp.Path) bool { return !isRaw(p) }, cmpopts.EquateEmpty()),
		cmp.FilterPath(isRaw, cmp.Comparer(func(a, b json.RawMessage) bool { return spelled(a) == spelled(b) })),
	}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Fatalf("stored (-) and kept (+) differ:\n%s", diff)
	}
}

// spelled is a value as it is written: none is null.
func spelled(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}

// fill puts something into every exported field.
func fill(random *rand.Rand, v reflect.Value, depth int) {
	if depth > 6 || random.IntN(8) == 0 && depth > 0 {
		return // as it is: empty
	}
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = time.UnixMilli(random.Int64N(4e12)).UTC()
		return
	case *json.RawMessage:
		*value = json.RawMessage([]string{"null", `"tëxt <b>"`, `{"a":[1,2.5],"b":null}`, "9007199254740993"}[random.IntN(4)])
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"a", "ä<&>", "\"quoted\"\n", "\u2028"}[random.IntN(4)])
	case reflect.Int, reflect.Int64:
		v.SetInt(random.Int64N(1 << 40))
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(random.Float64())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(random, v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(3), 3))
		for i := range v.Len() {
			fill(random, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.SetString("key")
		fill(random, value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(random, v.Field(i), depth+1)
			}
		}
	}
}
