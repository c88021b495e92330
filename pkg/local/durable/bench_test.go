package durable_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// BenchmarkChain is the core's share of a run of four calls: no gate, a sync at
// each effect.
func BenchmarkChain(b *testing.B) {
	store, err := sqlitestore.Open(filepath.Join(b.TempDir(), "state.db"), sqlitestore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	core, err := durable.New(durable.Config{Store: store, Blobs: store.Relaxed(), Clock: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	var states []string
	for i := range 4 {
		next := `"End":true`
		if i < 3 {
			next = fmt.Sprintf(`"Next":"s%d"`, i+1)
		}
		states = append(states, fmt.Sprintf(`"s%d":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke",
			"Parameters":{"FunctionName":"f","Payload":{"run.$":"$.run","step":"s%d"}},"ResultSelector":{"o.$":"$.Payload"},
			"ResultPath":"$.o","TimeoutSeconds":60,"Retry":[{"ErrorEquals":["A"],"MaxAttempts":3}],
			"Catch":[{"ErrorEquals":["States.ALL"],"ResultPath":"$.o","Next":"s%d"}],%s}`, i, i, i, next))
	}
	hash, err := core.Publish(b.Context(), []byte(`{"StartAt":"s0","States":{`+strings.Join(states, ",")+`}}`))
	if err != nil {
		b.Fatal(err)
	}
	note := json.RawMessage(`{"outcome":"completed","label":null,"until":null,"items":null}`)
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprintf("run-%d", i)
		_, err := core.Start(b.Context(), durable.StartRequest{Name: name, Machine: hash, MachineName: "m", Input: json.RawMessage(`{"run":"` + name + `"}`)})
		if err != nil {
			b.Fatal(err)
		}
		for calls := core.Calls(); len(calls) > 0; calls = core.Calls() {
			if err := store.Sync(b.Context()); err != nil {
				b.Fatal(err)
			}
			if err := core.Answer(b.Context(), calls[0], durable.Result{Output: note}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(store.Stats().Syncs)/float64(b.N), "syncs/op")
}
