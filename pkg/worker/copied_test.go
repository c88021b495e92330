package worker

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/internal/filltest"
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
	filltest.Filler{Random: random, Texts: append(slices.Clone(filltest.Texts), "cut \xc3")}.Fill(&value) // callers may give what is no UTF-8
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%T: %v", value, err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("%T: %v", value, err)
	}
	if diff := cmp.Diff(want, copied(value), filltest.Same()); diff != "" {
		t.Fatalf("%T through JSON (-) and copied (+):\n%s", value, diff)
	}
}
