package dynamostore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
	"github.com/outerloop-dev/outerloop/pkg/store/sweep"
)

// What nothing refers to goes once it is old; what an item refers to, directly or
// through another blob, stays, and so does what was put again lately.
func TestSweep(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	fake, objects := dynamofake.New("t"), dynamofake.NewObjects()
	objects.Now = func() time.Time { return now }
	with := dynamostore.Config{Client: fake, Table: "t", Objects: objects, Bucket: "b", Prefix: "blobs/"}
	s, err := dynamostore.New(with)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) string {
		t.Helper()
		ref, err := s.PutBlob(ctx, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	lost, again, inner := put("lost"), put("put again"), put("inner")
	outer := put(`["` + inner + `"]`)
	item := store.Item{Key: store.Key{Part: "RUN#1", Sort: "RUN"}, Body: []byte(`{"ref":"` + outer + `"}`)}
	if err := s.Write(ctx, "w", store.Create(item)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(40 * 24 * time.Hour)
	put("put again")
	young := put("young")
	sweeper, err := dynamostore.NewSweeper(fake, objects, with)
	if err != nil {
		t.Fatal(err)
	}
	removed, err := sweep.Blobs(ctx, sweeper, now.Add(-30*24*time.Hour), 0)
	if err != nil || removed != 1 {
		t.Fatalf("removed %d, %v", removed, err)
	}
	for ref, there := range map[string]bool{lost: false, again: true, inner: true, outer: true, young: true} {
		if _, err := s.GetBlob(ctx, ref); errors.Is(err, store.ErrNoBlob) == there {
			t.Errorf("%s: %v", ref, err)
		}
	}
}
