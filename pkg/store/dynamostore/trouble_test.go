package dynamostore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
)

var counter = store.Key{Part: "RUN", Sort: "1"}

// table is a fake with one counter in it, and a store on it.
func table(t *testing.T) (*dynamofake.Fake, *dynamostore.Store, *clock) {
	t.Helper()
	clock := &clock{}
	fake := dynamofake.New("loops")
	fake.Now = clock.now
	s := newStore(t, fake, dynamofake.NewObjects(), clock)
	if err := s.Write(t.Context(), "0", store.Create(store.Item{Key: counter, Numbers: map[string]int64{"n": 0}})); err != nil {
		t.Fatal(err)
	}
	return fake, s, clock
}

// firstWrite lets the next write meet a fault, and all later ones none.
func firstWrite(fault dynamofake.Fault) func(dynamofake.Call) dynamofake.Fault {
	met := false
	return func(call dynamofake.Call) dynamofake.Fault {
		if met || !call.Writes {
			return dynamofake.None
		}
		met = true
		return fault
	}
}

func read(t *testing.T, s *dynamostore.Store, key store.Key) *store.Item {
	t.Helper()
	items, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return items[0]
}

// TestUnclearAnswers: after an answer that never came, a write is done once
// and the caller knows, or the caller is told that nobody knows.
func TestUnclearAnswers(t *testing.T) {
	t.Parallel()
	fresh := store.Item{Key: store.Key{Part: "RUN", Sort: "new"}}
	add := store.Add(counter, map[string]int64{"n": 1})
	versioned := add
	versioned.Version = 1
	for name, ops := range map[string][]store.Op{
		"create": {store.Create(fresh)}, "replace": {store.Replace(store.Item{Key: counter, Version: 1, Numbers: map[string]int64{"n": 1}})},
		"versioned add": {versioned}, "transaction": {add, store.Create(fresh)}, "remove": {store.Remove(counter, 1)},
	} {
		for _, fault := range []dynamofake.Fault{
			dynamofake.CutBefore, dynamofake.CutAfter, dynamofake.InternalBefore, dynamofake.InternalAfter,
		} {
			t.Run(fmt.Sprintf("%s/%s", name, fault), func(t *testing.T) {
				t.Parallel()
				fake, s, _ := table(t)
				fake.Faults = firstWrite(fault)
				err := s.Write(t.Context(), "1", ops...)
				after := fault == dynamofake.CutAfter || fault == dynamofake.InternalAfter
				if name == "remove" && after {
					// An absent item bears no id: nobody can tell who removed it.
					if !errors.Is(err, store.ErrOutcomeUnknown) {
						t.Fatalf("got %v, want that the outcome is unknown", err)
					}
				} else if err != nil {
					t.Fatal(err)
				}
				item := read(t, s, counter)
				switch {
				case name == "remove" && item != nil, name != "remove" && name != "create" && item.Numbers["n"] != 1:
					t.Fatalf("%+v stands there", item)
				}
			})
		}
	}
}

// meddled cuts the answer of the first update after somebody else has written.
type meddled struct {
	dynamostore.Client
	meddle func()
}

func (m *meddled) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := m.Client.UpdateItem(ctx, in, opts...)
	if meddle := m.meddle; meddle != nil && err == nil {
		m.meddle = nil
		meddle()
		return nil, io.ErrUnexpectedEOF
	}
	return out, err
}

// TestUnclearAdd: an Add alone is not sent again, since it could count twice.
// Where its id stands, it was done; else nobody knows.
func TestUnclearAdd(t *testing.T) {
	t.Parallel()
	add := store.Add(counter, map[string]int64{"n": 1})
	for _, c := range []struct {
		fault   dynamofake.Fault
		unknown bool
		want    int64
	}{
		{dynamofake.CutAfter, false, 1}, {dynamofake.CutBefore, true, 0},
	} {
		fake, s, _ := table(t)
		fake.Faults = firstWrite(c.fault)
		if err := s.Write(t.Context(), "1", add); errors.Is(err, store.ErrOutcomeUnknown) != c.unknown || !c.unknown && err != nil {
			t.Errorf("%s: %v", c.fault, err)
		}
		if n := read(t, s, counter).Numbers["n"]; n != c.want {
			t.Errorf("%s: counted %d, want %d", c.fault, n, c.want)
		}
	}
	fake, other, clock := table(t)
	client := &meddled{Client: fake, meddle: func() {
		if err := other.Write(t.Context(), "other", store.Add(counter, map[string]int64{"n": 10})); err != nil {
			t.Error(err)
		}
	}}
	s := newStore(t, client, dynamofake.NewObjects(), clock)
	if err := s.Write(t.Context(), "1", add); !errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("with another write between: %v", err)
	}
	if n := read(t, other, counter).Numbers["n"]; n != 11 {
		t.Errorf("counted %d, want 11", n)
	}
}

