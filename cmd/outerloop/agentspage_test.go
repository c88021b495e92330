package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
)

var rewriting = flag.Bool("page", false, "write what the commands of docs/agents.md print into it")

// sorter is the model of docs/agents.md.
func sorter(d data) llm.Answer {
	if d.asWorker("translator") {
		return said(d, document{"output": document{"english": "Please find enclosed the invoice of the month, payable within thirty days."}, "reason": "Plain words."})
	}
	letter := get[string](d, "input.letter")
	answer := func(topic, says string) llm.Answer {
		return said(d, document{
			"output": document{"topic": topic, "says": says}, "reason": "The letter says so itself.",
			"evidence": []document{{"claim": says, "source": "input.letter", "at": ""}},
		})
	}
	brief := strings.Contains(d.asked.System, "in at most five words")
	switch {
	case strings.Contains(letter, "folders") && brief:
		return answer("order", "Forty more blue folders.")
	case strings.Contains(letter, "folders"):
		out := answer("order", "They order forty more blue folders.")
		out.Text = "```json\n" + out.Text + "\n```"
		return out
	case strings.Contains(letter, "factura") && len(d.asked.Messages) == 1:
		return calls("translator", document{"text": letter})(d, nil)
	case strings.Contains(letter, "factura") && brief:
		return answer("invoice", "Invoice 4711 for October.")
	case strings.Contains(letter, "factura 4712"):
		out := answer("invoice", "They send invoice 4712 for November, payable in thirty days.")
		out.Text = "Gladly! Here it is:\n" + out.Text
		return out
	case strings.Contains(letter, "factura"):
		return answer("invoice", "They send invoice 4711 for October, payable in thirty days.")
	case strings.Contains(letter, "delivery") && len(d.blocks["feedback"]) == 0:
		return answer("late delivery", "A third delivery came late.")
	case brief:
		return answer("complaint", "Third late delivery in a row.")
	}
	return answer("complaint", "The third delivery in a row came a week late.")
}

// page is a document whose files are written and whose commands are executed.
type page struct {
	t   *testing.T
	b   *bundle
	url string
	out bytes.Buffer
}

var fence = regexp.MustCompile("^```([a-z]+)(?: (\\S+))?$")

// shownURL is the model's address as the page has it.
const shownURL = "http://127.0.0.1:11434"

// run goes through the page, and leaves in out what it should be.
func (p *page) run(text string) {
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		p.out.WriteString(lines[i])
		if strings.TrimSpace(lines[i]) == "<!-- in this repository -->" {
			p.b = setup(p.t)
		}
		open := fence.FindStringSubmatch(strings.TrimSpace(lines[i]))
		if open == nil {
			continue
		}
		end := i + 1
		for strings.TrimSpace(lines[end]) != "```" {
			end++
		}
		inside := strings.Join(lines[i+1:end], "")
		switch {
		case open[2] != "":
			p.b.write(open[2], strings.ReplaceAll(inside, shownURL, p.url))
			p.out.WriteString(inside)
		case open[1] == "console":
			p.commands(inside)
		default:
			p.out.WriteString(inside)
		}
		p.out.WriteString(lines[end])
		i = end
	}
}

// commands executes the commands of a block and writes them with what they print.
func (p *page) commands(block string) {
	for _, part := range strings.SplitAfter("\n"+block, "\n$ outerloop ")[1:] {
		line, shown, _ := strings.Cut(strings.TrimSuffix(part, "$ outerloop "), "\n")
		command := line
		p.out.WriteString("$ outerloop " + line + "\n")
		command, note, _ := strings.Cut(command, "   # ")
		want := map[string]int{"": 0, "exit 1": cli.ExitFailed, "exit 2": cli.ExitUsage, "exit 3": cli.ExitWaiting}[note]
		out := &terminal{}
		code := cli.Run(context.Background(), program(), cli.Streams{Out: out, Err: out, Dir: p.b.dir}, shellWords(strings.ReplaceAll(command, shownURL, p.url))...)
		if code != want {
			p.t.Errorf("outerloop %s: exit %d, want %d\n%s", command, code, want, out.text.String())
		}
		got := p.plain(out.text.String())
		if command == "log" && sortedLines(got) == sortedLines(shown) {
			got = shown // what was decided within one millisecond stands in any order
		}
		p.out.WriteString(got)
	}
}

func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(strings.TrimSpace(text), "\n")), "\n")
}

// terminal has what is printed and what is told, in their order.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *terminal) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

var (
	passing = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( [A-Z]{3,4})?`)
	working = regexp.MustCompile(`^\d+(\.\d+)? m?s  `)
	exactly = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}`)
	after   = regexp.MustCompile(`\(after [^)]*\)`)
	ago     = regexp.MustCompile(`asked .* ago`)
)

// plain is an output without what is of this run alone: address, directory,
// times, and the column of how long steps took.
func (p *page) plain(text string) string {
	text = strings.NewReplacer(p.url, shownURL, p.b.dir+string(filepath.Separator), "").Replace(text)
	text = passing.ReplaceAllString(exactly.ReplaceAllString(text, "YYYY-MM-DD hh:mm:ss.000"), "2026-11-30 09:00")
	text = strings.ReplaceAll(text, "YYYY-MM-DD hh:mm:ss.000", "2026-11-30 09:00:00.000")
	text = after.ReplaceAllString(ago.ReplaceAllString(text, "asked 1 s ago"), "(after 1 s)")
	var kept []string
	from, to := 0, 0 // the column that is left out
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if tries := strings.Index(line, "TRIES "); tries >= 0 && strings.Contains(line, " TOOK ") {
			from, to = tries+len("TRIES"), strings.Index(line, " TOOK ")+len(" TOOK")
		} else if line == "" {
			from, to = 0, 0
		}
		if len(line) >= to {
			line = line[:from] + line[to:]
		}
		if !working.MatchString(line) {
			kept = append(kept, strings.TrimRight(line, " "))
		}
	}
	if text = strings.Join(kept, "\n"); text == "" {
		return ""
	}
	return text + "\n"
}

// shellWords splits a command line at spaces, but not inside quotation marks.
func shellWords(line string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2]+m[3])
	}
	return out
}

// Everything on the page about agents is executed, and what it says is printed
// is what is printed: a project of an agent without Go code, from nothing to its
// replay (R8, R17, R18, R20, R27, R42, R43, R49, R56).
func TestAgentsPage(t *testing.T) {
	t.Parallel()
	const file = "../../docs/agents.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t, b: &bundle{t: t, dir: t.TempDir()}, url: served(t, sorter).URL}
	p.run(string(text))
	if *rewriting {
		if err := os.WriteFile(file, p.out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, want := strings.Split(p.out.String(), "\n"), strings.Split(string(text), "\n")
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("docs/agents.md:%d says\n%s\nand it is\n%s\ngo test ./cmd/outerloop -run TestAgentsPage -page   writes it anew", i+1, want[i], got[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("docs/agents.md has %d lines, it would be %d", len(want), len(got))
	}
}
