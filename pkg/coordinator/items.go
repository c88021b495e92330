package coordinator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// pageSize is how many items of an `each` one blob holds: as many as one
// distributed child works on.
const pageSize = 40

// refSize is the length of a blob's reference: the list of a block's pages is
// the references one after the other, so that one is found without reading all.
const refSize = len("sha256:") + 64

// keepItems stores a list as pages and answers the reference of the blob that
// lists them. The pages are there before any record names them.
func (c *Coordinator) keepItems(ctx context.Context, list []any) (string, error) {
	var refs []byte
	for from := 0; from < len(list); from += pageSize {
		page, err := canonical(list[from:min(from+pageSize, len(list))])
		if err != nil {
			return "", err
		}
		ref, err := c.cfg.Blobs.PutBlob(ctx, page)
		if err != nil {
			return "", fmt.Errorf("keeping items from %d: %w", from, err)
		}
		refs = append(refs, ref...)
	}
	ref, err := c.cfg.Blobs.PutBlob(ctx, refs)
	if err != nil {
		return "", fmt.Errorf("keeping the list of pages: %w", err)
	}
	return ref, nil
}

// item is the item of an `each` that the address is in.
func (v *view) item(ctx context.Context, block *loop.Node, items []int) (any, error) {
	at := address(block, items)
	index := items[block.Depth]
	place := at.Item(index)
	if item, known := v.items[place]; known {
		return item, nil
	}
	if err := v.fetch(ctx, at); err != nil {
		return nil, err
	}
	head := v.steps[at]
	if head == nil || head.Block == nil || index >= head.Block.Count {
		return nil, fmt.Errorf("item %d of %s %w", index, block.Path, errNotSettled)
	}
	page, err := v.page(ctx, head.Block, index/pageSize)
	if err != nil {
		return nil, fmt.Errorf("reading item %d of %s: %w", index, block.Path, err)
	}
	if index%pageSize >= len(page) {
		return nil, fmt.Errorf("item %d of %s %w", index, block.Path, errNotSettled)
	}
	item, err := parse("stored item", page[index%pageSize])
	if err != nil {
		return nil, err
	}
	v.items[place] = item
	return item, nil
}

// page reads one page of a block's items.
func (v *view) page(ctx context.Context, block *record.Block, number int) ([]json.RawMessage, error) {
	refs, err := v.c.blob(ctx, block.Pages)
	if err != nil {
		return nil, err
	}
	if (number+1)*refSize > len(refs) {
		return nil, fmt.Errorf("page %d: %w", number, errNotSettled)
	}
	ref := string(refs[number*refSize : (number+1)*refSize])
	if page, known := v.c.pages.get(ref); known {
		return page, nil
	}
	raw, err := v.c.blob(ctx, ref)
	if err != nil {
		return nil, err
	}
	var page []json.RawMessage
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, fmt.Errorf("reading page %d: %w", number, err)
	}
	v.c.pages.put(ref, page)
	return page, nil
}

// name is how people read a node's place: "follow_up[D-1042]/send". An item is
// named by its key, or by its number where the key cannot be computed.
func (v *view) name(ctx context.Context, n *loop.Node, items []int) string {
	if n.Parent == nil {
		return n.Path
	}
	above := v.name(ctx, n.Parent, items)
	if n.Parent.Kind == loop.KindEach {
		above += "[" + v.itemKey(ctx, n.Parent, items) + "]"
	}
	return above + "/" + segment(n)
}

func (v *view) itemKey(ctx context.Context, block *loop.Node, items []int) string {
	number := fmt.Sprint(items[block.Depth])
	if block.Each == nil || block.Each.Key == nil {
		return number
	}
	key, err := v.text(ctx, block.Each.Key, items, nil, number)
	if err != nil {
		return number
	}
	return key
}
