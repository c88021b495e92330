package record_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/internal/filltest"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// TestPutReadsAsStored: what the decoder keeps of a record that was put is what
// decoding the stored body gives, whatever stands in it; and what the caller does
// to the record afterwards does not show.
func TestPutReadsAsStored(t *testing.T) {
	t.Parallel()
	random := filltest.Filler{Random: rand.New(rand.NewPCG(1, 2)), Texts: filltest.Texts}
	for range 500 {
		var d record.Decoder
		step, run := &record.Step{}, &record.Run{}
		random.Fill(step)
		random.Fill(run)
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
	if diff := cmp.Diff(want, got, filltest.Same()); diff != "" {
		t.Fatalf("stored (-) and kept (+) differ:\n%s", diff)
	}
}
