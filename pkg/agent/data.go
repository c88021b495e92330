package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// block is one named piece of data in a prompt.
type block struct {
	name, text string
	value      any
}

// selected gives the data that a prompt names, or all of it, and how many bytes
// of the task's data were left out.
func (p *Prompt) selected(input any, facts map[string]any) (blocks []block, left int, err error) {
	all := append(members("input", input), members("facts", anyMap(facts))...)
	names := p.Names()
	if len(names) == 0 {
		return all, 0, nil
	}
	for _, b := range all {
		left += len(b.text)
	}
	for _, name := range names {
		value, found := lookUp(map[string]any{"input": input, "facts": anyMap(facts)}, strings.Split(name, "."))
		if !found {
			return nil, 0, worker.MissingInput("the prompt needs %s, which the task does not have", name)
		}
		b := block{name, spelled(value), value}
		blocks = append(blocks, b)
		left -= len(b.text)
	}
	return blocks, max(left, 0), nil
}

func anyMap(facts map[string]any) any {
	out := map[string]any{}
	for k, v := range facts {
		out[k] = v
	}
	return out
}

// members gives each field of an object as a block of its own; what is no
// object is one block.
func members(name string, value any) []block {
	fields, ok := value.(map[string]any)
	if !ok {
		return []block{{name, spelled(value), value}}
	}
	out := make([]block, 0, len(fields))
	for key, field := range fields {
		out = append(out, block{name + "." + key, spelled(field), field})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

func lookUp(value any, path []string) (any, bool) {
	for _, key := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = fields[key]; !ok {
			return nil, false
		}
	}
	return value, true
}

// spelled writes data as JSON on one line. No text in it can begin a line, no
// angle bracket can form a model's control token, and characters that a person
// would not see (bidirectional marks, tags, zero widths) stand as escapes.
func spelled(value any) string {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf) // escapes <, > and &
	if err := e.Encode(value); err != nil {
		return "null" // values come from JSON, so they encode
	}
	return visible(strings.TrimRight(buf.String(), "\n"))
}

// visible escapes characters of JSON text that have no look of their own.
func visible(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+(r>>10), 0xDC00+(r&0x3FF))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden tells invisible characters; variation selectors can carry hidden text too.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector) || r == utf8.RuneError
}

// tagLength is how many hex digits of a hash delimit data.
const tagLength = 16

// tag is the delimiter of a set of blocks: a hash of their content, so that the
// same input gives the same prompt and no text can know its own delimiter.
func tag(version string, blocks []block) string {
	for n := 0; ; n++ {
		h := sha256.New()
		h.Write([]byte(version + "\n" + strconv.Itoa(n) + "\n"))
		for _, b := range blocks {
			h.Write([]byte(strconv.Itoa(len(b.name)) + ":" + b.name + strconv.Itoa(len(b.text)) + ":" + b.text))
		}
		mark := hex.EncodeToString(h.Sum(nil))[:tagLength]
		if !appears(mark, blocks) {
			return mark
		}
	}
}

func appears(mark string, blocks []block) bool {
	for _, b := range blocks {
		if strings.Contains(b.text, mark) {
			return true
		}
	}
	return false
}

// delimited writes blocks between lines that carry the tag.
func delimited(mark string, blocks []block) string {
	var b strings.Builder
	for i, data := range blocks {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "=== data %s %s ===\n%s\n=== end %s ===\n", data.name, mark, data.text, mark)
	}
	return b.String()
}

// decodedData reads a task's JSON; absent is null.
func decodedData(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, faults := schema.Decode(raw)
	if len(faults) > 0 {
		return nil, worker.MissingInput("reading the task's data: %s", faults[0])
	}
	return v, nil
}
