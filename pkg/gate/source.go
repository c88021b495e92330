package gate

import (
	"strconv"
	"strings"
)

// Cites tells whether a claim's source is the data of that name, or something
// that lies in its value: NAME, NAME.FIELD, NAME[0].FIELD, to any depth (R27).
// A field that the value lacks and an index beyond a list's end are no source.
// The value is decoded JSON (map[string]any, []any, scalars). Whether it says
// what is claimed is not looked at.
func Cites(source, name string, value any) bool {
	path, ok := strings.CutPrefix(source, name)
	for ok && path != "" {
		switch path[0] {
		case '.':
			value, path, ok = fieldAt(value, path[1:])
		case '[':
			value, path, ok = elementAt(value, path[1:])
		default:
			ok = false
		}
	}
	return ok
}

// fieldAt takes the field that a path begins with; what is left begins with a
// point or a bracket.
func fieldAt(value any, path string) (field any, rest string, ok bool) {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	fields, _ := value.(map[string]any)
	field, ok = fields[path[:end]]
	return field, path[end:], ok
}

// elementAt takes the element of a list whose index, with its closing bracket,
// a path begins with. An index is written in one way only: no sign, no leading zero.
func elementAt(value any, path string) (element any, rest string, ok bool) {
	digits, rest, closed := strings.Cut(path, "]")
	at, err := strconv.Atoi(digits)
	list, _ := value.([]any)
	if !closed || err != nil || strconv.Itoa(at) != digits || at < 0 || at >= len(list) {
		return nil, "", false
	}
	return list[at], rest, true
}
