package rawjson

import (
	"bytes"
	"strings"
)

// member is where a member stands in the output: its key from start to colon,
// its value from there to end.
type member struct{ start, colon, end int }

// fewMembers is how many members are searched for a key one by one.
const fewMembers = 16

func (n *normalizer) object() error {
	n.i++
	begin := len(n.out)
	n.out = append(n.out, '{')
	if n.peek() == '}' {
		n.i++
		n.out = append(n.out, '}')
		return nil
	}
	var few [fewMembers]member
	seen := keys{members: few[:0]}
	repeated := false
	for {
		m, err := n.member()
		if err != nil {
			return err
		}
		if at := seen.add(n.out, m); at >= 0 {
			repeated = true
			n.duplicate(n.out[m.start:m.colon])
		}
		c := n.peek()
		if c != ',' && c != '}' {
			return n.unexpected()
		}
		n.i++
		n.out = append(n.out, c)
		if c == '}' {
			break
		}
	}
	if repeated {
		n.out = append(n.out[:begin], seen.collapse(n.out)...)
	}
	return nil
}

func (n *normalizer) member() (member, error) {
	var m member
	if n.peek() != '"' {
		return m, n.unexpected()
	}
	m.start = len(n.out)
	if err := n.str(); err != nil {
		return m, err
	}
	m.colon = len(n.out)
	if n.peek() != ':' {
		return m, n.unexpected()
	}
	n.i++
	n.out = append(n.out, ':')
	if n.strict {
		n.path = append(n.path, "/"+Text(n.out[m.start:m.colon]))
	}
	if err := n.value(); err != nil {
		return m, err
	}
	if n.strict {
		n.path = n.path[:len(n.path)-1]
	}
	m.end = len(n.out)
	return m, nil
}

func (n *normalizer) duplicate(key []byte) {
	if !n.strict {
		return
	}
	path := strings.Join(n.path, "")
	if path == "" {
		path = "/"
	}
	n.duplicates = append(n.duplicates, &DuplicateError{Path: path, Key: Text(key)})
}

// keys remembers the members of one object, to find keys that come again.
type keys struct {
	members []member
	byKey   map[string]int
}

// add notes a member and returns the position of an earlier one with the same
// key, or -1.
func (k *keys) add(out []byte, m member) int {
	key := out[m.start:m.colon]
	at := -1
	if k.byKey == nil {
		for i, e := range k.members {
			if bytes.Equal(out[e.start:e.colon], key) {
				at = i
				break
			}
		}
	} else if i, ok := k.byKey[string(key)]; ok {
		at = i
	}
	if at >= 0 {
		k.members[at] = m
		return at
	}
	k.members = append(k.members, m)
	k.index(out)
	return -1
}

func (k *keys) index(out []byte) {
	switch {
	case k.byKey != nil:
		last := k.members[len(k.members)-1]
		k.byKey[string(out[last.start:last.colon])] = len(k.members) - 1
	case len(k.members) > fewMembers:
		k.byKey = make(map[string]int, 2*len(k.members))
		for i, e := range k.members {
			k.byKey[string(out[e.start:e.colon])] = i
		}
	}
}

// collapse returns the object with each key once.
func (k *keys) collapse(out []byte) []byte {
	obj := []byte{'{'}
	for i, m := range k.members {
		if i > 0 {
			obj = append(obj, ',')
		}
		obj = append(obj, out[m.start:m.end]...)
	}
	return append(obj, '}')
}
