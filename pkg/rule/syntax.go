package rule

import (
	"strings"

	"cel.dev/cel-go/cel"
)

func (b *base) parse(source string) (*cel.Ast, Faults) {
	if strings.TrimSpace(source) == "" {
		return nil, Faults{{Kind: Syntax, Message: "the expression is empty", Line: 1, Column: 1, Length: 1}}
	}
	if known := remembered(source); known != nil {
		return known, nil
	}
	parsed, issues := b.cel.Parse(source)
	if issues == nil || issues.Err() == nil {
		remember(source, parsed)
		return parsed, nil
	}
	var out Faults
	for _, e := range issues.Errors() {
		f := Fault{Kind: Syntax, Message: syntaxWords(e.Message), Offset: byteOffset(source, e.Location), Length: 1}
		f.place(source)
		out = append(out, f)
		break // what follows a syntax error is mostly its echo
	}
	return nil, out
}

// habits are what people write from other languages, as CEL's parser complains of it, and what to write instead.
var habits = []struct{ found, write string }{
	{"token recognition error at: '= '", "== to compare"}, {"token recognition error at: '='", "== to compare"},
	{"input 'and'", "&& for and"}, {"input 'or'", "|| for or"},
	{"token recognition error at: '& '", "&& for and"}, {"token recognition error at: '| '", "|| for or"},
	{"input '}'", "braces in pairs"},
}

func syntaxWords(message string) string {
	message = strings.TrimPrefix(message, "Syntax error: ")
	for _, h := range habits {
		if strings.Contains(message, h.found) {
			return "the expression cannot be read here; write " + h.write
		}
	}
	for _, quote := range []string{`"`, `'`} {
		if strings.Contains(message, "token recognition error at: '"+quote) {
			return "the expression cannot be read: a string has no closing quote"
		}
	}
	if before, _, listed := strings.Cut(message, " expecting {"); listed {
		message = before // all that could stand here helps nobody
	}
	return "the expression cannot be read: " + strings.ReplaceAll(message, "<EOF>", "its end")
}
