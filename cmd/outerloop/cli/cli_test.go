package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// bundle is one program as a test runs it: in a directory, at a fixed or real time.
type bundle struct {
	t   *testing.T
	dir string
	cfg cli.Config
	in  string
	now func() time.Time
}

// answer is what a command printed and its exit code.
type answer struct {
	code     int
	out, err string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return &bundle{t: t, dir: t.TempDir()}
}

func (b *bundle) run(args ...string) answer {
	b.t.Helper()
	var out, errOut bytes.Buffer
	code := cli.Run(context.Background(), b.cfg, cli.Streams{
		In: strings.NewReader(b.in), Out: &out, Err: &errOut, Dir: b.dir, Now: b.now,
	}, args...)
	return answer{code: code, out: out.String(), err: errOut.String()}
}

// want runs a command and demands its exit code.
func (b *bundle) want(code int, args ...string) answer {
	b.t.Helper()
	got := b.run(args...)
	if got.code != code {
		b.t.Fatalf("outerloop %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got.code, code, got.out, got.err)
	}
	return got
}

func (b *bundle) write(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (a answer) has(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.out+a.err, text) {
			t.Errorf("%q is missing in\n%s%s", text, a.out, a.err)
		}
	}
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("decoding %v: %s", err, text)
	}
	return v
}

// Mistakes on the command line cost exit 2, say what is wrong on the error
// output only, and what to write instead.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		line string
		want []string
	}{
		{"verzion", []string{`has no command "verzion"`, "did you mean outerloop version?"}},
		{"frob --x", []string{`has no command "frob"`}},
		{"asl frob", []string{`outerloop asl has no command "frob"`}},
		{"version --outptu json", []string{"has no flag --outptu", "did you mean --output?"}},
		{"version -z", []string{"has no flag -z"}},
		{"version -o yaml", []string{"-o yaml", "-o json"}},
		{"version too many", []string{`"too" is too much`, "usage: outerloop version"}},
		{"approve", []string{"needs the id of a request", "outerloop approvals"}},
		{"approve 12ab", []string{"--by you@example.com and --reason", "usage: outerloop approve ID"}},
		{"reject 12ab --by me", []string{`--reason "…" is missing`}},
		{"resolve 12ab", []string{"needs a way", "retry"}},
		{"resolve 12ab rety --by me --reason r", []string{"did you mean retry?"}},
		{"resolve 12ab edit --by me --reason r", []string{"edit needs --value FILE"}},
		{"resolve 12ab skip --value x --by me --reason r", []string{"skip takes no --value"}},
		{"resolve 12ab retry --outcome maybe --by me --reason r", []string{"neither done nor failed"}},
		{"runs --limit 0", []string{"--limit 0 is out of range"}},
		{"run", []string{"needs a loop"}},
		{"explain E9999", []string{"there is no code E9999", "outerloop explain"}},
		{"asl validate", []string{"needs a definition"}},
		{"schema lop", []string{"did you mean loop?"}},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			got := b.run(strings.Fields(c.line)...)
			if got.code != cli.ExitUsage || got.out != "" {
				t.Errorf("exit %d, output %q; want 2 and nothing on the output\n%s", got.code, got.out, got.err)
			}
			if !strings.HasPrefix(got.err, "outerloop: ") {
				t.Errorf("the error does not name the program: %s", got.err)
			}
			got.has(t, c.want...)
		})
	}
}

// Without a state file lists are [] and single records are usage errors; the
// file is not made by reading.
func TestReadingMakesNoState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, command := range []string{"runs", "approvals", "exceptions", "actions"} {
		if got := b.want(0, command, "-o", "json"); strings.TrimSpace(got.out) != "[]" {
			t.Errorf("%s -o json: %q, want []", command, got.out)
		}
		b.want(0, command)
	}
	for _, line := range []string{"show", "show some-run", "log", "approve x --by me --reason r", "resolve x retry --by me --reason r", "cancel x --by me --reason r"} {
		got := b.want(cli.ExitUsage, strings.Fields(line)...)
		got.has(t, "state.db")
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("reading left %v (%v)", entries, err)
	}
}

// Every command teaches: it has a text of its own and an example that begins
// with the program's name.
func TestHelpTeaches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	page := b.want(0, "docs").out
	for _, part := range strings.Split(page, "\n## ")[1:] {
		name, _, _ := strings.Cut(part, "\n")
		if !strings.Contains(part, "\nExamples\n  outerloop") && !strings.HasSuffix(name, " help") {
			t.Errorf("%s has no example", name)
		}
	}
	if got := b.want(0, "help", "approve"); got.out != b.want(0, "approve", "--help").out {
		t.Errorf("help approve and approve --help differ")
	}
}

// docs/cli.md is the commands' help, no second copy of it.
func TestReferenceIsFresh(t *testing.T) {
	t.Parallel()
	const page = "../../../docs/cli.md"
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if got := setup(t).want(0, "docs").out; got != string(want) {
		t.Errorf("%s is stale: run go generate ./cmd/...", page)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cfg.Version = "v1.2.3"
	b.want(0, "version").has(t, "outerloop v1.2.3")
	if v := decode[map[string]string](t, b.want(0, "version", "-o", "json").out); v["version"] != "v1.2.3" || v["go"] == "" {
		t.Errorf("version -o json: %v", v)
	}
}
