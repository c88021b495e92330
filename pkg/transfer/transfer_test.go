package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/memstore"
	"github.com/outerloop-dev/outerloop/pkg/transfer"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

func put(t testing.TB, s store.Store, ops ...store.Op) {
	t.Helper()
	for _, op := range ops {
		if err := s.Write(t.Context(), "put "+record.ShortID(op.Item.Part, op.Item.Sort), op); err != nil {
			t.Fatalf("%s: %v", op.Item.Part, err)
		}
	}
}

// filled is a store with a record of every kind, one open and one closed run.
func filled(t testing.TB) *memstore.Store {
	t.Helper()
	s := memstore.New()
	blob := func(text string) string {
		ref, err := s.PutBlob(t.Context(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	page := blob(`[{"id":"<1> & 2"}]`)
	pages := blob(`["` + page + `"]`)
	open := &record.Run{
		ID: "l-1", Loop: "l", Subject: "a", Status: outerloop.StatusInProgress, Gen: 2, Started: noon, Deadline: noon.Add(time.Hour),
		Input: record.Value{Ref: blob(`{"n":1}`)}, InputHash: record.HashOf([]byte("never kept")), Definition: "d",
		Numbers: map[string]int64{record.RunLeft: 5, record.Reservation("n"): 3},
	}
	closed := &record.Run{ID: "l-2", Loop: "l", Subject: "b", Status: outerloop.StatusCompleted, Gen: 1, Started: noon, Ended: noon}
	put(t, s, open.Put(), closed.Put(),
		(&record.Step{Run: "l-1", Address: "plan", State: outerloop.StepSettled, Visit: 1, Block: &record.Block{Count: 1, Pages: pages}}).Put(),
		(&record.Step{Run: "l-1", Address: "send", State: outerloop.StepRunning, Visit: 1, Nonce: "n", Fence: 3, LeaseMs: noon.Add(time.Minute).UnixMilli(), Reserved: 3}).Put(),
		(&record.Step{Run: "l-1", Address: "send", Visit: 1}).Archive(),
		(&record.Late{Run: "l-1", Step: "send", Nonce: "old"}).Create(),
		(&record.Child{Parent: record.Parent{Run: "l-1", Address: "sub"}, ID: "m-1", Token: "secret token", Since: noon}).Put(),
		(&record.Action{Loop: "l", Entry: "a:send", State: record.ActionExecuting, Run: "l-1", Fence: 2, UntilMs: noon.UnixMilli()}).Put(),
		(&record.Approval{ID: "ap", Run: "l-1", Token: "secret token", Since: noon, Expires: noon.Add(time.Hour), Votes: []record.Vote{{By: "ann"}}}).Put(),
		(&record.Exception{ID: "ex", Run: "l-1", Token: "secret token", Since: noon}).Put(),
		(&record.Event{ID: "e1", Name: "paid", Data: json.RawMessage(`{}`), At: noon}).Put(),
		(&record.Waiter{Event: "paid", Run: "l-1", Address: "wait", Token: "secret token", Until: noon}).Put(),
		(&record.Loop{Name: "l", Run: "l-1"}).Put(),
		(&record.Quota{ID: "q", Uses: []record.Use{{Entry: "a:send", Ms: 5}}}).Put(),
		(&record.Fact{Name: "f", Value: record.Value{Ref: blob("a fact")}}).Put(),
		record.NewPurse("month/p/2026-11", 100, 30, noon),
		store.Create(store.Item{Key: store.Key{Part: "MONITOR#l", Sort: "1"}, Body: []byte(`{"loop":"l"}`)}),
		store.Create(store.Item{Key: store.Key{Part: "BREAKER#w", Sort: "BREAKER"}, Body: []byte(`{"worker":"w"}`)}),
		(&record.Lease{Resource: "r", Fence: 9}).Put(), (&record.Rate{Name: "c"}).Put(),
		store.Create(store.Item{Key: store.Key{Part: "DAY#l", Sort: "2026-11-30#v1"}, Numbers: map[string]int64{"runs": 1}}),
		store.Create(store.Item{Key: store.Key{Part: "TOLD#paid", Sort: "e1"}, Body: []byte(`{ "spaced": 1 }`), Expires: 4_000_000_000}),
		store.Create(store.Item{Key: store.Key{Part: "DEF#d", Sort: "DEF"}, Body: []byte(`{"bundle":"` + blob("bundle") + `","loop":"l","machine":"here"}`)}),
		store.Create(store.Item{Key: store.Key{Part: "SCHEDULE", Sort: "l/rate"}, Body: []byte(`{"last":"2026-11-30T12:00:00Z"}`)}),
		store.Create(store.Item{Key: store.Key{Part: "EXEC#l-1-g2", Sort: "record"}, Body: []byte(`{}`)}),
		store.Create(store.Item{Key: store.Key{Part: "QUEUE#w", Sort: "1"}, Body: []byte(`{}`)}),
		store.Create(store.Item{Key: store.Key{Part: "MACHINE", Sort: "x"}, Body: []byte(`{}`)}),
	)
	return s
}

func export(t testing.TB, s *memstore.Store) []byte {
	t.Helper()
	var file bytes.Buffer
	head, _, err := transfer.Export(t.Context(), transfer.Exporting{
		Source: transfer.Source{Store: s, Scan: s, Blobs: s, Now: clock}, ID: "move", From: "here", To: "file",
	}, &file)
	if err != nil || head.ID != "move" {
		t.Fatal(head, err)
	}
	return file.Bytes()
}

func load(t testing.TB, s store.Store, blobs store.Blobs, file []byte) (transfer.Imported, error) {
	t.Helper()
	return transfer.Import(t.Context(), transfer.Destination{Store: s, Blobs: blobs, Now: clock}, bytes.NewReader(file))
}

// all is a store's content as text, without what each store has for itself.
func all(t testing.TB, s *memstore.Store) map[string]string {
	t.Helper()
	found := map[string]string{}
	var after store.Key
	for {
		items, err := s.Scan(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) == 0 {
			return found
		}
		for _, item := range items {
			after = item.Key
			found[item.Part+"/"+item.Sort] = fmt.Sprintf("%s %v %v %v %d", item.Body, item.Numbers, item.List, item.Due, item.Expires)
		}
	}
}

func differ(t *testing.T, what string, a, b map[string]string) {
	t.Helper()
	for key := range a {
		if a[key] != b[key] {
			t.Errorf("%s: %s is\n%s\nnot\n%s", what, key, b[key], a[key])
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			t.Errorf("%s: %s is too much", what, key)
		}
	}
}

// Everything that is carried arrives as it was; tokens, leases and what an
// engine has do not, and the attempt that was running is over.
func TestContentArrives(t *testing.T) {
	t.Parallel()
	from, to := filled(t), memstore.New()
	before := all(t, from)
	file := export(t, from)
	if bytes.Contains(file, []byte("secret token")) {
		t.Error("a task token is in the file")
	}
	if again := export(t, from); !bytes.Equal(file, again) {
		t.Error("exporting again gives another file")
	}
	got, err := load(t, to, to, file)
	if err != nil || len(got.Open) != 1 || got.Open[0] != "l-1" {
		t.Fatalf("imported %+v, %v", got, err)
	}
	if want := (transfer.Counts{Items: 21, Blobs: 5, Runs: 2, Open: 1, Waiting: 2, Actions: 1, Executing: 1}); got.Counts != want {
		t.Errorf("counts are %+v, want %+v", got.Counts, want)
	}
	want, have := map[string]string{}, all(t, to)
	for key, text := range before {
		kind, _, _ := strings.Cut(strings.Split(key, "/")[0], "#")
		switch kind {
		case "LEASE", "RATE", "BREAKER", "EXEC", "QUEUE", "MACHINE":
			continue
		}
		want[key] = strings.NewReplacer(`"token":"secret token",`, "", `,"token":"secret token"`, "").Replace(text)
	}
	for key := range have {
		have[key] = strings.ReplaceAll(have[key], `"token":"",`, "")
	}
	delete(have, "IMPORT#move/IMPORT")
	want["DEF#d/DEF"] = strings.Replace(want["DEF#d/DEF"], `,"machine":"here"`, "", 1)
	want["RUN#l-1/STEP#send"] = strings.Replace(want["RUN#l-1/STEP#send"], fmt.Sprintf("lease:%d", noon.Add(time.Minute).UnixMilli()), "lease:0", 1)
	if run := have["RUN#l-1/RUN"]; !strings.Contains(run, `"kind":"moved"`) || !strings.Contains(run, "gen:2") || !strings.Contains(run, "open:1") || !strings.Contains(run, "left:5") {
		t.Errorf("the open run is %s", run)
	}
	want["RUN#l-1/RUN"] = have["RUN#l-1/RUN"]
	differ(t, "destination", want, have)
	for _, text := range []string{"a fact", `[{"id":"<1> & 2"}]`, "bundle"} {
		if _, err := to.GetBlob(t.Context(), store.BlobRef([]byte(text))); err != nil {
			t.Errorf("blob %q: %v", text, err)
		}
	}
}

// breaking fails every write after some.
type breaking struct {
	*memstore.Store
	left atomic.Int64
}

var errBroken = errors.New("the line broke")

func (b *breaking) Write(ctx context.Context, id string, ops ...store.Op) error {
	if b.left.Add(-1) < 0 {
		return errBroken
	}
	return b.Store.Write(ctx, id, ops...)
}

// An import that broke off anywhere is finished by the same file, to the same
// content; no run's own record is there before everything else is.
func TestImportGoesOn(t *testing.T) {
	t.Parallel()
	file := export(t, filled(t))
	whole := memstore.New()
	if _, err := load(t, whole, whole, file); err != nil {
		t.Fatal(err)
	}
	want := all(t, whole)
	for writes := int64(0); ; writes++ {
		to := &breaking{Store: memstore.New()}
		to.left.Store(writes)
		_, err := load(t, to, to, file)
		if err == nil {
			if writes < 15 {
				t.Errorf("only %d writes", writes)
			}
			return
		}
		if !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		if found := all(t, to.Store); found["RUN#l-1/RUN"] != "" && len(found) < len(want)-1 {
			t.Fatalf("after %d writes a run is there with %d records of %d", writes, len(found), len(want))
		}
		to.left.Store(1000)
		if got, err := load(t, to, to, file); err != nil || got.Already {
			t.Fatalf("again after %d writes: %+v, %v", writes, got, err)
		}
		differ(t, fmt.Sprint("after ", writes, " writes"), want, all(t, to.Store))
		if got, err := load(t, to, to, file); err != nil || !got.Already {
			t.Fatalf("a third time: %+v, %v", got, err)
		}
	}
}

// What stands in the way is named and nothing is written; what can be put
// together is: slots, quotas, schedules and definitions.
func TestConflicts(t *testing.T) {
	t.Parallel()
	file := export(t, filled(t))
	to := memstore.New()
	bundle, _ := json.Marshal(map[string]string{"loop": "l", "bundle": store.BlobRef([]byte("bundle")), "machine": "there"})
	put(t, to, record.NewPurse("month/p/2026-11", 100, 50, noon), (&record.Loop{Name: "l"}).Put(), (&record.Quota{ID: "q", Uses: []record.Use{{Entry: "b:send", Ms: 9}}}).Put(),
		store.Create(store.Item{Key: store.Key{Part: "DEF#d", Sort: "DEF"}, Body: bundle}),
		store.Create(store.Item{Key: store.Key{Part: "SCHEDULE", Sort: "l/rate"}, Body: []byte(`{"last":"2026-12-01T12:00:00Z"}`)}))
	met := memstore.New()
	put(t, met, (&record.Run{ID: "l-2", Loop: "l", Subject: "other", Status: outerloop.StatusCompleted}).Put(),
		(&record.Fact{Name: "f", Value: record.Payload(json.RawMessage(`1`))}).Put(), (&record.Loop{Name: "l", Run: "l-9"}).Put())
	before := all(t, met)
	_, err := load(t, met, met, file)
	var named *transfer.ConflictError
	if !errors.As(err, &named) || strings.Join(named.Names, ", ") != "run l-2, fact f, loop l" {
		t.Errorf("conflicts are %v", err)
	}
	differ(t, "conflicting destination", before, all(t, met))

	if _, err := load(t, to, to, file); err != nil {
		t.Fatal(err)
	}
	have := all(t, to)
	for key, text := range map[string]string{
		"LOOPS/l": `"run":"l-1"`, "QUOTA#q/QUOTA": `[{"entry":"a:send","at":5},{"entry":"b:send","at":9}]`,
		"PURSE#month/p/2026-11/PURSE": "left:20 limit:100", "DEF#d/DEF": `"machine":"there"`, "SCHEDULE/l/rate": "2026-12-01",
	} {
		if !strings.Contains(have[key], text) {
			t.Errorf("%s is %s", key, have[key])
		}
	}
	other := filled(t)
	put(t, other, (&record.Fact{Name: "g", Value: record.Payload(json.RawMessage(`1`))}).Put())
	if _, err := load(t, to, to, export(t, other)); !errors.Is(err, transfer.ErrConflict) {
		t.Errorf("another file of the same move: %v", err)
	}
}

// A store that is sealed takes nothing in, and a kind that is not known is not left behind in silence.
func TestRefused(t *testing.T) {
	t.Parallel()
	sealed := filled(t)
	file := export(t, sealed)
	if _, err := load(t, sealed, sealed, file); !errors.Is(err, transfer.ErrMoved) {
		t.Errorf("importing into what was exported: %v", err)
	}
	strange := filled(t)
	put(t, strange, store.Create(store.Item{Key: store.Key{Part: "STRANGE#1", Sort: "x"}}))
	_, _, err := transfer.Export(t.Context(), transfer.Exporting{Source: transfer.Source{Store: strange, Scan: strange, Blobs: strange, Now: clock}, ID: "m"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "STRANGE#1/x is of a kind") {
		t.Errorf("exporting a strange kind: %v", err)
	}
}

// FuzzImport: whatever a file holds, it is refused as such with nothing
// written, or imported whole.
func FuzzImport(f *testing.F) {
	file := export(f, filled(f))
	f.Add(file)
	f.Add(file[:len(file)/3])
	f.Add(bytes.Replace(file, []byte("a:send"), []byte("b:send"), 1))
	f.Add([]byte(`{"outerloop_export":1,"id":"x","created":"2026-11-30T12:00:00Z"}` + "\n" + `{"end":{},"sha256":""}` + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		to := memstore.New()
		_, err := load(t, to, to, file)
		if err != nil && len(all(t, to)) > 0 && (errors.Is(err, transfer.ErrFile) || errors.Is(err, transfer.ErrNewer)) {
			t.Fatalf("%v, and %d items", err, len(all(t, to)))
		}
		if err == nil {
			if got, err := load(t, to, to, file); err != nil || !got.Already {
				t.Fatalf("again: %+v, %v", got, err)
			}
		}
	})
}
