package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Get reads items as of now, applied writes included.
func (s *Store) Get(ctx context.Context, keys ...store.Key) ([]*store.Item, error) {
	return s.read(ctx, copied, keys)
}

// read is Get; give makes of an item in memory what may leave the store.
func (s *Store) read(ctx context.Context, give func(*store.Item) *store.Item, keys []store.Key) ([]*store.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := store.ValidateKeys(keys); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return nil, s.failed
	}
	items := make([]*store.Item, len(keys))
	var absent []int // from memory
	for i, key := range keys {
		if r, ok := s.kept.get(key); ok {
			items[i] = give(r.item)
		} else if !s.kept.parts.lacks(key) {
			absent = append(absent, i)
		}
	}
	return items, s.together(absent, func(i int) error {
		_, item, err := s.load(keys[i])
		if err != nil {
			return fmt.Errorf("reading %s/%s: %w", keys[i].Part, keys[i].Sort, err)
		}
		items[i] = give(item)
		return nil
	})
}

// together reads several items in one transaction: each read alone would take
// and give back the file's locks, which costs as much as the read.
func (s *Store) together(all []int, read func(i int) error) error {
	own := s.batch == nil && len(all) > 1
	if own {
		if err := s.db.run("BEGIN"); err != nil {
			return err
		}
	}
	var err error
	for _, i := range all {
		if err = read(i); err != nil {
			break
		}
	}
	if own {
		err = errors.Join(err, s.db.run("COMMIT"))
	}
	return err
}

// List reads one page as of now, the indexes included.
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, err
	}
	span, err := q.Span()
	if err != nil || span.None {
		return store.Page{}, err
	}
	text, args := listing(q, span)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return store.Page{}, s.failed
	}
	filling := q.Fill(span)
	err = s.db.query(text, func(row []driver.Value) error {
		_, item, err := decode(row)
		if err == nil && !filling.Add(item) {
			err = errStop
		}
		return err
	}, args...)
	if err != nil {
		return store.Page{}, fmt.Errorf("listing %s: %w", q.Part, err)
	}
	return filling.Page, nil
}

// Scan walks through all items, as of each call.
func (s *Store) Scan(ctx context.Context, after store.Key, limit int) ([]store.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := store.ValidateScan(after, limit); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return nil, s.failed
	}
	var items []store.Item
	bytes := 0
	err := s.db.query("SELECT "+columns+" FROM item WHERE (part, sort) > (?, ?) ORDER BY part, sort LIMIT ?", func(row []driver.Value) error {
		if bytes > store.PageBytes {
			return errStop
		}
		_, item, err := decode(row)
		if err != nil {
			return err
		}
		bytes += len(item.Body)
		items = append(items, *item)
		return nil
	}, after.Part, after.Sort, int64(limit))
	if err != nil {
		return nil, fmt.Errorf("scanning after %s/%s: %w", after.Part, after.Sort, err)
	}
	return items, nil
}

// listing asks for one row more than the page holds, to know whether it is the last.
func listing(q store.Query, span store.Span) (string, []driver.Value) {
	part, sort, order := "part", "sort", []string{"sort"}
	switch q.Index {
	case store.ByList:
		part, sort, order = "list_part", "list_sort", []string{"list_sort", "part", "sort"}
	case store.ByDue:
		part, sort, order = "due_part", "due_sort", []string{"due_sort", "part", "sort"}
	}
	text, args := "SELECT "+columns+" FROM item WHERE "+part+" = ?", []driver.Value{q.Part}
	if span.From != "" {
		text, args = text+" AND "+sort+" >= ?", append(args, span.From)
	}
	if span.To != "" {
		text, args = text+" AND "+sort+" < ?", append(args, span.To)
	}
	beyond, direction := " > ", ""
	if q.Descending {
		beyond, direction = " < ", " DESC"
	}
	if at := span.After; at != nil {
		args = append(args, at.Sort)
		if at.Key != nil {
			args = append(args, at.Key.Part, at.Key.Sort)
		}
		marks := strings.Repeat(", ?", len(order))[2:]
		text += " AND (" + strings.Join(order, ", ") + ")" + beyond + "(" + marks + ")"
	}
	text += " ORDER BY " + strings.Join(order, direction+", ") + direction + " LIMIT ?"
	return text, append(args, int64(span.Limit+1))
}
