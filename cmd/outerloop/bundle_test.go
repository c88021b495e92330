package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// bundle is the program in a copy of the project of its own.
type bundle struct {
	t   *testing.T
	dir string
	// crew makes the agents instead of the program; nil: the program does.
	crew func(*project.Project, string) ([]cli.Worker, error)
}

type answer struct {
	code     int
	out, err string
}

// setup copies what a project consists of: declarations, schemas and the export.
func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, dir: t.TempDir()}
	const root = "../.."
	for _, part := range []string{"outerloop.yaml", "statemachines", "functions/workers", "exports/crm.csv", "samples"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			to := filepath.Join(b.dir, rel)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.WriteFile(to, content, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// want runs a command and demands its exit code.
func (b *bundle) want(code int, args ...string) answer {
	b.t.Helper()
	var out, errOut bytes.Buffer
	cfg := program()
	if b.crew != nil {
		cfg.Crew = b.crew
	}
	got := cli.Run(context.Background(), cfg, cli.Streams{Out: &out, Err: &errOut, Dir: b.dir}, args...)
	if got != code {
		b.t.Fatalf("outerloop %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), errOut.String())
	}
	return answer{got, out.String(), errOut.String()}
}

func (b *bundle) run(code int, more ...string) answer {
	b.t.Helper()
	return b.want(code, append([]string{"run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30"}, more...)...)
}

func (a answer) has(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.out+a.err, text) {
			t.Errorf("%q is missing in\n%s%s", text, a.out, a.err)
		}
	}
}

// outbox is every mail by file name.
func (b *bundle) outbox() map[string]string {
	b.t.Helper()
	mails := map[string]string{}
	files, err := filepath.Glob(filepath.Join(b.dir, ".outerloop/outbox/*.eml"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			b.t.Fatal(err)
		}
		mails[filepath.Base(file)] = string(content)
	}
	return mails
}

type document = map[string]any

func list(t *testing.T, text string) []document {
	t.Helper()
	var v []document
	if err := json.Unmarshal([]byte(text), &v); err != nil || v == nil {
		t.Fatalf("not an array: %v\n%s", err, text)
	}
	return v
}

func object(t *testing.T, text string) document {
	t.Helper()
	var v document
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("not an object: %v\n%s", err, text)
	}
	return v
}

func (b *bundle) edit(name, from, to string) {
	b.t.Helper()
	file := filepath.Join(b.dir, name)
	content, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	if !bytes.Contains(content, []byte(from)) {
		b.t.Fatalf("%s does not hold %q", name, from)
	}
	if err := os.WriteFile(file, bytes.Replace(content, []byte(from), []byte(to), 1), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// write writes a file of the project's copy.
func (b *bundle) write(name, content string) {
	b.t.Helper()
	file := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// remove removes a file, if it is there.
func (b *bundle) remove(file string) {
	b.t.Helper()
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
}

func demand(t *testing.T, what string, doc document, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, ok := doc[key]; !ok {
			t.Errorf("%s has no %q: it has %v", what, key, slices.Sorted(maps.Keys(doc)))
		}
	}
}

// hearing calls a function when a word is written.
type hearing struct {
	word  string
	heard func()
	text  bytes.Buffer
}

func (w *hearing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.word)) {
		w.heard()
	}
	return w.text.Write(p)
}

// signalWriter closes ready at the first write.
type signalWriter struct{ ready chan struct{} }

func (w *signalWriter) Write(p []byte) (int, error) {
	if w.ready != nil {
		close(w.ready)
		w.ready = nil
	}
	return len(p), nil
}
