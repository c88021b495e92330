package project

import (
	"fmt"
	"maps"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/source"
)

const (
	// mostTime and mostMemory bound what one hostile file may cost.
	mostTime   = time.Second
	mostMemory = 200 << 20
)

const loopTop = "loop: good\nversion: 1\nowner: ops\nobjective: Hostile.\nsubject: ${input.name}\n" +
	"input: {type: object, properties: {name: {type: string}}, required: [name], additionalProperties: false}\n" +
	"budget: {cost: 0.10 USD, deadline: 1h}\ndefaults: {on_failure: {then: halt}}\n"

// fill repeats a text with a number until the file is as large as may be.
func fill(top, format string) string {
	var b strings.Builder
	b.WriteString(top)
	for i := 0; b.Len() < source.MaxBytes-2*len(format)-64; i++ {
		fmt.Fprintf(&b, strings.ReplaceAll(format, "N", "%[1]d"), i)
	}
	return b.String()
}

// hostile are files that are made to take long or much.
func hostile() map[string]string {
	bomb := "a0: &a0 [x, x]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1)
	}
	chain := loopTop + "steps:\n  s0: {worker: writer, input: {name: \"${input.name}\"}}\n"
	for i := 1; len(chain) < 200<<10; i++ {
		chain += fmt.Sprintf("  s%d: {worker: writer, input: {name: \"${s%d.text}\"}}\n", i, i-1)
	}
	nested := loopTop + "steps:\n"
	for i := range 20 {
		nested += strings.Repeat("    ", i) + fmt.Sprintf("  e%d:\n", i) + strings.Repeat("    ", i) +
			fmt.Sprintf("    {each: input.list, as: i%d, key: x, max_items: 9, join: {need: all, otherwise: halt}, steps:\n", i)
	}
	rule := func(text string) string {
		return loopTop + "steps:\n  s: {worker: writer, input: {name: \"${input.name}\"}, when: '" + text + "'}\n"
	}
	return map[string]string{
		"alias bomb":            bomb,
		"200,000 brackets":      strings.Repeat("[", 200_000),
		"braces":                strings.Repeat("{a: ", 50_000),
		"dashes":                strings.Repeat("- ", 100_000),
		"a million keys":        strings.Repeat("k: v\n", 1_000_000),
		"many unknown keys":     fill(loopTop, "keyN: v\n"),
		"one huge text":         loopTop + "steps: " + strings.Repeat("x", 250_000),
		"a file of 64 MB":       strings.Repeat("x", 64<<20),
		"steps in a chain":      chain,
		"steps of nothing":      fill(loopTop+"steps:\n", "  sN: {worker: writer}\n"),
		"steps that read badly": fill(loopTop+"steps:\n", "  sN: {worker: writer, input: {name: \"${zN.text}\"}}\n"),
		"unknown workers":       fill(loopTop+"steps:\n", "  sN: {worker: writerN, input: {}}\n"),
		"all after all":         fill(loopTop+"steps:\n", "  sN: {worker: writer, after: [s1, s2, s3], input: {name: \"${input.name}\"}}\n"),
		"one step reads all":    fill(loopTop+"steps:\n", "  sN: {worker: writer, input: {name: \"${input.name}\"}, when: s0.text == s1.text}\n"),
		"nested blocks":         nested,
		"a long rule":           rule(strings.Repeat("input.name == \"x\" || ", 10_000) + "true"),
		"a deep rule":           rule(strings.Repeat("(", 50_000) + "true" + strings.Repeat(")", 50_000)),
		"a rule of negations":   rule(strings.Repeat("!", 100_000) + "true"),
		"a rule of lists":       rule(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + ".size() > 0"),
		"a long template":       loopTop + "steps:\n  s: {worker: writer, input: {name: \"" + strings.Repeat("${input.name}", 15_000) + "\"}}\n",
		"open templates":        loopTop + "steps:\n  s: {worker: writer, input: {name: \"" + strings.Repeat("${", 100_000) + "\"}}\n",
		"many inline schemas":   fill("loop: good\nversion: 1\ninput:\n  type: object\n  properties:\n", "    pN: {type: array, items: {type: object, properties: {a: {type: string}}}}\n"),
		"tags and anchors":      fill(loopTop+"x:\n", "  - !tagN &aN v\n"),
		"only comments":         fill("", "# N\n"),
		"empty":                 "", "a BOM": "\uFEFF", "carriage returns": strings.ReplaceAll(loopTop, "\n", "\r\n"), "a zero": "loop: a\x00b", "not UTF-8": "loop: \xff\xfe",
	}
}

// Whatever stands in a file of a project, reading and checking the project ends
// within a second and 200 MB, without a panic.
func TestHostileProjectsEndQuickly(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	base := baseFiles(t)
	for name, text := range hostile() {
		for _, path := range []string{LoopDir + "/good" + LoopSuffix, File, WorkerDir + "/writer/" + CharterFile, LoopDir + "/schemas/hostile.json"} {
			t.Run(name+" in "+path, func(t *testing.T) {
				files := maps.Clone(base)
				if strings.HasSuffix(path, ".json") {
					files[LoopDir+"/good"+LoopSuffix] = strings.Replace(base[LoopDir+"/good"+LoopSuffix], "input: ", "input: schemas/hostile.json #", 1)
				}
				files[path] = text
				cheap(t, func() { _, _ = Load(files) })
			})
		}
	}
}

// cheap demands that work stays within the bounds; a machine that is busy with
// other things gets a second and a third try.
func cheap(t *testing.T, work func()) {
	t.Helper()
	var took time.Duration
	for range 3 {
		runtime.GC()
		start := time.Now()
		if held := peak(work); held > mostMemory {
			t.Errorf("%d MB were held", held>>20)
			return
		}
		if took = time.Since(start); took < mostTime {
			return
		}
	}
	t.Errorf("took %s", took.Round(time.Millisecond))
}

// peak is about how much of the heap work held more than there was before,
// garbage included.
func peak(work func()) uint64 {
	held := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before, most := held(), uint64(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		most = max(most, held())
		select {
		case <-done:
			return max(most, before) - before
		case <-tick.C:
		}
	}
}
