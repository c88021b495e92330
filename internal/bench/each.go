package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// w3 is the loop of one list with a step for each of its items.
const w3 = "w3"

const listerFile = `worker: lister
version: 1
owner: all
objective: As many items as the document counts.
kind: go
input: schemas/document.json
output: schemas/list.json
reads: []
writes: []
tools: {}
authority: recommend
risk: low
success: {metric: none, at_least: 100%}
fails_with: [timeout, fatal]
dispatch: {mode: direct, timeout: 60s}
`

const listSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["items"],
  "additionalProperties": false,
  "properties": {
    "items": {"type": "array", "maxItems": 50000, "items": {
      "type": "object",
      "required": ["id", "count", "tags", "text"],
      "additionalProperties": false,
      "properties": {
        "id": {"type": "string", "maxLength": 100},
        "count": {"type": "integer"},
        "tags": {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 40}},
        "text": {"type": "string", "maxLength": 2000}
      }
    }}
  }
}
`

func loopW3() string {
	return fmt.Sprintf(loopHead, w3) + "  list:\n    worker: lister\n    input: " + document("input") + `
  work:
    each: list.items
    as: thing
    key: ${thing.id}
    max_items: 50000
    at_once: 40
    output: {id: "${do.id}"}
    join: {need: all, otherwise: halt}
    steps:
      ` + step("do", document("thing"), "      ") + "\n"
}

type list struct {
	Items []paper `json:"items"`
}

func lister(_ context.Context, t worker.Task[paper]) (worker.Result[list], error) {
	out := list{Items: make([]paper, t.Input.Count)}
	for i := range out.Items {
		out.Items[i] = paper{ID: fmt.Sprintf("%05d", i), Tags: []string{}, Text: "item of " + t.Input.ID}
	}
	return worker.Result[list]{Output: out, Confidence: worker.High, Reason: "counted"}, nil
}

// listed are the figures of one run with a step for each of many items.
type listed struct {
	Items     int     `json:"each_items"`
	Seconds   float64 `json:"each_s"`
	Processor float64 `json:"each_processor_s"`
	RSS       float64 `json:"each_rss_mb"`
}

// each measures one run with a step for each of n items.
func each(ctx context.Context, dir string, n int) (f listed, err error) {
	err = write(dir, map[string]string{
		"statemachines/" + w3 + ".loop.yaml":             loopW3(),
		"functions/workers/lister/charter.yaml":          listerFile,
		"functions/workers/lister/schemas/document.json": schemaFile,
		"functions/workers/lister/schemas/list.json":     listSchema,
	})
	if err != nil {
		return f, err
	}
	b, err := open(ctx, dir)
	if err != nil {
		return f, err
	}
	began, used := time.Now(), cpu()
	if err := errors.Join(b.list(ctx, n), b.engine.Close()); err != nil {
		return f, err
	}
	f = listed{Items: n, Seconds: round(time.Since(began).Seconds()), Processor: round((cpu() - used).Seconds())}
	f.RSS, err = peak()
	return f, err
}

func (f listed) show() {
	fmt.Printf("each of %d items: %.1f s, processor time %.1f s, peak memory %.0f MB\n", f.Items, f.Seconds, f.Processor, f.RSS)
}

// list does the run and reads it back.
func (b *bench) list(ctx context.Context, n int) error {
	started, err := b.start(ctx, w3, n)
	if err != nil {
		return err
	}
	if _, err := b.engine.RunUntilIdle(ctx); err != nil {
		return err
	}
	view, err := b.engine.Coordinator().Show(ctx, started.Run)
	if err != nil {
		return err
	}
	if view.Status != outerloop.StatusCompleted {
		return fmt.Errorf("run %s is %s", started.Run, view.Status)
	}
	return nil
}
