package source

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"github.com/outerloop-dev/outerloop/pkg/problem"
)

type anchor struct {
	node   *Node
	weight int
}

type builder struct {
	file     *File
	anchors  map[string]*anchor
	count    int
	full     bool
	problems problem.Problems
}

func (b *builder) fault(code string, at Position, width int, message string) {
	b.problems = append(b.problems, b.file.Problem(code, at, width, message))
}

// node converts one value; nil where it was refused.
func (b *builder) node(n ast.Node, depth int) *Node {
	if b.full || n == nil {
		return nil
	}
	if b.count++; b.count > MaxNodes || depth > MaxDepth {
		b.full = true
		b.fault("E102", start(n), 1, fmt.Sprintf("The file holds more than %d values with its aliases written out, or nests deeper than %d.", MaxNodes, MaxDepth))
		return nil
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.mapping(n, n.Values, depth)
	case *ast.MappingValueNode:
		return b.mapping(n, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := &Node{Kind: Sequence, File: b.file, At: start(n)}
		for _, item := range n.Values {
			if null, ok := item.(*ast.NullNode); ok && implicit(null) {
				b.fault("E104", start(item), 1, "A list entry has no value. Write one, or remove the entry.")
				continue
			}
			if child := b.node(item, depth+1); child != nil {
				out.Items = append(out.Items, child)
			}
		}
		return out
	case *ast.AnchorNode:
		before := b.count
		child := b.node(n.Value, depth)
		b.anchors[n.Name.GetToken().Value] = &anchor{child, b.count - before}
		return child
	case *ast.AliasNode:
		return b.alias(n)
	}
	return b.scalar(n)
}

func (b *builder) alias(n *ast.AliasNode) *Node {
	name := n.Value.GetToken().Value
	target := b.anchors[name]
	if target == nil || target.node == nil {
		b.fault("E107", start(n), len(name)+1, fmt.Sprintf("The alias *%s stands for nothing: there is no &%s before it.", name, name))
		return nil
	}
	if b.count += target.weight; b.count > MaxNodes {
		b.full = true
		b.fault("E102", start(n), len(name)+1, fmt.Sprintf("The file holds more than %d values with its aliases written out. Write the values down, or fewer of them.", MaxNodes))
		return nil
	}
	return target.node
}

func (b *builder) mapping(n ast.Node, values []*ast.MappingValueNode, depth int) *Node {
	out := &Node{Kind: Mapping, File: b.file, At: start(n)}
	seen := map[string]Position{}
	for _, entry := range values {
		switch entry.Key.(type) {
		case *ast.MergeKeyNode, *ast.MappingKeyNode:
			b.fault("E107", start(entry.Key), 1, "Merge keys (<<) and complex keys (?) are not part of the language. Write the entries down.")
			continue
		}
		key := b.key(entry.Key)
		if first, twice := seen[key.Text]; twice {
			b.fault("E108", key.At, utf8.RuneCountInString(key.Text), fmt.Sprintf("%q stands here a second time; first on line %d. Keep one of them.", key.Text, first.Line))
			continue
		}
		seen[key.Text] = key.At
		if null, ok := entry.Value.(*ast.NullNode); ok && implicit(null) {
			b.fault("E104", key.At, utf8.RuneCountInString(key.Text), fmt.Sprintf("%q has no value. Write one, or remove the key; an empty text is \"\", an empty list [], nothing at all null.", key.Text))
			continue
		}
		if value := b.node(entry.Value, depth+1); value != nil {
			out.Pairs = append(out.Pairs, Pair{Key: key, Value: value})
		}
	}
	if len(out.Pairs) > 0 && out.At.Line == 0 {
		out.At = out.Pairs[0].Key.At
	}
	return out
}

func (b *builder) key(n ast.Node) *Node {
	t := n.GetToken()
	return &Node{Kind: Text, Text: t.Value, Quoted: quoted(t), File: b.file, At: place(t)}
}

var (
	whole   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	decimal = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	octal   = regexp.MustCompile(`^[-+]?0[0-9_]+$`)
	clock   = regexp.MustCompile(`^[0-9]+(:[0-5]?[0-9])+$`)
	based   = regexp.MustCompile(`^[-+]?0[xob][0-9a-fA-F_]+$`)
	grouped = regexp.MustCompile(`^[-+]?[0-9][0-9]*(_[0-9]+)+(\.[0-9]+)?$`)
)

func (b *builder) scalar(n ast.Node) *Node {
	out := &Node{File: b.file, At: start(n)}
	switch n := n.(type) {
	case *ast.LiteralNode:
		out.Kind, out.Text, out.Quoted = Text, n.Value.Value, true
		return out
	case *ast.StringNode:
		if quoted(n.Token) {
			out.Kind, out.Text, out.Quoted = Text, n.Value, true
			return out
		}
		out.Text = n.Value
	case *ast.NullNode:
		out.Kind = Null
		out.Text = "null"
		return out
	case *ast.TagNode, *ast.DirectiveNode, *ast.MappingKeyNode, *ast.MergeKeyNode:
		b.fault("E107", start(n), 1, "Tags (!), directives (%), merge keys (<<) and complex keys (?) are not part of the language.")
		return nil
	default:
		out.Text = strings.TrimSpace(n.GetToken().Value)
	}
	return b.plain(out)
}

// plain decides what an unquoted scalar is, and refuses what YAML readers disagree on.
func (b *builder) plain(out *Node) *Node {
	trap := func(message string) *Node {
		b.fault("E105", out.At, utf8.RuneCountInString(out.Text), message)
		return nil
	}
	text := out.Text
	switch {
	case whole.MatchString(text):
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return trap(text + " is too large for a whole number. As a text, put it into quotes.")
		}
		out.Kind = Int
	case octal.MatchString(text):
		return trap(fmt.Sprintf("YAML readers disagree on %s: some read an octal number. Write %q for a text, or the number without its leading zero.", text, text))
	case clock.MatchString(text):
		return trap(fmt.Sprintf("YAML readers disagree on %s: some read a number to the base of 60. Write %q.", text, text))
	case based.MatchString(text), grouped.MatchString(text):
		return trap(fmt.Sprintf("YAML readers disagree on %s. Write a number in decimal digits without _, or %q for a text.", text, text))
	case strings.EqualFold(strings.TrimLeft(text, "+-"), ".inf"), strings.EqualFold(text, ".nan"):
		return trap(text + " is no number that JSON knows.")
	case decimal.MatchString(text):
		out.Kind = Float
	case text == "true" || text == "false":
		out.Kind = Bool
	case text == "null" || text == "~":
		out.Kind, out.Text = Null, "null"
	default:
		out.Kind = Text
	}
	return out
}

func start(n ast.Node) Position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return start(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return start(n.Key)
	}
	return place(n.GetToken())
}

func implicit(n *ast.NullNode) bool { return n.GetToken().Type == token.ImplicitNullType }

func quoted(t *token.Token) bool {
	return t != nil && (t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType)
}
