package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

const waitingMachine = `{"StartAt":"ask","States":{"ask":{"Type":"Task",
	"Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","TimeoutSeconds":86400,
	"Parameters":{"QueueUrl":"https://queue.local/nobody","MessageBody":{"run.$":"$.run","token.$":"$$.Task.Token"}},"End":true}}}`

// backlog measures a lone W1 run and the opening of the state file with many
// waiting executions in it, against a file without.
func backlog(ctx context.Context, dir string, o options) error {
	empty, full := filepath.Join(dir, "empty"), filepath.Join(dir, "full")
	for _, d := range []string{empty, full} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := populate(ctx, filepath.Join(full, "state.db"), o.backlog); err != nil {
		return err
	}
	var p50, opening [2]float64
	for i, d := range []string{empty, full} {
		began := time.Now()
		b, err := open(ctx, d)
		if err != nil {
			return err
		}
		opening[i] = ms(time.Since(began))
		took, err := b.alone(ctx, w1, o.lone)
		if err = errors.Join(err, b.engine.Close()); err != nil {
			return err
		}
		p50[i] = percentile(took, 50)
	}
	fmt.Printf("with %d waiting executions: W1 p50 %.2f ms (without: %.2f), opening %.1f ms (without: %.1f)\n",
		o.backlog, p50[1], p50[0], opening[1], opening[0])
	return nil
}

// populate makes a state file with executions that wait for an answer.
func populate(ctx context.Context, path string, n int) (err error) {
	db, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	core, err := durable.New(durable.Config{Store: db, Blobs: db.Relaxed(), Clock: time.Now})
	if err != nil {
		return err
	}
	hash, err := core.Publish(ctx, []byte(waitingMachine))
	if err != nil {
		return err
	}
	for i := range n {
		name := fmt.Sprintf("waiting-%06d", i)
		_, err := core.Start(ctx, durable.StartRequest{
			Name: name, Machine: hash, MachineName: "waiting", Input: json.RawMessage(`{"run":"` + name + `"}`),
		})
		if err != nil {
			return err
		}
	}
	return nil
}
