package rule

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// Ref is a place that an expression reads: a name in scope and a path in its value. Indexes are path elements too.
type Ref struct {
	Root   string
	Path   []string
	Waits  bool // only read inside default(…), or through about: the reader waits for it, but runs without it
	Offset int  // bytes from the start of the expression to the name
	Length int  // bytes, up to the end of the last field name
}

// String is the path with dots.
func (r Ref) String() string {
	return strings.Join(append([]string{r.Root}, r.Path...), ".")
}

// References parses an expression without types and lists what it reads.
func References(source string) ([]Ref, Faults) {
	words := strings.Split(source, ".")
	keeps := func(word string) bool { return slices.Contains(reserved, word) }
	if dotted.MatchString(source) && !slices.ContainsFunc(words, keeps) {
		return []Ref{{Root: words[0], Path: words[1:], Waits: words[0] == "about", Length: len(source)}}, nil
	}
	b, err := baseFor(utc)
	if err != nil {
		return nil, Faults{{Kind: Syntax, Message: err.Error(), Line: 1, Column: 1, Length: 1}}
	}
	parsed, faults := b.parse(source)
	if faults != nil {
		return nil, faults
	}
	refs, _ := collect(parsed.NativeRep(), source, func(function string) bool { _, ok := b.functions[function]; return ok })
	return refs, nil
}

// collect lists the references of a tree with the ids of the expressions that read them. Of a tree that is not checked,
// called says which dotted names are functions (math.abs).
func collect(tree *ast.AST, source string, called func(string) bool) ([]Ref, [][]int64) {
	c := &collector{tree: tree, source: source, called: called, at: map[string]int{}}
	c.visit(tree.Expr(), false)
	order := make([]int, len(c.refs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.refs[a].Offset, c.refs[b].Offset) })
	refs, ids := make([]Ref, len(order)), make([][]int64, len(order))
	for i, o := range order {
		refs[i], ids[i] = c.refs[o], c.ids[o]
	}
	return refs, ids
}

type collector struct {
	tree   *ast.AST
	source string
	called func(string) bool
	locals []string
	refs   []Ref
	ids    [][]int64
	at     map[string]int // key → index in refs
}

func (c *collector) visit(e ast.Expr, waits bool) {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		c.path(e, waits)
	case ast.CallKind:
		c.call(e, waits)
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			c.visit(x, waits)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			c.visit(entry.AsMapEntry().Key(), waits)
			c.visit(entry.AsMapEntry().Value(), waits)
		}
	case ast.StructKind:
		for _, entry := range e.AsStruct().Fields() {
			c.visit(entry.AsStructField().Value(), waits)
		}
	case ast.ComprehensionKind:
		c.comprehension(e.AsComprehension(), waits)
	}
}

func (c *collector) comprehension(x ast.ComprehensionExpr, waits bool) {
	c.visit(x.IterRange(), waits)
	c.visit(x.AccuInit(), waits)
	before := len(c.locals)
	c.locals = append(c.locals, x.AccuVar())
	c.visit(x.Result(), waits)
	c.locals = append(c.locals, x.IterVar())
	if x.HasIterVar2() {
		c.locals = append(c.locals, x.IterVar2())
	}
	c.visit(x.LoopCondition(), waits)
	c.visit(x.LoopStep(), waits)
	c.locals = c.locals[:before]
}

func (c *collector) call(e ast.Expr, waits bool) {
	call := e.AsCall()
	name := call.FunctionName()
	if name == "_[_]" {
		c.path(e, waits)
		return
	}
	if name == "default" || name == "@default" {
		waits = true
	}
	if call.IsMemberFunction() && !c.namespace(call) {
		c.visit(call.Target(), waits)
	}
	for _, a := range call.Args() {
		c.visit(a, waits)
	}
}

func (c *collector) namespace(call ast.CallExpr) bool {
	if c.called == nil || call.Target().Kind() != ast.IdentKind {
		return false
	}
	return c.called(call.Target().AsIdent() + "." + call.FunctionName())
}

// path reads a chain of fields and constant indexes back to its name.
func (c *collector) path(e ast.Expr, waits bool) {
	var path []string
	var ids []int64
	end := 0
	for {
		ids = append(ids, e.ID())
		switch e.Kind() {
		case ast.IdentKind:
			slices.Reverse(path)
			c.add(e, path, ids, waits, end)
			return
		case ast.SelectKind:
			s := e.AsSelect()
			path = append(path, s.FieldName())
			end = max(end, c.fieldEnd(e.ID(), s.FieldName()))
			e = s.Operand()
			continue
		case ast.CallKind:
			if call := e.AsCall(); call.FunctionName() == "_[_]" {
				key, constant := constantKey(call.Args()[1])
				if constant {
					path = append(path, key)
				} else {
					c.visit(call.Args()[1], waits)
					path, end = path[:0], 0 // what follows cannot be named
					ids = ids[:0]
				}
				e = call.Args()[0]
				continue
			} else if call.FunctionName() == "dyn" && len(call.Args()) == 1 {
				e = call.Args()[0]
				continue
			}
		}
		c.visit(e, waits)
		return
	}
}

func constantKey(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	switch v := e.AsLiteral().(type) {
	case types.String:
		return string(v), true
	case types.Int:
		return strconv.FormatInt(int64(v), 10), true
	}
	return "", false
}

// fieldEnd is the byte after a field's name.
func (c *collector) fieldEnd(id int64, name string) int {
	start := nameAfter(c.source, startOf(c.tree, c.source, id), name)
	return start + len(name)
}

// nameAfter finds a name at or after an offset (past the dot and spaces), or gives the offset.
func nameAfter(source string, offset int, name string) int {
	if i := strings.Index(source[offset:], name); i >= 0 {
		return offset + i
	}
	return offset
}

func startOf(tree *ast.AST, source string, id int64) int {
	return byteOffset(source, tree.SourceInfo().GetStartLocation(id))
}

func (c *collector) add(ident ast.Expr, path []string, ids []int64, waits bool, end int) {
	root := strings.TrimPrefix(ident.AsIdent(), ".")
	if slices.Contains(c.locals, root) || strings.HasPrefix(root, "@") {
		return
	}
	offset := startOf(c.tree, c.source, ident.ID())
	r := Ref{Root: root, Path: path, Waits: waits || root == "about", Offset: offset, Length: max(end-offset, len(root))}
	key := r.String()
	if i, ok := c.at[key]; ok {
		c.refs[i].Waits = c.refs[i].Waits && r.Waits
		c.ids[i] = append(c.ids[i], ids[0])
		return
	}
	c.at[key] = len(c.refs)
	c.refs = append(c.refs, r)
	first := ident.ID()
	if len(ids) > 0 {
		first = ids[0]
	}
	c.ids = append(c.ids, []int64{first})
}
