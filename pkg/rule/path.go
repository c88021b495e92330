package rule

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/common/types"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

var dotted = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// reserved are the words that CEL keeps to itself.
var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop", "namespace",
	"null", "package", "return", "true", "var", "void", "while",
}

// path is a lone reference whose types are known all along, such as deal.id. Most expressions of loops are one: it needs
// neither CEL's parser nor its interpreter, and reads fields by the same functions.
type path struct {
	root   string
	fields []schema.Field
	names  []string // the paths of the fields, for messages
}

// compilePath compiles a lone reference; nil where the expression is more than that, or wrong.
func (e *Env) compilePath(source string) *Program {
	if !dotted.MatchString(source) {
		return nil
	}
	words := strings.Split(source, ".")
	t, ok := e.names[words[0]]
	if !ok {
		return nil
	}
	p := &path{root: words[0]}
	optional := false
	for i, name := range words[1:] {
		if t.Kind != schema.Object || slices.Contains(reserved, name) {
			return nil
		}
		f, ok := t.Field(name)
		if !ok {
			return nil
		}
		// An absent field that may be null reads as null.
		optional = optional || !f.Required && !f.Type.Nullable || t.Nullable && !f.Type.Nullable
		p.fields, p.names = append(p.fields, f), append(p.names, strings.Join(words[:i+2], "."))
		t = f.Type
	}
	return &Program{
		env: e, source: source, path: p, static: t, optional: optional,
		refs: []Ref{{Root: words[0], Path: words[1:], Waits: words[0] == "about", Length: len(source)}},
	}
}

// read follows the path.
func (p *path) read(vars Vars, root *schema.Type) (any, error) {
	v, ok := vars[p.root]
	if !ok {
		return nil, &AbsentError{Path: p.root, Root: true}
	}
	v, err := plain(root, v)
	for i := 0; err == nil && i < len(p.fields); i++ {
		v, err = get(v, p.fields[i], p.names[i])
	}
	return v, err
}

// nativeJSON makes a JSON value of what plain gives.
func nativeJSON(v any) any {
	switch v := v.(type) {
	case time.Time:
		return formatTime(v)
	case time.Duration:
		return types.Duration{Duration: v}.ConvertToType(types.StringType).Value()
	}
	return v
}
