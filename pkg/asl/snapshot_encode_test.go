package asl

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// The hand-written encoding is that of encoding/json, for every field there is.
func TestSnapshotEncodingIsComplete(t *testing.T) {
	t.Parallel()
	var full snapshot
	fill(reflect.ValueOf(&full).Elem(), 4)
	for name, s := range map[string]*snapshot{"full": &full, "empty": {}} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		want, err := rawjson.Normalize(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var w objectWriter
		s.write(&w)
		if got := string(w.b); got != string(want) {
			t.Errorf("%s snapshot is\n%s\nwant\n%s", name, got, want)
		}
	}
}

// fill sets every field to something that is not zero, to the given depth.
func fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":"<é>"}`))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 11, 30, 1, 2, 3, 4000, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			if v.Index(i).Kind() == reflect.Pointer && depth == 0 {
				v.Set(v.Slice(0, 0))
				return
			}
			fill(v.Index(i), depth)
		}
	case reflect.String:
		v.SetString("text \u2028 <&>\n")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	}
}
