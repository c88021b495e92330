package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// FuzzNormalize compares with encoding/json: the same text is JSON, and it
// means the same.
func FuzzNormalize(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,-0,1e3],"b":"\u0041\n\ud83d\ude00\ud800","a":null}`, `[]`, `"<&>\u2028"`, ` 1 `, `{"a":}`, `[1,]`, `01`, "\"\x7f\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := rawjson.Normalize(data)
		if valid := json.Valid(data); valid != (err == nil) && !errors.Is(err, rawjson.ErrDepth) {
			t.Fatalf("%q: valid is %v, error is %v", data, valid, err)
		}
		if err != nil {
			return
		}
		var want, have any
		if json.Unmarshal(data, &want) == nil {
			if err := json.Unmarshal(got, &have); err != nil || !reflect.DeepEqual(want, have) {
				t.Fatalf("%q normalizes to %q", data, got)
			}
		}
		again, err := rawjson.Normalize(got)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("%q normalizes again to %q, %v", got, again, err)
		}
		if !rawjson.Equal(got, again) || !bytes.Equal(rawjson.AppendKey(nil, got), rawjson.AppendKey(nil, again)) {
			t.Fatalf("%q is not equal to itself", got)
		}
	})
}
