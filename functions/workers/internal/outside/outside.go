// Package outside plays an outside system as a directory of records: what a
// business action creates is one new file, and like most outside systems the
// directory takes every record it is given. That nothing is made twice is the
// work of the action log, and of looking a record up by its key.
package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/directory"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Kind is the kind of the connections that this package serves.
const Kind = "files"

// extension ends the names of records.
const extension = ".json"

// Do makes the step's business action in a connection: create gives the record,
// which is kept and is the action's result. An error of create means that
// nothing was made. The second value is the evidence for it.
func Do[In, Record any](ctx context.Context, t worker.Task[In], connection string, create func(worker.Action) (Record, error)) (Record, []worker.Evidence, error) {
	var made Record
	c, err := t.Connection(connection)
	at, err := directory.Of(c, err, Kind)
	if err != nil {
		return made, nil, err
	}
	if t.Action == "" {
		return made, nil, worker.Fatal("the step declares no action, and this is one")
	}
	done, err := t.Do(ctx, t.Action, t.Input, func(ctx context.Context, a worker.Action) (any, error) {
		record, err := create(a)
		if err != nil {
			return nil, worker.NotDone(err)
		}
		content, err := json.MarshalIndent(record, "", "  ")
		if err != nil {
			return nil, worker.NotDone(worker.Fatal("encoding the record: %w", err))
		}
		if err := Put(ctx, at, name(a.Entry, a.ProviderKey), append(content, '\n')); err != nil {
			if errors.Is(err, worker.ErrNotCreated) {
				return nil, worker.NotDone(worker.Transient("%w", err))
			}
			return nil, worker.Transient("%w", err)
		}
		return record, nil
	})
	if err != nil {
		return made, nil, err
	}
	if err := done.Decode(&made); err != nil {
		return made, nil, err
	}
	claim := "One record in " + connection
	if done.Repeated {
		claim = "A record in " + connection + ", made before"
	}
	return made, []worker.Evidence{{Claim: claim, Source: "action:" + done.Entry}}, nil
}

// Verify looks an action's record up in a connection. Record is the type that
// Do was given.
func Verify[Record any](connection string) worker.VerifyFunc {
	return func(ctx context.Context, req worker.VerifyRequest) (worker.Verification, error) {
		c, err := req.Connection(connection)
		at, err := directory.Of(c, err, Kind)
		if err != nil {
			return worker.Verification{}, err
		}
		content, err := Find(ctx, at, name(req.Entry, req.ProviderKey))
		if err != nil {
			return worker.Verification{}, worker.Transient("looking for %s: %w", req.Entry, err)
		}
		if content == nil {
			return worker.Verification{Finding: worker.NotFound}, nil
		}
		var record Record
		if err := json.Unmarshal(content, &record); err != nil {
			return worker.Verification{}, fmt.Errorf("reading the record of %s: %w", req.Entry, err)
		}
		return worker.Verification{Finding: worker.Found, Result: record}, nil
	}
}

// All are the records of a connection; a directory that is not there has none.
func All[Record any](ctx context.Context, c worker.Connection, err error) ([]Record, error) {
	at, err := directory.Of(c, err, Kind)
	if err != nil {
		return nil, err
	}
	names, err := at.Names(ctx)
	if err != nil {
		return nil, worker.Transient("listing %s: %w", c.Name, err)
	}
	all := []Record{}
	for _, name := range names {
		if !strings.HasSuffix(name, extension) {
			continue
		}
		content, err := at.Read(ctx, name)
		if err != nil {
			return nil, worker.Transient("reading %s: %w", c.Name, err)
		}
		var record Record
		if err := json.Unmarshal(content, &record); err != nil {
			return nil, worker.Fatal("reading %s of %s: %w", name, c.Name, err)
		}
		all = append(all, record)
	}
	return all, nil
}

// name is a record's file name: its action's entry, readable, and its key.
func name(entry, providerKey string) Name {
	return Name{Safe(entry, 80) + "-" + Key(providerKey)[:16], extension}
}

// Safe is a text as a part of a file name, at most limit bytes long.
func Safe(text string, limit int) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@.-_+", r) {
			return r
		}
		return '_'
	}, text)
	return strings.TrimLeft(name[:min(len(name), limit)], ".")
}
