package dynamofake

import (
	"fmt"
	"strings"
)

// tokens splits an expression into words, aliases and signs.
func tokens(expression string) ([]string, error) {
	var found []string
	for rest := strings.TrimSpace(expression); rest != ""; rest = strings.TrimSpace(rest) {
		size := tokenSize(rest)
		if size == 0 {
			return nil, fmt.Errorf("syntax error near %q", rest)
		}
		found = append(found, rest[:size])
		rest = rest[size:]
	}
	return found, nil
}

func tokenSize(rest string) int {
	for _, sign := range []string{"<>", "<=", ">=", "<", ">", "=", "(", ")", ",", "+", "-"} {
		if strings.HasPrefix(rest, sign) {
			return len(sign)
		}
	}
	size := 0
	if rest[0] == '#' || rest[0] == ':' {
		size = 1
	}
	for size < len(rest) && wordByte(rest[size]) {
		size++
	}
	return size
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// reader walks over tokens and resolves aliases, noting which were used.
type reader struct {
	tokens []string
	at     int
	names  map[string]string
	values attributes
	used   map[string]bool
}

func (r *reader) peek() string {
	if r.at < len(r.tokens) {
		return r.tokens[r.at]
	}
	return ""
}

func (r *reader) next() string {
	token := r.peek()
	r.at++
	return token
}

// word takes a keyword, in any case, if it stands next.
func (r *reader) word(keyword string) bool {
	if strings.EqualFold(r.peek(), keyword) {
		r.at++
		return true
	}
	return false
}

func (r *reader) expect(token string) error {
	if got := r.next(); got != token {
		return fmt.Errorf("syntax error: %q in place of %q", got, token)
	}
	return nil
}

// path resolves the alias of an attribute. A bare name is refused, reserved or
// not: the adapter is to alias all of them.
func (r *reader) path() (string, error) {
	alias := r.next()
	name, ok := r.names[alias]
	if !strings.HasPrefix(alias, "#") || !ok {
		return "", fmt.Errorf("an expression attribute name used in the document path is not defined; attribute name: %s", alias)
	}
	r.used[alias] = true
	return name, nil
}
