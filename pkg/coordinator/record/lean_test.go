package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// TestLeanBodies: what can be told from the rest of a record is not written, and
// reads as if it were; a body that has all of it reads alike.
func TestLeanBodies(t *testing.T) {
	t.Parallel()
	value := record.Payload(json.RawMessage(`{"text":"<hello>"}`))
	outcome := outerloop.OutcomeCompleted
	step := &record.Step{
		Run: "r", Address: "a/b", Path: "a/b", Name: "a/b", State: outerloop.StepSettled, Outcome: outcome, Output: value,
		Input: record.Value{Hash: value.Hash, Size: value.Size}, Reason: "sure", Because: "sure",
		LastVerdict: &gate.Verdict{Note: gate.Note{Outcome: &outcome}},
	}
	step.Worker = "w"
	step.Note(record.Entry{Kind: "admitted", Worker: "w", Input: value.Hash})
	step.Note(record.Entry{Kind: "settled", Worker: "another", Input: "sha256:0123456789abcdef0", Output: value.Hash})
	step.Note(record.Entry{Kind: "joined"})
	run := &record.Run{ID: "r", Loop: "l", Input: value, InputHash: value.Hash, Output: value}
	approval := &record.Approval{ID: "a", Content: value, Hash: value.Hash}
	fact := &record.Fact{Name: "f", Value: value}

	alike(t, step, step.Put(), record.DecodeStep, 1)
	alike(t, run, run.Put(), record.DecodeRun, 1)
	alike(t, approval, approval.Put(), record.DecodeApproval, 1)
	alike(t, fact, fact.Put(), record.DecodeFact, 0)

	told := *step
	told.LastVerdict = &gate.Verdict{Error: "Outerloop.Revise", Cause: "again"}
	told.Reason, told.Name, told.Output.Hash = "another", "a[1]/b", "sha256:other"
	alike(t, &told, told.Put(), record.DecodeStep, 1)
}

// alike reads a record's own body and its whole one; hashes bounds how often the
// content's hash stands in its own.
func alike[T any](t *testing.T, want *T, put store.Op, decode func(*store.Item) (*T, error), hashes int) {
	t.Helper()
	whole, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	hash := record.HashOf([]byte(`{"text":"<hello>"}`))
	if n := strings.Count(string(put.Item.Body), hash); n > hashes {
		t.Errorf("the hash stands %d times in %s", n, put.Item.Body)
	}
	for _, body := range [][]byte{put.Item.Body, bytes.ReplaceAll(bytes.ReplaceAll(whole, []byte(`\u003c`), []byte("<")), []byte(`\u003e`), []byte(">"))} {
		item := put.Item
		item.Body = body
		got, err := decode(&item)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shown(t, want), shown(t, got)); diff != "" {
			t.Errorf("%s reads as (-want +got):\n%s", body, diff)
		}
	}
}

func shown(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%T %s", v, text)
}
