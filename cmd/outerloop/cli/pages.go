package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Page is a fact that people look at: Render makes an HTML page of its value.
// The same value must give the same page.
type Page struct {
	// Fact is the fact's name, "dashboard/sales".
	Fact   string
	Render func(fact []byte) ([]byte, error)
}

// writePages renders the facts that were written as pages beside the outbox and
// answers their files. A page that is up to date is left as it is.
func (a *app) writePages(ctx context.Context) ([]string, error) {
	var files []string
	for _, page := range a.Pages {
		value, err := a.fact(ctx, page.Fact)
		if err != nil {
			return files, fmt.Errorf("reading fact %s: %w", page.Fact, err)
		}
		if value == nil {
			continue
		}
		html, err := page.Render(value)
		if err != nil {
			return files, fmt.Errorf("rendering fact %s: %w", page.Fact, err)
		}
		file := filepath.Join(filepath.Dir(a.stateFile()), strings.ReplaceAll(page.Fact, "/", "-")+".html")
		files = append(files, file)
		if have, err := os.ReadFile(file); err == nil && bytes.Equal(have, html) {
			continue
		}
		if err := writeWhole(file, html); err != nil {
			return files, err
		}
	}
	return files, nil
}
