package transfer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/memstore"
	"github.com/outerloop-dev/outerloop/pkg/transfer"
)

// overtaken lets another import of the same file begin and end before the first
// word that this one writes about its own.
type overtaken struct {
	store.Store
	other func()
}

func (o *overtaken) Write(ctx context.Context, id string, ops ...store.Op) error {
	if o.other != nil && strings.HasPrefix(ops[0].Item.Part, "IMPORT") {
		other := o.other
		o.other = nil
		other()
	}
	return o.Store.Write(ctx, id, ops...)
}

// Two imports of one file at once: one does it, the other says so and has done nothing.
func TestImportedTwiceAtOnce(t *testing.T) {
	t.Parallel()
	file, to := export(t, filled(t)), memstore.New()
	first := &overtaken{Store: to, other: func() {
		if got, err := load(t, to, to, file); err != nil || got.Already {
			t.Errorf("the other import: %+v, %v", got, err)
		}
	}}
	if _, err := load(t, first, to, file); !errors.Is(err, transfer.ErrBeside) {
		t.Errorf("the one that was overtaken: %v", err)
	}
	if got, err := load(t, to, to, file); err != nil || !got.Already {
		t.Errorf("once more: %+v, %v", got, err)
	}
}
