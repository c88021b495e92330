package sim_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/internal/sim"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
)

// backends are the stores by name; nil is the one in memory.
var backends = map[string]func(uint64) sim.Backend{"memory": nil, "sqlite": onSQLite, "dynamo": onDynamo}

// onSQLite is the embedded store as the engine uses it: in a file of its own.
func onSQLite(uint64) sim.Backend {
	dir, err := os.MkdirTemp("", "sim")
	if err != nil {
		panic(err)
	}
	db, err := sqlitestore.Open(filepath.Join(dir, "state.db"), sqlitestore.Options{Owner: true})
	if err != nil {
		panic(err)
	}
	return sim.Backend{Store: sqlitestore.Relaxed{Store: db}, Blobs: sqlitestore.Relaxed{Store: db}, Close: func() {
		_ = db.Close()
		_ = os.RemoveAll(dir)
	}}
}

// onDynamo is the store in DynamoDB, on a fake whose own faults fall by the seed:
// throttling, conflicts, connections cut before and after the write, internal
// errors, batches with keys left out, and indexes that trail.
func onDynamo(seed uint64) sim.Backend {
	random := rand.New(rand.NewPCG(seed, 4))
	fake := dynamofake.New("loops")
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	fake.Now = func() time.Time { return now }
	kinds := []dynamofake.Fault{
		dynamofake.Throttled, dynamofake.Conflict, dynamofake.CutBefore, dynamofake.CutAfter,
		dynamofake.InternalBefore, dynamofake.InternalAfter, dynamofake.Unprocessed,
	}
	faults := func(dynamofake.Call) dynamofake.Fault {
		if random.IntN(25) > 0 {
			return dynamofake.None
		}
		return kinds[random.IntN(len(kinds))]
	}
	fake.Faults = faults
	fake.Lagging = random.IntN(3) == 0
	store, err := dynamostore.New(dynamostore.Config{
		Client: fake, Table: "loops", Objects: dynamofake.NewObjects(), Bucket: "blobs", Patience: time.Second, Random: random.Float64,
		Now:   func() time.Time { return now },
		Sleep: func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil },
	})
	if err != nil {
		panic(err)
	}
	return sim.Backend{
		Store: store, Blobs: store,
		Quiet: func(read func()) {
			with := fake.Faults
			fake.Faults = nil
			read()
			fake.Faults = with
		},
		Calm: func() { fake.Faults, fake.Lagging = nil, false },
	}
}

// TestEveryStore runs seeds over the stores that keep their content: the file of
// the embedded engine, and DynamoDB with faults of its own.
func TestEveryStore(t *testing.T) {
	t.Parallel()
	for name, open := range backends {
		if open == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			count := max(*seeds/20, 20)
			runSeeds(t, *from, count, sim.Options{Backend: open, Scenario: *scenario})
			t.Logf("%d seeds in %s", count, time.Since(began).Round(time.Millisecond))
		})
	}
}
