package record_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// TestDecoder: what is kept in memory reads as it is stored, whatever a caller
// did to the record it got, and what stands beside the body is never kept.
func TestDecoder(t *testing.T) {
	t.Parallel()
	label := "1"
	step := &record.Step{
		Run: "r", Address: "a", Path: "a", Name: "a", Fence: 3, Reasons: []string{"one"},
		Tries: record.Tries{Failed: map[outerloop.Class]int{outerloop.ClassTimeout: 1}}, Facts: map[string]int64{"f": 1},
		GaveUp: &record.Fault{Error: "e"}, LastVerdict: &gate.Verdict{Error: "e"}, Block: &record.Block{Label: &label},
		Log: []record.Entry{{Kind: "k"}},
	}
	run := &record.Run{ID: "r", Rollback: &record.Rollback{Of: "q"}, Subs: map[string]string{"s": "1"}, Counts: map[string]int{"c": 1}, Numbers: map[string]int64{"left": 1}}
	var d record.Decoder
	for version := int64(1); version <= 3; version++ {
		item := stored(step.Put(), version)
		item.Numbers["fence"] += version
		want, err := record.DecodeStep(item)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Step(item)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("step at version %d:\n%s", version, diff)
		}
		got.Tries.Failed[outerloop.ClassTimeout], got.Facts["f"], got.GaveUp.Error, got.LastVerdict.Error = 9, 9, "!", "!"
		got.Block.Count, got.Log[0].Kind, got.Reasons = 9, "!", append(got.Reasons, "two")

		item = stored(run.Put(), version)
		wanted, err := record.DecodeRun(item)
		if err != nil {
			t.Fatal(err)
		}
		same, err := d.Run(item)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, same); diff != "" {
			t.Errorf("run at version %d:\n%s", version, diff)
		}
		same.Subs["s"], same.Counts["c"], same.Rollback.Sent = "!", 9, "!"
	}
	step.Name = "b"
	if got, err := d.Step(stored(step.Put(), 4)); err != nil || got.Name != "b" {
		t.Errorf("after a change: %+v, %v", got, err)
	}
}

func stored(op store.Op, version int64) *store.Item {
	item := op.Item
	item.Version = version
	return &item
}
