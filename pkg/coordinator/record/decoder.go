package record

import (
	"bytes"
	"sync"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// decodedBytes bounds the bodies whose records a decoder keeps, for each kind.
const decodedBytes = 2 << 20

// Decoder decodes steps and runs and keeps those that were read or written last:
// the same body under the same key is not decoded again. What it answers is the
// caller's to change. The zero Decoder is ready; it is safe for concurrent use.
type Decoder struct {
	steps decoded[Step]
	runs  decoded[Run]
}

// Step is DecodeStep.
func (d *Decoder) Step(item *store.Item) (*Step, error) {
	if item == nil {
		return nil, nil
	}
	known, err := d.steps.decode(item)
	if err != nil {
		return nil, err
	}
	s := known.Clone()
	s.beside(item)
	return s, nil
}

// Run is DecodeRun.
func (d *Decoder) Run(item *store.Item) (*Run, error) {
	if item == nil {
		return nil, nil
	}
	known, err := d.runs.decode(item)
	if err != nil {
		return nil, err
	}
	r := known.Clone()
	r.beside(item)
	return r, nil
}

// PutStep is the step's Put, whose body reads as s from now on. Whether it is
// written does not matter: what is read is compared with what was put.
func (d *Decoder) PutStep(s *Step) store.Op {
	op := s.Put()
	kept := s.Clone()
	if kept.Name == "" {
		kept.Name = kept.Path
	}
	kept.Output, kept.Input, kept.Override = kept.Output.written(), kept.Input.written(), kept.Override.written()
	d.steps.keep(op.Item.Key, op.Item.Body, kept)
	return op
}

// PutRun is the run's Put, whose body reads as r from now on.
func (d *Decoder) PutRun(r *Run) store.Op {
	op := r.Put()
	d.keepRun(op, r)
	return op
}

// Closing is the run's Closing, whose body reads as r from now on.
func (d *Decoder) Closing(r *Run) []store.Op {
	ops := r.Closing()
	d.keepRun(ops[0], r)
	return ops
}

func (d *Decoder) keepRun(put store.Op, r *Run) {
	kept := r.Clone()
	kept.Input, kept.Output = kept.Input.whole(), kept.Output.written()
	d.runs.keep(put.Item.Key, put.Item.Body, kept)
}

// written is the value as it reads from a record: one of which nothing is known is left out.
func (v Value) written() Value {
	if v.IsZero() {
		return Value{}
	}
	return v.whole()
}

// decoded are bodies with what they say. What is not in young is looked for in
// old, the generation before, which goes as a whole.
type decoded[T any] struct {
	mu         sync.Mutex
	young, old map[store.Key]said[T]
	bytes      int
}

type said[T any] struct {
	body  []byte
	value *T
}

// decode gives a value that nobody may change.
func (d *decoded[T]) decode(item *store.Item) (*T, error) {
	if value := d.find(item); value != nil {
		return value, nil
	}
	value := new(T)
	if err := decode(item, value); err != nil {
		return nil, err
	}
	d.keep(item.Key, item.Body, value)
	return value, nil
}

func (d *decoded[T]) keep(key store.Key, body []byte, value *T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.young == nil || d.bytes+len(body) > decodedBytes/2 {
		d.old, d.young, d.bytes = d.young, map[store.Key]said[T]{}, 0
	}
	d.bytes += len(body)
	d.young[key] = said[T]{body, value}
}

func (d *decoded[T]) find(item *store.Item) *T {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.young[item.Key]
	if !ok {
		known = d.old[item.Key]
	}
	if known.value == nil || !bytes.Equal(known.body, item.Body) {
		return nil
	}
	return known.value
}