// TestPatience: what is throttled for good is repeated within the bound, with
// growing pauses, and then told; nothing was done.
func TestPatience(t *testing.T) {
	t.Parallel()
	for _, fault := range []dynamofake.Fault{dynamofake.Throttled, dynamofake.Conflict, dynamofake.CutBefore} {
		fake, s, clock := table(t)
		calls := 0
		fake.Faults = func(call dynamofake.Call) dynamofake.Fault {
			if !call.Writes {
				return dynamofake.None
			}
			calls++
			return fault
		}
		start := clock.now()
		err := s.Write(t.Context(), "1", store.Add(counter, map[string]int64{"n": 1}), store.Create(store.Item{Key: store.Key{Part: "P", Sort: "1"}}))
		want := store.ErrThrottled
		if fault == dynamofake.CutBefore {
			want = store.ErrOutcomeUnknown
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", fault, err, want)
		}
		if took := clock.now().Sub(start); took > 5*time.Second || calls < 5 || calls > 100 {
			t.Errorf("%s: %d calls in %s", fault, calls, took)
		}
		fake.Faults = nil
		if n := read(t, s, counter).Numbers["n"]; n != 0 {
			t.Errorf("%s: counted %d", fault, n)
		}
	}
}

func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	fake, s, _ := table(t)
	n := 0
	fake.Faults = func(dynamofake.Call) dynamofake.Fault {
		n++
		return []dynamofake.Fault{dynamofake.Throttled, dynamofake.CutAfter, dynamofake.InternalBefore, dynamofake.None}[n%4]
	}
	if item := read(t, s, counter); item == nil {
		t.Fatal("the item was not read")
	}
	if page, err := s.List(t.Context(), store.Query{Part: counter.Part}); err != nil || len(page.Items) != 1 {
		t.Fatal(page, err)
	}
	fake.Faults = func(dynamofake.Call) dynamofake.Fault { return dynamofake.Throttled }
	if _, err := s.Get(t.Context(), counter); !errors.Is(err, store.ErrThrottled) {
		t.Fatalf("got %v", err)
	}
}

// TestForgottenToken: when DynamoDB has forgotten the request, the write's own
// id still tells that it won.
func TestForgottenToken(t *testing.T) {
	t.Parallel()
	_, s, clock := table(t)
	ops := []store.Op{store.Add(counter, map[string]int64{"n": 1}), store.Create(store.Item{Key: store.Key{Part: "P", Sort: "1"}})}
	for range 2 {
		if err := s.Write(t.Context(), "1", ops...); err != nil {
			t.Fatal(err)
		}
	}
	clock.at.Add(int64(11 * time.Minute))
	if err := s.Write(t.Context(), "1", ops...); !store.Won(err) {
		t.Fatalf("got %v, want that it had won", err)
	}
	if n := read(t, s, counter).Numbers["n"]; n != 1 {
		t.Fatalf("counted %d", n)
	}
}

// TestExactlyOnceInTrouble: a caller that repeats a write under its id until it
// knows sees it done once, whatever happens on the way.
func TestExactlyOnceInTrouble(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		fake, s, clock := table(t)
		random := mathrand.New(mathrand.NewPCG(seed, 1))
		faults := []dynamofake.Fault{
			dynamofake.None, dynamofake.None, dynamofake.Throttled, dynamofake.Conflict, dynamofake.Unprocessed,
			dynamofake.CutBefore, dynamofake.CutAfter, dynamofake.InternalBefore, dynamofake.InternalAfter,
		}
		fake.Faults = func(dynamofake.Call) dynamofake.Fault { return faults[random.IntN(len(faults))] }
		for n := range 30 {
			mine := fmt.Sprintf("res.%d", n)
			ops := []store.Op{store.Add(counter, map[string]int64{"n": 1, mine: 1}, store.Absent(mine))}
			if n%2 == 0 {
				ops = append(ops, store.Create(store.Item{Key: store.Key{Part: "P", Sort: mine}}))
			}
			id := rand.Text()
			for {
				err := s.Write(t.Context(), id, ops...)
				var failed *store.ConditionError
				if err == nil || errors.As(err, &failed) && (failed.Won || failed.Current.Numbers[mine] == 1) {
					break
				}
				if random.IntN(5) == 0 {
					clock.at.Add(int64(11 * time.Minute))
				}
			}
		}
		fake.Faults = nil
		if got := read(t, s, counter).Numbers["n"]; got != 30 || fake.ItemCount("P") != 15 {
			t.Fatalf("seed %d: counted %d of 30, created %d of 15", seed, got, fake.ItemCount("P"))
		}
	}
}
