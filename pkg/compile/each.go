package compile

import (
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/loop"
)

const (
	// inlineItems is how many iterations an inline Map runs at one time.
	inlineItems = 40
	// rangeItems is how many numbers States.ArrayRange gives at most.
	rangeItems = 1000
	// ranges is how many ranges an answer may list and stay under 2 KB.
	ranges = 100
	// pageEvents bounds the history of a page: far enough from 25,000 events
	// for redeliveries that no rule counts.
	pageEvents = 15000
)

// pages are the page sizes of a block, from the outermost level inwards; empty
// for an inline Map. They depend on the declared bound only.
func (c *compiler) pages(n *loop.Node) []int {
	most := n.Each.MaxItems
	per := c.bodyEvents(n.Body) + 2
	size := min(inlineItems, max(1, pageEvents/per))
	switch {
	case most <= size:
		return nil
	case most <= size*ranges:
		return []int{size}
	case most <= rangeItems*ranges:
		return []int{rangeItems / size * size, size}
	}
	c.fail("%s: max_items is %d; one block runs at most %d items: split the list over several runs or sub-loops",
		n.Path, most, rangeItems*ranges)
	return nil
}

// each emits a block over items: one inline Map, or distributed Maps over pages.
func (s *scope) each(n *loop.Node, next string) {
	name := s.name(n.Path)
	var state object
	switch pages := s.pages(n); len(pages) {
	case 0:
		state = s.items(n, "$.o.items")
	case 1:
		state = s.distributed(n, "$.o.items", member{
			"items.$", "States.ArrayRange($$.Map.Item.Value[0], $$.Map.Item.Value[1], 1)",
		})
	default:
		state = s.chapters(n, pages[1])
	}
	state.set("ResultPath", nil)
	flow(&state, next)
	s.add(name, state)
}

// items is the inline Map over item indexes.
func (s *scope) items(n *loop.Node, path string) object {
	inner := s.inner(n.Path)
	var start string
	if n.Body.Plan == nil {
		start = inner.empty(n.Path)
	} else {
		inner.plan(n.Body.Plan, "")
		start = inner.first(n.Body.Plan)
	}
	processor := object{{"ProcessorConfig", object{{"Mode", "INLINE"}}}}
	return object{
		{"Type", "Map"},
		{"Comment", eachComment(n)},
		{"ItemsPath", path},
		{"ItemSelector", object{
			{"run.$", "$.run"}, {"gen.$", "$.gen"},
			{"item.$", "States.Format('{}{}.', $.item, $$.Map.Item.Value)"}, {"o", nil},
		}},
		{"ItemProcessor", append(processor, inner.block(start)...)},
	}
}

// distributed is a distributed Map whose children run an inline Map over `items`.
func (s *scope) distributed(n *loop.Node, path string, items member) object {
	page := s.name(n.Path + ".page")
	inner := s.inner(page)
	state := inner.items(n, "$.items")
	state.set("ResultPath", nil)
	flow(&state, "")
	inner.add(page, state)
	return distributedMap(eachComment(n)+", in pages", path, items, inner.block(page))
}

// chapters is a distributed Map over ranges of pages.
func (s *scope) chapters(n *loop.Node, size int) object {
	chapter := s.name(n.Path + ".pages")
	inner := s.inner(chapter)
	state := inner.distributed(n, "$.pages", member{"items.$", "$$.Map.Item.Value"})
	state.set("ResultPath", nil)
	flow(&state, "")
	inner.add(chapter, state)
	return distributedMap(eachComment(n)+", in ranges of pages", "$.o.items", member{"pages.$", fmt.Sprintf(
		"States.ArrayPartition(States.ArrayRange($$.Map.Item.Value[0], $$.Map.Item.Value[1], 1), %d)", size)},
		inner.block(chapter))
}

func distributedMap(comment, path string, items member, block object) object {
	config := object{{"Mode", "DISTRIBUTED"}, {"ExecutionType", "STANDARD"}}
	return object{
		{"Type", "Map"},
		{"Comment", comment},
		{"ItemsPath", path},
		{"ItemSelector", object{{"run.$", "$.run"}, {"gen.$", "$.gen"}, {"item.$", "$.item"}, items}},
		{"ItemProcessor", append(object{{"ProcessorConfig", config}}, block...)},
	}
}

func eachComment(n *loop.Node) string {
	return fmt.Sprintf("For each %s, at most %d", n.Each.As, n.Each.MaxItems)
}
