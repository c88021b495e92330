package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// Text of the outside never reaches the terminal as an escape sequence.
func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x1b[31mred\x1b[0m":  "a [31mred [0m",
		"two\r\nlines":         "two lines",
		"Müller \u202etxt.exe": "Müller txt.exe",
		"tab\tbed":             "tab bed",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTableAligns(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{Streams: Streams{Out: &out, Width: 30}}
	table := table{head: []string{"NAME", "N", "REASON"}, right: []bool{false, true}}
	table.add("東京", "7", "short")
	table.add("Jörg", "12", "a reason that does not fit the terminal")
	table.write(a, &out)
	want := "NAME   N  REASON\n東京   7  short\nJörg  12  a reason that does …\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestStaticPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"scan":                        "scan",
		"follow_up[D-1042]/send":      "follow_up/send",
		"a[x/y]/b[[odd]]/c":           "a/b/c",
		"follow_up[D-1042]":           "follow_up",
		"follow_up[D-1]/draft.review": "follow_up/draft.review",
	} {
		if got := staticPath(in); got != want {
			t.Errorf("staticPath(%q) = %q, want %q", in, got, want)
		}
	}
}

// The table by step and outcome has only the columns that occur.
func TestTallies(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{Streams: Streams{Out: &out}}
	a.writeTallies([]coordinator.StepView{
		{Path: "scan", Worker: "w", Status: outerloop.StepSettled, Outcome: outerloop.OutcomeCompleted},
		{Path: "each", Status: outerloop.StepOpen},
		{Path: "each[a]/send", Worker: "w", Status: outerloop.StepSettled, Outcome: outerloop.OutcomeSkipped},
		{Path: "each[b]/send", Worker: "w", Status: outerloop.StepParked},
		{Path: "each[c]/send", Worker: "w", Status: outerloop.StepParked},
	})
	want := "STEP       COMPLETED  SKIPPED  WAITING\nscan               1\neach/send                   1        2\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// Progress is one line in place on a terminal, sparse lines elsewhere.
func TestProgress(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	show := func(live bool) string {
		var out bytes.Buffer
		a := &app{Streams: Streams{Err: &out, Live: live, Now: func() time.Time { return now }}}
		p := a.newProgress()
		for range 100 {
			now = now.Add(150 * time.Millisecond)
			p.tell(local.Progress{Event: "TaskStateEntered", State: "follow_up/send"})
			p.tell(local.Progress{Event: "TaskStateEntered", State: "follow_up/send.approval"})
			p.tell(local.Progress{Event: "MapStateEntered", State: "follow_up"})
			p.tell(local.Progress{Event: "TaskStateExited", State: "follow_up/send"})
		}
		p.end()
		return out.String()
	}
	if got := show(true); strings.Contains(got, "\n") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("on a terminal the line is not drawn in place and taken away: %q", got)
	}
	lines := strings.Split(strings.TrimSpace(show(false)), "\n")
	if len(lines) > 6 || !strings.HasSuffix(lines[len(lines)-1], "send 100 (100 waiting)") {
		t.Errorf("lines: %q", lines)
	}
}
