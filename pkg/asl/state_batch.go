package asl

import (
	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// batches puts the items of a distributed Map together as ItemBatcher says.
// ItemSelector is applied to each item first.
func (t *transition) batches(s *scope, spec *batchSpec, items [][]byte) ([][]byte, *fault) {
	most, bad := t.batchLimit(s, spec.maxItems, int64(len(items)))
	if bad != nil {
		return nil, bad
	}
	bytes, bad := t.batchLimit(s, spec.maxBytes, MaxPayload)
	if bad != nil {
		return nil, bad
	}
	head := []byte("{")
	if spec.input != nil {
		v, bad := t.evalTemplate(s, spec.input)
		if bad != nil {
			return nil, bad
		}
		head = append(append(append(head, `"BatchInput":`...), v...), ',')
	}
	head = append(head, `"Items":`...)
	var out, batch [][]byte
	size := len(head) + 3
	flush := func() {
		if len(batch) > 0 {
			text := append(append([]byte(nil), head...), rawjson.Join(batch)...)
			out = append(out, append(text, '}'))
		}
		batch, size = nil, len(head)+3
	}
	for i, item := range items {
		if s.flow.state.parameters != nil {
			each := &scope{input: s.input, flow: s.flow, run: t, item: mapItem(i, item)}
			if item, bad = t.evalTemplate(each, s.flow.state.parameters); bad != nil {
				return nil, bad
			}
		}
		if int64(len(batch)) >= most || int64(size+len(item)+1) > bytes {
			flush()
		}
		batch = append(batch, item)
		size += len(item) + 1
	}
	flush()
	return out, nil
}

func (t *transition) batchLimit(s *scope, n numberField, otherwise int64) (int64, *fault) {
	if !n.set() {
		return otherwise, nil
	}
	v, bad := t.number(s, n)
	if bad != nil {
		return 0, bad
	}
	k, ok := rawjson.Int(v)
	if !ok || k <= 0 {
		ft := t.runtimeFault(s.flow, "The ItemBatcher field refers to value \"%s\" which is not a positive integer: %s", shown(v), n.text)
		return 0, &ft
	}
	return k, nil
}
