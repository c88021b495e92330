package dynamostore_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
)

func TestStoreOnFake(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Bundle {
		_, bundle := onFake(t)
		return bundle
	})
}

func TestStoreOnLaggingIndexes(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Bundle {
		fake, bundle := onFake(t)
		fake.Lagging, bundle.Features.LaggingIndexes = true, true
		return bundle
	})
}

// TestStoreInTrouble: throttling, conflicts and batches that leave keys out
// change nothing but the time it takes.
func TestStoreInTrouble(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Bundle {
		fake, bundle := onFake(t)
		fake.Faults = func(call dynamofake.Call) dynamofake.Fault {
			faults := []dynamofake.Fault{dynamofake.Throttled, dynamofake.Unprocessed, dynamofake.None, dynamofake.None}
			if call.Writes {
				faults[1] = dynamofake.Conflict
			}
			return faults[rand.IntN(len(faults))]
		}
		return bundle
	})
}

func onFake(t *testing.T) (*dynamofake.Fake, storetest.Bundle) {
	t.Helper()
	clock := &clock{}
	fake, objects := dynamofake.New("loops"), dynamofake.NewObjects()
	fake.Now = clock.now
	s := newStore(t, fake, objects, clock)
	return fake, storetest.Bundle{
		Store: s, Blobs: s, Scan: newScanner(t, fake, clock),
		Damage: func(t *testing.T, ref string) {
			if n := objects.Damage(strings.TrimPrefix(ref, "sha256:")); n != 1 {
				t.Fatalf("%d objects hold %s", n, ref)
			}
		},
	}
}

func newStore(t *testing.T, client dynamostore.Client, objects dynamostore.Objects, clock *clock) *dynamostore.Store {
	t.Helper()
	s, err := dynamostore.New(dynamostore.Config{
		Client: client, Table: "loops", Objects: objects, Bucket: "blobs", Prefix: "p/",
		Now: clock.now, Sleep: clock.sleep,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newScanner(t *testing.T, client dynamostore.ScanClient, clock *clock) *dynamostore.Scanner {
	t.Helper()
	s, err := dynamostore.NewScanner(client, dynamostore.Config{Table: "loops", Now: clock.now, Sleep: clock.sleep})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// clock passes only while somebody sleeps.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(0, c.at.Load()) }

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.at.Add(int64(d))
	return ctx.Err()
}
