package durable

import (
	"bytes"
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// execution is one execution in memory.
type execution struct {
	*record
	x       *asl.Execution // nil until it has begun
	version int64          // of the stored record; 0: not stored
	parts   []int64        // versions of the stored snapshot rows
	due     *store.IndexKey
	// journal holds the events since the stored snapshot, one a line; steps
	// counts the changes they came with.
	journal []byte
	steps   int
	// calls are the open tasks whose function is to be called or is being
	// called; sent the open tasks that wait in a queue, by the queue's name.
	calls map[asl.TaskID]bool
	sent  map[asl.TaskID]string
}

// cache keeps the executions used last.
type cache struct {
	limit int
	order *list.List // of *execution, newest first
	byKey map[string]*list.Element
}

func newCache(limit int) *cache {
	return &cache{limit: limit, order: list.New(), byKey: make(map[string]*list.Element)}
}

func (c *cache) get(name string) *execution {
	el, ok := c.byKey[name]
	if !ok {
		return nil
	}
	c.order.MoveToFront(el)
	return el.Value.(*execution)
}

func (c *cache) put(ex *execution) {
	if el, ok := c.byKey[ex.Name]; ok {
		el.Value = ex
		c.order.MoveToFront(el)
		return
	}
	c.byKey[ex.Name] = c.order.PushFront(ex)
	for c.order.Len() > c.limit {
		c.drop(c.order.Back().Value.(*execution).Name)
	}
}

func (c *cache) drop(name string) {
	if el, ok := c.byKey[name]; ok {
		c.order.Remove(el)
		delete(c.byKey, name)
	}
}

// load gives an execution, from memory or from the store.
func (c *Core) load(ctx context.Context, name string) (*execution, error) {
	if ex := c.cache.get(name); ex != nil {
		return ex, nil
	}
	item, err := c.get(ctx, recordKey(name))
	if err != nil {
		return nil, fmt.Errorf("reading execution %s: %w", name, err)
	}
	if item == nil {
		return nil, fmt.Errorf("%w: %s", ErrAbsent, name)
	}
	ex, err := c.restore(ctx, item)
	if err != nil {
		return nil, err
	}
	c.cache.put(ex)
	return ex, nil
}

// restore decodes a stored execution.
func (c *Core) restore(ctx context.Context, item *store.Item) (*execution, error) {
	r, rest, err := decodeRecord(item.Body)
	if err != nil {
		return nil, err
	}
	ex := &execution{record: r, version: item.Version, due: item.Due}
	if !r.begun() {
		return ex, nil
	}
	snapshot, parts, err := c.snapshot(ctx, r, rest)
	if err != nil {
		return nil, err
	}
	ex.parts = parts
	machine, err := c.machineOf(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("restoring execution %s: %w", r.Name, err)
	}
	if ex.x, err = asl.Restore(machine, snapshot); err != nil {
		return nil, fmt.Errorf("restoring execution %s: %w", r.Name, err)
	}
	if r.Chunks > 0 {
		if err := ex.replay(rest); err != nil {
			return nil, fmt.Errorf("restoring execution %s: %w", r.Name, err)
		}
	}
	ex.index()
	return ex, nil
}

// replay applies the events since the snapshot.
func (ex *execution) replay(journal []byte) error {
	for line := range bytes.Lines(journal) {
		var event asl.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("reading the journal: %w", err)
		}
		if _, err := ex.x.Apply(event); err != nil {
			return fmt.Errorf("replaying the journal: %w", err)
		}
		ex.steps++
	}
	ex.journal = journal
	return nil
}

// snapshot gathers the parts of a snapshot and their versions; rest is what
// follows the record's line.
func (c *Core) snapshot(ctx context.Context, r *record, rest []byte) (whole []byte, parts []int64, err error) {
	if r.Chunks == 0 {
		return rest, nil, nil
	}
	keys := make([]store.Key, r.Chunks)
	for i := range keys {
		keys[i] = chunkKey(r.Name, i+1)
	}
	items, err := c.cfg.Store.Get(context.WithoutCancel(ctx), keys...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading snapshot of %s: %w", r.Name, err)
	}
	for _, item := range items {
		if item == nil {
			return nil, nil, fmt.Errorf("reading snapshot of %s: part missing: %w", r.Name, store.ErrCorrupt)
		}
		whole = append(whole, item.Body...)
		parts = append(parts, item.Version)
	}
	return whole, parts, nil
}

// machineOf finds the machine that an execution runs.
func (c *Core) machineOf(ctx context.Context, r *record) (*asl.Machine, error) {
	machine, err := c.machine(ctx, r.Machine)
	if err != nil {
		return nil, err
	}
	for _, state := range r.Processors {
		if machine = machine.Processor(state); machine == nil {
			return nil, fmt.Errorf("machine %s has no distributed Map %q", r.Machine, state)
		}
	}
	return machine, nil
}

// index finds the open work of a restored execution.
func (ex *execution) index() {
	ex.calls, ex.sent = make(map[asl.TaskID]bool), make(map[asl.TaskID]string)
	for _, effect := range ex.x.Open() {
		task, ok := effect.(asl.ScheduleTask)
		if !ok {
			continue
		}
		switch kindOf(task.Resource) {
		case callTask:
			if !slices.Contains(ex.Submitted, task.Task) {
				ex.calls[task.Task] = true
			}
		case queueTask:
			ex.sent[task.Task] = queueOf(task.Input)
		}
	}
}

// next is when the execution has something to do by itself; zero: never.
func (ex *execution) next() time.Time {
	var first time.Time
	earlier := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, effect := range ex.x.Open() {
		switch e := effect.(type) {
		case asl.StartTimer:
			earlier(e.At)
		case asl.ScheduleTask:
			earlier(e.Deadline)
			if e.Heartbeat > 0 {
				earlier(ex.beat(e).Add(e.Heartbeat))
			}
		}
	}
	return first
}

// beat is when a task was last heard of.
func (ex *execution) beat(task asl.ScheduleTask) time.Time {
	if at, ok := ex.Beats[task.Task]; ok {
		return at
	}
	return ex.Created
}

// hot tells whether work is under way that only this process knows of.
func (ex *execution) hot() bool {
	return !ex.begun() || ex.Tell || len(ex.Stop) > 0 || len(ex.calls) > 0
}

// encoded is the execution as it is stored, with the given record.
func (ex *execution) encoded(r *record) ([][]byte, error) {
	snapshot, err := ex.x.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("encoding execution %s: %w", r.Name, err)
	}
	return r.bodies(snapshot)
}
