// Package machines is the coordinator's way to Step Functions and to what was
// deployed: executions and task tokens over the AWS API, and the definitions
// that were published in the table before machines point at them.
package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Record is what the table keeps of a definition under its hash (DEF#hash).
type Record struct {
	Loop string `json:"loop"`
	// Bundle is the blob that the hash is of.
	Bundle string `json:"bundle"`
	// Machine is the ARN of the machine's version that new executions of this
	// definition run; empty until it is published.
	Machine string `json:"machine,omitempty"`
}

// Latest is what new runs of a loop pin.
type Latest struct {
	Loop string `json:"loop"`
	Hash string `json:"hash"`
	// Machine is the version's ARN, for people who look.
	Machine string `json:"machine"`
}

// LatestPart is the partition with the loops that can be started, by name.
const LatestPart = "LATEST"

// RecordKey addresses a definition.
func RecordKey(hash string) store.Key { return store.Key{Part: "DEF#" + hash, Sort: "DEF"} }

// LatestKey addresses a loop's latest definition.
func LatestKey(loop string) store.Key { return store.Key{Part: LatestPart, Sort: loop} }

// read gets one record; nil, with no item, where there is none.
func read[T any](ctx context.Context, from store.Store, key store.Key) (*T, *store.Item, error) {
	items, err := from.Get(ctx, key)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s/%s: %w", key.Part, key.Sort, err)
	}
	if items[0] == nil {
		return nil, nil, nil
	}
	value := new(T)
	if err := json.Unmarshal(items[0].Body, value); err != nil {
		return nil, nil, fmt.Errorf("reading %s/%s: %w", key.Part, key.Sort, err)
	}
	return value, items[0], nil
}

// put writes a record where have stands: nil creates it.
func put(ctx context.Context, to store.Store, id string, at placed) error {
	body, err := json.Marshal(at.value)
	if err != nil {
		return err
	}
	op := store.Create(store.Item{Key: at.key, Body: body})
	if at.have != nil {
		op = store.Replace(store.Item{Key: at.key, Version: at.have.Version, Body: body})
	}
	err = to.Write(ctx, id, op)
	if store.Won(err) {
		return nil
	}
	return err
}

type placed struct {
	key   store.Key
	have  *store.Item
	value any
}

// conflict tells whether somebody else wrote in between.
func conflict(err error) bool { return errors.Is(err, store.ErrCondition) }
