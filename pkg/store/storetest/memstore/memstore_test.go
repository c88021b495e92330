package memstore_test

import (
	"math/rand/v2"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/memstore"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Bundle {
		s := memstore.New()
		return storetest.Bundle{
			Store: s, Blobs: s,
			Damage: func(_ *testing.T, ref string) { s.Damage(ref) },
			Crash:  func(*testing.T) store.Store { return s.Crash(rand.IntN(1 + s.Unsynced())) },
		}
	})
}
