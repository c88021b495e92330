package console

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// pageBytes bounds a page's JSON: with base64 around it, it still fits into the
// 6 MB of a Lambda function's answer. A single item may be larger.
const pageBytes = 4 << 20

// encoded is a page as it is sent.
type encoded struct {
	Items []json.RawMessage `json:"items"`
	Next  string            `json:"next,omitempty"`
}

// fill encodes items until the next one does not fit. One always does.
func fill[T any](items []T) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(items))
	size := 0
	for _, item := range items {
		raw, err := remote.Encode(item)
		if err != nil {
			return nil, fmt.Errorf("encoding an answer: %w", err)
		}
		if size += len(raw) + 1; size > pageBytes && len(out) > 0 {
			return out, nil
		}
		out = append(out, raw)
	}
	return out, nil
}

// paged reads a page that fits: when its items are too large together, it is
// read again with as many of them as fit.
func paged[T any](ctx context.Context, limit int, read func(ctx context.Context, limit int) (coordinator.Page[T], error)) (any, error) {
	for {
		page, err := read(ctx, limit)
		if err != nil {
			return nil, err
		}
		items, err := fill(page.Items)
		if err != nil {
			return nil, err
		}
		if len(items) == len(page.Items) {
			return encoded{Items: items, Next: page.Next}, nil
		}
		limit = len(items)
	}
}

// section is the page of a whole list that follows the item named after; the
// name of the last one is the next page's.
func section[T any](list []T, name func(T) string, after string) (encoded, error) {
	from := 0
	if after != "" {
		for from < len(list) && name(list[from]) != after {
			from++
		}
		if from == len(list) {
			return encoded{}, fmt.Errorf("%w: the list has no %q to go on after", remote.ErrRequest, after)
		}
		from++
	}
	items, err := fill(list[from:])
	page := encoded{Items: items}
	if end := from + len(items); end < len(list) {
		page.Next = name(list[end-1])
	}
	return page, err
}
