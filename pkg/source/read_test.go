package source

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// read reads a text that must be right.
func read(t *testing.T, text string) *Node {
	t.Helper()
	n, ps := Read("t.yaml", []byte(text))
	if len(ps) > 0 {
		t.Fatalf("reading %q: %v", text, ps)
	}
	return n
}

func TestReadGivesWhatWasWritten(t *testing.T) {
	t.Parallel()
	n := read(t, "\uFEFFa: 12\r\nb: [1.5, true, null, ~, yes, on, 14d, 90%, \"17:00\"]\nc: {d: 'it''s', e: \"\\u00fc\"}\nf: |\n  one\n  two\ng: &x {y: 1}\nh: *x\n")
	want := map[string]any{
		"a": int64(12), "b": []any{1.5, true, nil, nil, "yes", "on", "14d", "90%", "17:00"},
		"c": map[string]any{"d": "it's", "e": "ü"}, "f": "one\ntwo\n",
		"g": map[string]any{"y": int64(1)}, "h": map[string]any{"y": int64(1)},
	}
	if diff := cmp.Diff(want, n.Plain()); diff != "" {
		t.Errorf("wrong tree (-want +got):\n%s", diff)
	}
}

func TestEveryTrapIsAnErrorWithItsPlace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, code string
		line, col  int
	}{
		"comma in an unquoted rule":     {"a: {rule: a.all(t, t > 1)}", "E106", 1, 11},
		"comma in an unquoted schedule": {"{schedule: cron(0 8 1 JAN,APR ? *)}", "E106", 1, 12},
		"template in braces":            {"a: {deal: ${deal}}", "E106", 1, 11},
		"question mark in braces":       {"a: {when: b ? c}", "E106", 1, 13},
		"index in braces":               {"a: {x: b[0]}", "E106", 1, 9},
		"number sign":                   {"say: Ticket #5 is late", "E106", 1, 13},
		"conditional":                   {"when: a ? b : c", "E101", 1, 7},
		"key without a value":           {"a: 1\nlimits:\nb: 2", "E104", 2, 1},
		"entry without a value":         {"a:\n  - 1\n  -\n", "E104", 3, 4},
		"leading zero":                  {"a: 014", "E105", 1, 4},
		"base of sixty":                 {"a: 1:30", "E105", 1, 4},
		"hexadecimal":                   {"a: 0x1F", "E105", 1, 4},
		"grouped digits":                {"a: 1_000", "E105", 1, 4},
		"too many digits":               {"a: 99999999999999999999", "E105", 1, 4},
		"second document":               {"a: 1\n---\nb: 2", "E103", 2, 1},
		"same key twice":                {"a: 1\nb: 2\na: 3", "E108", 3, 1},
		"tab":                           {"a:\n\tb: 1", "E109", 2, 1},
		"tag":                           {"a: !!str 5", "E107", 1, 4},
		"merge key":                     {"a: &x {b: 1}\nc:\n  <<: *x", "E107", 3, 3},
		"unknown alias":                 {"a: *x", "E107", 1, 4},
		"nothing":                       {"# only a comment\n", "E101", 1, 1},
		"control character":             {"a: \x01", "E101", 1, 4},
		"not UTF-8":                     {"a: \xff", "E101", 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ps := Read("t.yaml", []byte(test.text))
			if len(ps) == 0 {
				t.Fatalf("%q was read without a word", test.text)
			}
			if p := ps[0]; p.Code != test.code || p.Line != test.line || p.Column != test.col {
				t.Errorf("got %v, want %s at %d:%d", p, test.code, test.line, test.col)
			}
		})
	}
}

func TestHostileFilesEndQuickly(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [x, x]\n"
	for i := 1; i < 30; i++ {
		bomb += strings.NewReplacer("N", itoa(i), "M", itoa(i-1)).Replace("aN: &aN [*aM, *aM]\n")
	}
	for name, text := range map[string]string{
		"nested brackets": strings.Repeat("[", 200_000),
		"nested braces":   strings.Repeat("{a: ", 60_000),
		"nested dashes":   strings.Repeat("- ", 100_000),
		"alias bomb":      bomb,
		"large":           "a: " + strings.Repeat("x", MaxBytes),
		"deep blocks":     deepBlocks(500),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			_, ps := Read("t.yaml", []byte(text))
			if len(ps) == 0 || ps[0].Code != "E102" {
				t.Errorf("got %v, want E102", ps)
			}
			if took := time.Since(started); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func deepBlocks(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String() + strings.Repeat(" ", depth) + "b: 1\n"
}

// A column in a scalar leads back to what was written, however it was written.
func TestPositionOfLeadsBackIntoTheFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":         "k: one WORD more",
		"single quotes": "k: 'it''s one WORD more'",
		"double quotes": `k: "\"ü\" one\tWORD more"`,
		"literal":       "k: |\n  first\n  one WORD more\n",
		"folded":        "k: >-\n  first\n  one WORD more\n",
		"continued":     "k: first\n  one WORD more",
		"in a list":     "- a\n- k: one WORD more",
		"umlauts":       "k: äöü WORD",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := read(t, text)
			if n.Kind == Sequence {
				n = n.Items[1]
			}
			scalar := n.Get("k")
			at := scalar.PositionOf(strings.Index(scalar.Text, "WORD"))
			line := []rune(scalar.File.Line(at.Line))
			if got := string(line[at.Column-1:]); !strings.HasPrefix(got, "WORD") {
				t.Errorf("position %v of %q points at %q", at, text, got)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"a: {b: [1, 2]}", "a: |\n  x\nb: 'y'", "a: &x [1]\nb: *x", "{a: b, c: ${d}}", "? a\n: b", "a: >-\n  x\n\n  y", "- - - a", "a: 014", "a: \"\\u12", "--- a\n--- b", "#", "[", "a:\tb",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		started := time.Now()
		n, ps := Read("f.yaml", raw)
		if (n == nil) == (len(ps) == 0) {
			t.Errorf("a node and problems, or neither: %v", ps)
		}
		for _, p := range ps {
			if p.Line > 0 && p.Column < 1 || p.Rule == "problem" {
				t.Errorf("a problem without a place or a title: %+v", p)
			}
		}
		if n != nil {
			n.JSON()
			walk(n, func(scalar *Node) { scalar.PositionOf(len(scalar.Text) / 2) })
		}
		if took := time.Since(started); took > 3*time.Second {
			t.Errorf("reading %d bytes took %s", len(raw), took)
		}
	})
}

func walk(n *Node, do func(*Node)) {
	do(n)
	for _, pair := range n.Pairs {
		walk(pair.Value, do)
	}
	for _, item := range n.Items {
		walk(item, do)
	}
}
