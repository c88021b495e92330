package record

import (
	"bytes"
	"sync"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// decodedBytes bounds the bodies whose records a decoder keeps, for each kind.
const decodedBytes = 2 << 20

// Decoder decodes steps and runs and keeps those it read last: the same body
// under the same key is not decoded again. What it answers is the caller's to
// change. The zero Decoder is ready; it is safe for concurrent use.
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
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.young == nil || d.bytes+len(item.Body) > decodedBytes/2 {
		d.old, d.young, d.bytes = d.young, map[store.Key]said[T]{}, 0
	}
	d.bytes += len(item.Body)
	d.young[item.Key] = said[T]{item.Body, value}
	return value, nil
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
