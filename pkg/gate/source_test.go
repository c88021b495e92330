package gate_test

import (
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// R27: a source is data that exists, down to the element of a list.
func TestCites(t *testing.T) {
	t.Parallel()
	value := map[string]any{"x": []any{"a", map[string]any{"id": nil}}, "deal": map[string]any{"name": "Acme"}, "grid": []any{[]any{1}}}
	for source, want := range map[string]bool{
		"input": true, "input.x": true, "input.x[0]": true, "input.x[1].id": true, "input.deal.name": true, "input.grid[0][0]": true,
		"input.x[99]": false, "input.x[2]": false, "input.x[-1]": false, "input.x[+1]": false, "input.x[01]": false, "input.x[]": false, "input.x[0": false,
		"input.x.id": false, "input.x[0].id": false, "input.x[1].name": false, "input.deal[0]": false, "input.deal.name.first": false,
		"input.": false, "input.deal.": false, "input..x": false, "inputs": false, "input x": false, "facts.x": false, "": false,
	} {
		if got := gate.Cites(source, "input", value); got != want {
			t.Errorf("%q: %v, want %v", source, got, want)
		}
	}
	if !gate.Cites("facts.eu.sales[0]", "facts.eu.sales", []any{1}) || gate.Cites("facts.eu.sales[0]", "facts.eu", []any{1}) {
		t.Error("a name with a point is not taken whole")
	}
}

func FuzzCites(f *testing.F) {
	for _, seed := range []string{"input", "input.x[0]", "input.x[", "input.[0]"} {
		f.Add(seed)
	}
	value := map[string]any{"x": []any{"a"}}
	f.Fuzz(func(t *testing.T, source string) {
		want := source == "input" || source == "input.x" || source == "input.x[0]"
		if got := gate.Cites(source, "input", value); got != want {
			t.Errorf("%q: %v, want %v", source, got, want)
		}
	})
}
