// Package filltest puts something into every field of a value, at random, and
// compares what was made of it, for tests of what copies, writes and reads
// records. It is linked into tests only.
package filltest

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Texts are strings that JSON has to spell with care, all of them UTF-8.
var Texts = []string{"a", "ä<&>", "\"quoted\"\n", "\u2028"}

// deepest is where values of a type that holds itself end.
const deepest = 8

// Filler draws values.
type Filler struct {
	Random *rand.Rand
	// Texts are drawn from for strings.
	Texts []string
}

// Fill puts something into every exported field below a pointer; some stay empty.
func (f Filler) Fill(pointer any) { f.fill(reflect.ValueOf(pointer).Elem(), 0) }

func (f Filler) fill(v reflect.Value, depth int) {
	if depth > deepest || depth > 1 && f.Random.IntN(7) == 0 {
		return // as it is: empty
	}
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = time.UnixMilli(f.Random.Int64N(4e12)).UTC()
		return
	case *json.RawMessage:
		*value = json.RawMessage([]string{"null", `"tëxt"`, `{"a":[1,2.5],"b":null}`, "9007199254740993"}[f.Random.IntN(4)])
		return
	}
	f.fillKind(v, depth)
}

func (f Filler) fillKind(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.Texts[f.Random.IntN(len(f.Texts))])
	case reflect.Int, reflect.Int64:
		v.SetInt(f.Random.Int64N(1 << 40))
	case reflect.Bool:
		v.SetBool(f.Random.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(f.Random.Float64())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.Random.IntN(3), 3))
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.SetString("key")
		f.fill(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i), depth+1)
			}
		}
	}
}

// Same are the options of cmp under which values are equal that every reader
// takes alike: an absent list is an empty one, absent JSON is null.
func Same() cmp.Options {
	isRaw := func(p cmp.Path) bool { return p.Last().Type() == reflect.TypeFor[json.RawMessage]() }
	return cmp.Options{
		cmp.FilterPath(func(p cmp.Path) bool { return !isRaw(p) }, cmpopts.EquateEmpty()),
		cmp.FilterPath(isRaw, cmp.Comparer(func(a, b json.RawMessage) bool { return spelled(a) == spelled(b) })),
	}
}

// spelled is a value as it is written: none is null.
func spelled(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}
