package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every command that the README shows runs here, in the README's order, after
// what `make run` does: a page that shows a command that does not work fails.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t)
	b.run(3)
	run := b.newest()
	id := list(t, b.want(0, "approvals", "-o", "json").out)[0]["id"].(string)
	commands := regexp.MustCompile(`(?m)^    build/outerloop (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(commands) < 8 {
		t.Fatalf("only %d commands found in the README", len(commands))
	}
	for _, command := range commands {
		line, _, _ := strings.Cut(command[1], "  #")
		line = strings.NewReplacer("RUN", run, " ID", " "+id).Replace(strings.TrimSpace(line))
		t.Log("outerloop " + line)
		b.want(0, words(line)...)
	}
}

// words splits a command line at spaces, but not inside quotation marks.
func words(line string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}
