package compile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// stateLimit is the most that the data of a state may take, in bytes.
const stateLimit = 2048

// block is a loop with one block over the items of its first step.
func block(t *testing.T, most, atOnce int, then, mode string) *asl.Machine {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../project/testdata/base")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "statemachines", "good.loop.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "steps:")
	text = fmt.Appendf(nil, `%ssteps:
  scan: {worker: scanner, input: {file: "${input.file}"}}
  work:
    each: scan.items
    as: thing
    key: ${thing.id}
    max_items: %d
    at_once: %d
    output: {total: "${look.total}"}
    join: {need: all, otherwise: halt}
    steps:
      look: {worker: scanner, input: {file: "${thing.id}"}, on_failure: {retry: 1, then: %s}}
output: {total: "${scan.total}"}
`, head, most, atOnce, then)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	charter := filepath.Join(dir, "functions", "workers", "scanner", "charter.yaml")
	if text, err = os.ReadFile(charter); err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "dispatch: {timeout", "dispatch: {mode: "+mode+", timeout", 1))
	if err := os.WriteFile(charter, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p, problems := project.Open(dir)
	def, ok := p.Loop("good")
	if !ok {
		t.Fatal(problems)
	}
	machine, err := compile.Compile(def)
	if err != nil {
		t.Fatal(err)
	}
	m, err := asl.Load(machine)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// driver answers the tasks of a machine and of its Maps' children, the oldest
// first, and counts.
type driver struct {
	*testing.T
	count int // of items
	first int // index
	now   time.Time
	open  []func() // tasks under way
	// items are the addresses of the items that were done; most is how many
	// tasks were under way at one time, children how many executions.
	items    []string
	most     int
	children int
	ended    bool
}

func (d *driver) run(m *asl.Machine) {
	d.now = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	d.start(m, json.RawMessage(`{"run":"good-0123456789abcdef0123456789abcdef","gen":1,"item":"","o":null}`), func(asl.End) { d.ended = true })
	for len(d.open) > 0 {
		d.most = max(d.most, len(d.open))
		first := d.open[0]
		d.open = d.open[1:]
		first()
	}
}

func (d *driver) start(m *asl.Machine, input json.RawMessage, ended func(asl.End)) {
	d.children++
	x := asl.New(m)
	d.apply(x, asl.Event{Kind: asl.Start, Start: &asl.StartDetails{Input: input, Name: "x"}}, ended)
}

func (d *driver) apply(x *asl.Execution, event asl.Event, ended func(asl.End)) {
	event.Time = d.now
	step, err := x.Apply(event)
	if err != nil {
		d.Fatal(err)
	}
	for _, h := range step.History {
		if h.Details != nil && h.Details.Name != "" && max(len(h.Details.Input), len(h.Details.Output)) > stateLimit {
			d.Errorf("%s of %s has %d bytes of data", h.Type, h.Details.Name, max(len(h.Details.Input), len(h.Details.Output)))
		}
	}
	for _, effect := range step.Effects {
		switch e := effect.(type) {
		case asl.ScheduleTask:
			d.open = append(d.open, func() {
				d.apply(x, asl.Event{Kind: asl.TaskSucceeded, Task: e.Task, Output: d.answer(e.Input)}, ended)
			})
		case asl.StartChild:
			d.start(e.Machine, e.Input, func(end asl.End) {
				d.apply(x, asl.Event{Kind: asl.ChildEnded, Child: e.Child, Status: end.Status, Output: end.Output}, ended)
			})
		case asl.End:
			if e.Status != asl.Succeeded {
				d.Fatalf("%s: %v", e.Status, e.Cause)
			}
			ended(e)
		}
	}
}

// answer is what the coordinator and the workers answer.
func (d *driver) answer(input json.RawMessage) json.RawMessage {
	var request struct {
		Payload     *message
		MessageBody *message
	}
	if err := json.Unmarshal(input, &request); err != nil {
		d.Fatal(err)
	}
	queued := request.Payload == nil
	m := request.Payload
	if queued {
		m = request.MessageBody
	}
	if m.Step == "work/look" {
		d.items = append(d.items, m.Item)
	}
	note := map[string]any{"outcome": "completed", "label": nil, "until": nil, "items": nil}
	if m.Next != nil {
		note["items"] = d.list(m.Next.Pages)
	}
	var out any = map[string]any{"Payload": note}
	if queued {
		out = note
	}
	text, err := json.Marshal(out)
	if err != nil {
		d.Fatal(err)
	}
	return text
}

type message struct {
	Step, Item string
	Next       *struct{ Pages []int }
}

// list are the indexes of all items, or their ranges.
func (d *driver) list(pages []int) any {
	if len(pages) == 0 {
		all := make([]int, d.count)
		for i := range all {
			all[i] = d.first + i
		}
		return all
	}
	ranges := [][]int{}
	for from := 0; from < d.count; from += pages[0] {
		ranges = append(ranges, []int{d.first + from, d.first + min(from+pages[0], d.count) - 1})
	}
	return ranges
}

// Every item of a block is done once, whatever the levels of its Maps, and no
// state has more than 2 KB of data. Where nothing in the block waits for a
// person or a queue, the Maps let no more items in than at_once, or, where pages
// run side by side, a page more: what is not let in asks for no turn in vain.
func TestBlocksOverItems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		most, atOnce int
		then, mode   string
		counts       []int
		under        int // 0: as many as there are
	}{
		{30, 4, "halt", "direct", []int{0, 1, 30}, 4},
		{200, 40, "halt", "direct", []int{1, 199, 200}, 40},
		{10_000, 40, "halt", "direct", []int{40, 251, 4000}, 40},
		{100_000, 7, "halt", "direct", []int{1, 999, 1001, 2750}, 7},
		{100_000, 100, "halt", "direct", []int{39, 2041}, 160},
		{4000, 100, "halt", "direct", []int{2001}, 160},
		{10_000, 40, "ask", "direct", []int{401}, 0},
		{100_000, 40, "halt", "queue", []int{1081}, 0},
	} {
		for _, count := range c.counts {
			t.Run(fmt.Sprintf("%d of %d, %d at once, %s, %s", count, c.most, c.atOnce, c.then, c.mode), func(t *testing.T) {
				t.Parallel()
				d := &driver{T: t, count: count, first: c.most - count} // the longest numbers
				d.run(block(t, c.most, c.atOnce, c.then, c.mode))
				want := make([]string, count)
				for i := range want {
					want[i] = fmt.Sprintf("%d.", d.first+i)
				}
				slices.Sort(want)
				slices.Sort(d.items)
				if !d.ended || !slices.Equal(d.items, want) {
					t.Errorf("ended: %t; %d items were done, %d are there", d.ended, len(d.items), count)
				}
				under := c.under
				if under == 0 {
					under = count
				}
				if under = min(under, max(count, 1)); d.most != under {
					t.Errorf("%d tasks were under way at one time, not %d", d.most, under)
				}
			})
		}
	}
}
