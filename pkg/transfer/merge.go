package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// merge decides what stands where an item of the file meets one of the
// destination: nil, what stands there already; else its replacement. mark names
// the import where putting together twice would count twice. Errors: ErrConflict.
func merge(mark string, item, have store.Item) (*store.Item, error) {
	item = released(item)
	if same(item, have) {
		return nil, nil
	}
	switch kindOf(item.Part) {
	case kindLoop:
		return mergeLoop(item, have)
	case kindQuota:
		return mergeQuota(item, have)
	case kindPurse:
		return mergePurse(mark, item, have), nil
	case kindSchedule:
		return nil, nil // what has fired here is fired
	case kindDef:
		return nil, sameDefinition(item, have)
	}
	return nil, ErrConflict
}

func same(a, b store.Item) bool {
	return bytes.Equal(a.Body, b.Body) && maps.Equal(a.Numbers, b.Numbers)
}

// mergePurse takes what was drawn on the other side out of the destination's
// purse, once. A run gives back to it what it does not spend.
func mergePurse(mark string, item, have store.Item) *store.Item {
	if have.Numbers[mark] != 0 {
		return nil
	}
	numbers := maps.Clone(have.Numbers)
	numbers[record.PurseLeft] -= item.Numbers[record.PurseLimit] - item.Numbers[record.PurseLeft]
	numbers[mark] = 1
	have.Numbers = numbers
	return &have
}

// mergeLoop keeps the slots of whichever side has runs in them.
func mergeLoop(item, have store.Item) (*store.Item, error) {
	theirs, err := record.DecodeLoop(&item)
	if err != nil {
		return nil, err
	}
	ours, err := record.DecodeLoop(&have)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Equal(ours.Holders(), theirs.Holders()) || theirs.Run == "":
		return nil, nil
	case ours.Run != "":
		return nil, ErrConflict
	}
	ours.Hold(theirs.Holders())
	merged := ours.Put().Item
	return &merged, nil
}

// mergeQuota counts what was used on both sides, each entry once.
func mergeQuota(item, have store.Item) (*store.Item, error) {
	theirs, err := record.DecodeQuota(&item)
	if err != nil {
		return nil, err
	}
	ours, err := record.DecodeQuota(&have)
	if err != nil {
		return nil, err
	}
	before := len(ours.Uses)
	for _, use := range theirs.Uses {
		if !slices.ContainsFunc(ours.Uses, func(u record.Use) bool { return u.Entry == use.Entry }) {
			ours.Uses = append(ours.Uses, use)
		}
	}
	if len(ours.Uses) == before {
		return nil, nil
	}
	slices.SortStableFunc(ours.Uses, func(a, b record.Use) int { return int(a.Ms - b.Ms) })
	merged := ours.Put().Item
	return &merged, nil
}

// sameDefinition: the destination's names a machine besides.
func sameDefinition(item, have store.Item) error {
	var theirs, ours struct {
		Bundle string `json:"bundle"`
	}
	if err := json.Unmarshal(item.Body, &theirs); err != nil {
		return fmt.Errorf("reading %s: %w", item.Part, err)
	}
	if err := json.Unmarshal(have.Body, &ours); err != nil {
		return fmt.Errorf("reading %s: %w", item.Part, err)
	}
	if theirs != ours {
		return ErrConflict
	}
	return nil
}
