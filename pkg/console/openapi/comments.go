package openapi

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

const module = "github.com/outerloop-dev/outerloop"

// described are the packages whose types the API shows.
var described = []string{"", "pkg/gate", "pkg/coordinator", "pkg/coordinator/remote", "pkg/console"}

// comments are the doc comments of types ("path.Type") and fields ("path.Type.Field").
func comments(root string) (map[string]string, error) {
	out := map[string]string{}
	for _, dir := range described {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil {
			return nil, fmt.Errorf("reading comments: %w", err)
		}
		for _, entry := range entries {
			if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, dir, entry.Name()), nil, parser.ParseComments)
			if err != nil {
				return nil, fmt.Errorf("reading comments: %w", err)
			}
			path := strings.TrimSuffix(module+"/"+dir, "/")
			for _, decl := range file.Decls {
				if types, ok := decl.(*ast.GenDecl); ok && types.Tok == token.TYPE {
					collect(path, types, out)
				}
			}
		}
	}
	return out, nil
}

func collect(path string, decl *ast.GenDecl, out map[string]string) {
	for _, spec := range decl.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		name := path + "." + t.Name.Name
		out[name] = said(t.Doc, decl.Doc)
		s, ok := t.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range s.Fields.List {
			for _, fieldName := range field.Names {
				out[name+"."+fieldName.Name] = said(field.Doc, nil)
			}
		}
	}
}

// said is the first comment that there is, on one line.
func said(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			return text
		}
	}
	return ""
}
