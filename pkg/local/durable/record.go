package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// The partitions of the indexes.
const (
	partHot      = "EXEC/hot"
	partDue      = "EXEC/due"
	partRunning  = "EXEC/running"
	partEnded    = "EXEC/ended"
	partFolded   = "EXEC/folded"
	partChildren = "EXEC/children#"
	sortRecord   = "record"
	sortSnapshot = "snapshot/"
	sortHistory  = "history/"
	sortFolded   = "folded/"
)

// chunk is the size of the parts in which bodies are kept. A snapshot over
// inline stands in rows of its own, and is written anew only after journalSteps
// changes or journalBytes: what happened since stands in the record.
const (
	chunk        = 320_000
	inline       = 4096
	journalSteps = 24
	journalBytes = 8192
)

// record is what is known of an execution beside its snapshot.
type record struct {
	Name        string     `json:"name"`
	Machine     string     `json:"machine"`
	MachineName string     `json:"machine_name,omitempty"`
	Processors  []string   `json:"processors,omitempty"`
	Status      asl.Status `json:"status,omitempty"`
	Parent      *parent    `json:"parent,omitempty"`
	Created     time.Time  `json:"created"`
	Last        time.Time  `json:"last,omitzero"`
	Ended       time.Time  `json:"ended,omitzero"`
	InputHash   string     `json:"input_hash"`
	// Input is kept until the execution has begun.
	Input json.RawMessage `json:"input,omitempty"`
	// Tell: it has ended and the parent was not told.
	Tell bool `json:"tell,omitempty"`
	// Stop lists child executions that are still to be stopped.
	Stop []string `json:"stop,omitempty"`
	// Submitted lists tasks whose request was accepted and that wait for a token.
	Submitted []asl.TaskID `json:"submitted,omitempty"`
	// Beats are the last heartbeats of tasks that need them.
	Beats map[asl.TaskID]time.Time `json:"beats,omitempty"`
	// Chunks counts the snapshot rows beside the record; 0: the snapshot stands
	// in the record. Otherwise the record holds the events since, one a line.
	Chunks int `json:"chunks,omitempty"`
	// Folded: the history stands in folded rows.
	Folded bool `json:"folded,omitempty"`
}

// parent is who waits for an execution: a distributed Map (Child) or a
// startExecution task with .sync (Task).
type parent struct {
	Execution string      `json:"execution"`
	Child     asl.ChildID `json:"child,omitempty"`
	Task      asl.TaskID  `json:"task,omitempty"`
	// Parse: .sync:2, the output is parsed.
	Parse bool `json:"parse,omitempty"`
}

func recordKey(name string) store.Key { return store.Key{Part: "EXEC#" + name, Sort: sortRecord} }

func (r *record) begun() bool { return r.Status != "" }

// list is the record's place in the lists. Children of Maps are found through
// their parents, whatever their status.
func (r *record) list() *store.IndexKey {
	switch {
	case r.Parent != nil && r.Parent.Child != 0:
		return &store.IndexKey{Part: partChildren + r.Parent.Execution, Sort: fmt.Sprintf("%012d", r.Parent.Child)}
	case r.Folded:
		return &store.IndexKey{Part: partFolded, Sort: store.TimeKey(r.Ended) + "/" + r.Name}
	case r.Status.Ended():
		return &store.IndexKey{Part: partEnded, Sort: store.TimeKey(r.Ended) + "/" + r.Name}
	}
	return &store.IndexKey{Part: partRunning, Sort: store.TimeKey(r.Created) + "/" + r.Name}
}

// bodies encodes a record and its snapshot: the record's line, then the
// snapshot, or further bodies for a large one.
func (r *record) bodies(snapshot []byte) ([][]byte, error) {
	var all [][]byte
	rest := snapshot
	if len(snapshot) > inline {
		rest, all = nil, slices.Collect(slices.Chunk(snapshot, chunk))
	}
	r.Chunks = len(all)
	first, err := r.body(rest)
	return append([][]byte{first}, all...), err
}

// body is the record's line and what follows it.
func (r *record) body(rest []byte) ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding execution %s: %w", r.Name, err)
	}
	return append(append(line, '\n'), rest...), nil
}

// decodeRecord reads the first body; rest is the snapshot, or the events since.
func decodeRecord(body []byte) (r *record, rest []byte, err error) {
	line, rest, ok := bytes.Cut(body, []byte{'\n'})
	if !ok {
		return nil, nil, fmt.Errorf("decoding execution: %w", store.ErrCorrupt)
	}
	r = &record{}
	if err := json.Unmarshal(line, r); err != nil {
		return nil, nil, fmt.Errorf("decoding execution: %w", err)
	}
	return r, rest, nil
}

func chunkKey(name string, n int) store.Key {
	return store.Key{Part: "EXEC#" + name, Sort: fmt.Sprintf("%s%04d", sortSnapshot, n)}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// dueKey writes a time for the due index, rounded up so that the row is never
// found before its time.
func dueKey(at time.Time, name string) string {
	return store.TimeKey(at.Add(time.Millisecond-time.Nanosecond)) + "/" + name
}

func splitDue(sort string) string {
	_, name, _ := strings.Cut(sort, "/")
	return name
}
