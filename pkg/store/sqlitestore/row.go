package sqlitestore

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

const columns = "id, part, sort, version, write_id, numbers, body, list_part, list_sort, due_part, due_sort, expires"

// decode reads a row of the columns above.
func decode(row []driver.Value) (id int64, item *store.Item, err error) {
	item = &store.Item{}
	var numbers string
	fields := []any{
		&id, &item.Part, &item.Sort, &item.Version, &item.WriteID, &numbers, &item.Body,
		&item.List, nil, &item.Due, nil, &item.Expires,
	}
	for i, field := range fields {
		ok := true
		switch into := field.(type) {
		case *int64:
			*into, ok = row[i].(int64)
		case *string:
			*into, ok = row[i].(string)
		case *[]byte:
			*into, _ = row[i].([]byte)
		case **store.IndexKey:
			*into, ok = decodeIndexKey(row[i], row[i+1])
		}
		if !ok {
			return 0, nil, fmt.Errorf("%w: column %d of a row is %T", store.ErrCorrupt, i, row[i])
		}
	}
	item.Numbers, err = decodeNumbers(numbers)
	return id, item, err
}

func decodeIndexKey(part, sort driver.Value) (*store.IndexKey, bool) {
	if part == nil {
		return nil, true
	}
	key := &store.IndexKey{}
	var isPart, isSort bool
	key.Part, isPart = part.(string)
	key.Sort, isSort = sort.(string)
	return key, isPart && isSort
}

// encodeNumbers writes "name=value" lines in the order of the names, which
// hold neither sign.
func encodeNumbers(numbers map[string]int64) string {
	if len(numbers) == 0 {
		return ""
	}
	names := make([]string, 0, len(numbers))
	for name := range numbers {
		names = append(names, name)
	}
	slices.Sort(names)
	text := make([]byte, 0, 24*len(names))
	for i, name := range names {
		if i > 0 {
			text = append(text, '\n')
		}
		text = append(append(text, name...), '=')
		text = strconv.AppendInt(text, numbers[name], 10)
	}
	return string(text)
}

func decodeNumbers(text string) (map[string]int64, error) {
	if text == "" {
		return nil, nil
	}
	numbers := make(map[string]int64, 1+strings.Count(text, "\n"))
	for line := range strings.SplitSeq(text, "\n") {
		name, digits, _ := strings.Cut(line, "=")
		value, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: number %q: %w", store.ErrCorrupt, line, err)
		}
		numbers[name] = value
	}
	return numbers, nil
}

// indexArgs gives the four index columns of an item.
func indexArgs(item *store.Item) []driver.Value {
	args := make([]driver.Value, 4)
	for i, key := range []*store.IndexKey{item.List, item.Due} {
		if key != nil {
			args[2*i], args[2*i+1] = key.Part, key.Sort
		}
	}
	return args
}

func bodyArg(body []byte) driver.Value {
	if len(body) == 0 {
		return nil
	}
	return body
}
