package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// canonical is the one spelling of a JSON value: sorted keys, no white space.
// Equal values have equal hashes.
func canonical(value any) (json.RawMessage, error) {
	raw, err := record.JSON(value)
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return raw, nil
}

// parse reads a JSON text strictly.
func parse(what string, raw json.RawMessage) (any, error) {
	value, faults := schema.Decode(raw)
	if len(faults) > 0 {
		return nil, &InputError{What: what, Faults: faultTexts(faults)}
	}
	return value, nil
}

func faultTexts(faults []schema.Fault) []string {
	out := make([]string, min(len(faults), mostFaults))
	for i, f := range faults[:len(out)] {
		out[i] = cut(strings.TrimSpace(f.Path+" "+f.Message), logText)
	}
	if more := len(faults) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

// mostFaults bounds how many faults of a document are told: whoever made it is
// to read them, and they stand in the step's record.
const mostFaults = 20

// keep stores a value: inline when small, else as a blob. Blobs are addressed
// by content, so that one whose record was never written harms nobody.
func (c *Coordinator) keep(ctx context.Context, value any) (record.Value, error) {
	raw, err := canonical(value)
	if err != nil {
		return record.Value{}, err
	}
	return c.keepRaw(ctx, raw)
}

func (c *Coordinator) keepRaw(ctx context.Context, raw json.RawMessage) (record.Value, error) {
	kept := record.Value{Hash: record.HashOf(raw), Size: len(raw)}
	if len(raw) <= record.InlineLimit {
		kept.Inline = raw
		return kept, nil
	}
	ref, err := c.cfg.Blobs.PutBlob(ctx, raw)
	if err != nil {
		return record.Value{}, fmt.Errorf("keeping %d bytes: %w", len(raw), err)
	}
	kept.Ref = ref
	return kept, nil
}

// raw reads a kept value's JSON text; no value is null.
func (c *Coordinator) raw(ctx context.Context, v record.Value) (json.RawMessage, error) {
	switch {
	case v.Inline != nil:
		return v.Inline, nil
	case v.Ref == "":
		return json.RawMessage("null"), nil
	}
	content, err := c.blob(ctx, v.Ref)
	if err != nil {
		return nil, fmt.Errorf("reading value %s: %w", v.Ref, err)
	}
	return content, nil
}

// value reads a kept value as plain data.
func (c *Coordinator) value(ctx context.Context, v record.Value) (any, error) {
	raw, err := c.raw(ctx, v)
	if err != nil {
		return nil, err
	}
	return parse("stored value", raw)
}
