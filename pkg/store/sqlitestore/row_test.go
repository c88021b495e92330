package sqlitestore

import (
	"errors"
	"maps"
	"math"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// FuzzNumbers: what a row holds is read as it was written or refused as corrupt.
func FuzzNumbers(f *testing.F) {
	f.Add(encodeNumbers(map[string]int64{"a": math.MaxInt64, "b.c-1": math.MinInt64, "zero": 0}))
	f.Add("a=1\n\nb=2")
	f.Add("=")
	f.Fuzz(func(t *testing.T, text string) {
		numbers, err := decodeNumbers(text)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again, err := decodeNumbers(encodeNumbers(numbers))
		if err != nil || !maps.Equal(numbers, again) {
			t.Fatalf("%q reads as %v, then as %v, %v", text, numbers, again, err)
		}
	})
}
