package dynamofake

import (
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
)

// space is a set of items, found by key and by the partitions of the table and
// of each index. Items are never changed in place.
type space struct {
	items map[key]attributes
	parts map[string]map[string]map[key]attributes // by partition attribute and its value
}

func newSpace() space {
	s := space{items: map[key]attributes{}, parts: map[string]map[string]map[key]attributes{}}
	for _, name := range partitionNames {
		s.parts[name] = map[string]map[key]attributes{}
	}
	return s
}

var partitionNames = func() []string {
	names := []string{dynamostore.PartAttribute}
	for _, index := range indexes {
		names = append(names, index[0])
	}
	return names
}()

// set puts an item where it belongs; nil removes it.
func (s space) set(at key, item attributes) {
	for _, name := range partitionNames {
		if old := textOf(s.items[at][name]); old != "" {
			delete(s.parts[name][old], at)
		}
		if now := textOf(item[name]); now != "" {
			if s.parts[name][now] == nil {
				s.parts[name][now] = map[key]attributes{}
			}
			s.parts[name][now][at] = item
		}
	}
	if item == nil {
		delete(s.items, at)
	} else {
		s.items[at] = item
	}
}
