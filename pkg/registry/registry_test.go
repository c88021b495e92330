package registry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/outerloop-dev/outerloop/pkg/charter"
)

const head = "project: acme\nzone: Europe/Berlin\n"

func confidence(t *testing.T, text string) Confidence {
	t.Helper()
	p, ps := Read("outerloop.yaml", []byte(head+text))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	return p.Confidence
}

// R45: high passes up to high, medium up to medium with a review, low goes to a person; a project may change each row.
func TestConfidenceTable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want Confidence
	}{
		{"", Confidence{High: charter.RiskHigh, HighReviewed: charter.RiskHigh, MediumReviewed: charter.RiskMedium}},
		{"confidence: {medium: {alone: low, reviewed: high}}", Confidence{High: charter.RiskHigh, HighReviewed: charter.RiskHigh, Medium: charter.RiskLow, MediumReviewed: charter.RiskHigh}},
		{"confidence: {high: low, medium: none}", Confidence{High: charter.RiskLow, HighReviewed: charter.RiskLow}},
	} {
		if diff := cmp.Diff(test.want, confidence(t, test.text), cmpopts.IgnoreUnexported(Confidence{})); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
}

// R76: the longest name that fits is the one that counts; its own comes first.
func TestFactsByName(t *testing.T) {
	t.Parallel()
	p, ps := Read("outerloop.yaml", []byte(head+"facts: {order/*: {schema: {}}, order/eu/*: {schema: {}}, order/eu/1: {schema: {}}}"))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	for name, want := range map[string]string{"order/1": "order/*", "order/eu/2": "order/eu/*", "order/eu/1": "order/eu/1"} {
		if fact, ok := p.Fact(name); !ok || fact.Name != want {
			t.Errorf("%s is declared by %q, want %q", name, fact.Name, want)
		}
	}
	if _, ok := p.Fact("invoice/1"); ok {
		t.Error("an undeclared fact was found")
	}
}
