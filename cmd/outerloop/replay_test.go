package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
)

// everything is the content of the state's directory, to see that nothing changed.
func (b *bundle) everything() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Join(b.dir, ".outerloop"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(entry.Name(), "-shm") { // SQLite's own bookkeeping of readers
			return err
		}
		content, err := os.ReadFile(path)
		all[path] = string(content)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

func (b *bundle) unchanged(before map[string]string) {
	b.t.Helper()
	after := b.everything()
	for path, content := range after {
		if before[path] != content {
			b.t.Errorf("%s was written (%d bytes, now %d)", path, len(before[path]), len(content))
		}
	}
	if len(after) != len(before) {
		b.t.Errorf("%d files, now %d", len(before), len(after))
	}
}

// R56: recorded inputs against the same script give the same; another prompt or
// model shows what differs, in outputs, cost and acceptance. Nothing is written.
func TestReplay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.want(0, marketResearch...)
	run, before := b.newest(), b.everything()
	same := object(t, b.want(0, "replay", run, "--worker", "researcher", "-o", "json").out)
	if same["steps"] != 8.0 || same["same"] != 8.0 || number(same, "after", "accepted") != 7 {
		t.Errorf("the same prompt gives %v of %v the same, %v accepted", same["same"], same["steps"], same["after"])
	}

	b.write("shorter.md", "Answer ${input.topic} from ${input.sources}, ${input.depth}, in one sentence.")
	s := served(t, func(d data) llm.Answer {
		if !strings.Contains(d.asked.System, "in one sentence") {
			t.Error("the new prompt was not sent")
		}
		answer := researcher(d)
		if strings.Contains(string(d.blocks["input.topic"]), `"prices"`) {
			answer.Text = strings.ReplaceAll(answer.Text, "input.sources", "input.minutes") // a source that is not there
		}
		return answer
	})
	args := []string{"replay", run, "--worker", "researcher", "--prompt", "shorter.md", "--model", "openai:" + s.URL, "--model-price", "1.00/2.00"}
	got := object(t, b.want(cli.ExitFailed, append(args, "-o", "json")...).out)
	compared := map[string]document{}
	for _, c := range got["compared"].([]any) {
		compared[c.(document)["path"].(string)] = c.(document)
	}
	if prices := compared["research[prices]/gather"]["after"].(document); prices["accepted"] != false || prices["class"] != "invalid_output" || !strings.Contains(prices["cause"].(string), "names no data") {
		t.Errorf("an invented source: %v", prices)
	}
	if cost, want := number(got, "after", "cost"), 8*(900*1+120*2)/1e6; cost < want-1e-5 || cost > want+1e-5 {
		t.Errorf("replaying cost %v, want %v", cost, want)
	}
	b.want(cli.ExitFailed, args...).has(t, "research[prices]/gather", "not accepted (invalid_output)", "recorded", "replayed", "7 of 8")
	b.unchanged(before)

	b.want(cli.ExitUsage, "replay", run, "--worker", "aggregator").has(t, "asks no model")
	b.want(cli.ExitUsage, "replay", run).has(t, "name a worker")
	b.want(cli.ExitUsage, "replay", run, "--worker", "researcher", "--prompt", "none.md").has(t, "reading the prompt")
}

// R8: tool calls of a replay get the recorded answers, and nothing is refunded again.
func TestReplayWithTools(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.conversations()
	refunds, before := b.records("refunds"), b.everything()
	for _, run := range list(t, b.want(0, "runs", "support-agent", "-o", "json").out) {
		b.want(0, "replay", run["id"].(string), "--worker", "support-agent").has(t, "done again, nothing was done")
	}
	b.unchanged(before)
	if after := b.records("refunds"); after != refunds {
		t.Errorf("%d refunds after the replays, %d before", after, refunds)
	}
}
