package rule

import "strings"

// Part is a piece of a template: literal text, or an expression.
type Part struct {
	Text   string // literal text, unescaped
	Expr   string // the expression between ${ and }; "" for text
	Offset int    // bytes from the start of the template to the text or the expression
}

// ParseTemplate splits text into literal parts and ${ CEL } parts. $${ stands for a literal ${. A brace inside a string of the
// expression, and braces in pairs, do not end it.
func ParseTemplate(text string) ([]Part, Faults) {
	var parts []Part
	var literal strings.Builder
	start := 0
	flush := func() {
		if literal.Len() > 0 {
			parts = append(parts, Part{Text: literal.String(), Offset: start})
			literal.Reset()
		}
	}
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "$${"):
			literal.WriteString("${")
			i += 3
		case strings.HasPrefix(text[i:], "${"):
			flush()
			length, ok := expressionLength(text[i+2:])
			if !ok {
				return nil, templateFault(text, i, "${ has no } that closes it; write $${ for a literal ${")
			}
			expr := text[i+2 : i+2+length]
			if strings.TrimSpace(expr) == "" {
				return nil, templateFault(text, i, "${} is empty")
			}
			parts = append(parts, Part{Expr: expr, Offset: i + 2})
			i += length + 3
			start = i
		default:
			literal.WriteByte(text[i])
			i++
		}
	}
	flush()
	return parts, nil
}

func templateFault(text string, offset int, message string) Faults {
	f := Fault{Kind: Syntax, Message: message, Offset: offset, Length: 2}
	f.place(text)
	return Faults{f}
}

// HasTemplate says whether text holds an expression (an escaped one is none).
func HasTemplate(text string) bool {
	return strings.Contains(strings.ReplaceAll(text, "$${", ""), "${")
}

// expressionLength is the length up to the brace that closes an expression.
func expressionLength(s string) (int, bool) {
	depth := 0
	for i := 0; i < len(s); {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i, true
			}
			depth--
		case '"', '\'':
			raw := i > 0 && (s[i-1] == 'r' || s[i-1] == 'R')
			length, ok := stringLength(s[i:], raw)
			if !ok {
				return 0, false
			}
			i += length
			continue
		}
		i++
	}
	return 0, false
}

// skipString is the length of the CEL string, with its prefix, that a text begins with.
func skipString(s string) (int, bool) {
	prefix := 0
	for prefix < len(s) && strings.IndexByte("rRbB", s[prefix]) >= 0 {
		prefix++
	}
	length, ok := stringLength(s[prefix:], strings.ContainsAny(s[:prefix], "rR"))
	return prefix + length, ok
}

// stringLength is the length of the CEL string that a text begins with, quotes included.
func stringLength(s string, raw bool) (int, bool) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return 0, false
	}
	quote := s[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s, triple) {
		quote = triple
	}
	for i := len(quote); i < len(s); i++ {
		if s[i] == '\\' && !raw {
			i++
		} else if strings.HasPrefix(s[i:], quote) {
			return i + len(quote), true
		}
	}
	return 0, false
}
