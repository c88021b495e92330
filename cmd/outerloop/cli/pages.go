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
// answers those that the run wrote. A page that is up to date is left as it is.
func (a *app) writePages(ctx context.Context, run string) ([]string, error) {
	var written []string
	for _, page := range a.Pages {
		fact, err := a.fact(ctx, page.Fact)
		if err != nil {
			return written, fmt.Errorf("reading fact %s: %w", page.Fact, err)
		}
		if fact.Value == nil {
			continue
		}
		html, err := page.Render(fact.Value)
		if err != nil {
			return written, fmt.Errorf("rendering fact %s: %w", page.Fact, err)
		}
		file := filepath.Join(a.shelf(), strings.ReplaceAll(page.Fact, "/", "-")+".html")
		if fact.Run == run {
			written = append(written, file)
		}
		if have, err := os.ReadFile(file); err == nil && bytes.Equal(have, html) {
			continue
		}
		if err := writeWhole(file, html); err != nil {
			return written, err
		}
	}
	return written, nil
}

// outbox is where connections of kind outbox put mails.
func (a *app) outbox() string { return filepath.Join(a.shelf(), "outbox") }

// shelf is the directory of what runs made for people on this machine: beside
// the state file, or one for each deployment.
func (a *app) shelf() string {
	if !a.far() {
		return filepath.Dir(a.stateFile())
	}
	dir, _ := a.projectDir()
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:`, r) {
			return '-'
		}
		return r
	}, strings.TrimLeft(a.target.name, "."))
	return filepath.Join(dir, ".outerloop", name)
}

// writePlaces says where the mails and the pages are, and how many mails are new.
func (a *app) writePlaces(pages []string) {
	mails := countMails(a.outbox())
	if mails > 0 {
		fresh := "none new"
		if n := mails - a.mailsBefore; n > 0 {
			fresh = fmt.Sprintf("%d new", n)
		}
		a.say("outbox   %s  (%s, %s)", a.here(a.outbox()), count(mails, "mail", "mails"), fresh)
	}
	for _, page := range pages {
		a.say("page     %s", a.here(page))
	}
}

// countMails counts the mails in an outbox, those of several connections together.
func countMails(dir string) int {
	n := 0
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		switch {
		case entry.IsDir():
			n += countMails(filepath.Join(dir, entry.Name()))
		case strings.HasSuffix(entry.Name(), ".eml"):
			n++
		}
	}
	return n
}
