package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/sweep"
)

const (
	// blobKeep is how long a blob is kept after it was last put, whether or not
	// anything refers to it.
	blobKeep = 30 * 24 * time.Hour
	// prunedAtOnce bounds what one call removes.
	prunedAtOnce = 1000
)

// prune removes blobs that no item refers to.
func prune(ctx context.Context, d deployment, _ []string, out io.Writer) error {
	sweeper, err := d.sweeper(ctx)
	if err != nil {
		return err
	}
	return pruneBefore(ctx, sweeper, time.Now().Add(-blobKeep), out)
}

func (d deployment) sweeper(ctx context.Context) (*dynamostore.Sweeper, error) {
	cfg, err := d.config(ctx)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(cfg)
	objects := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = d.Endpoint != "" })
	return dynamostore.NewSweeper(client, objects, dynamostore.Config{
		Client: client, Table: d.Table, Bucket: d.Bucket, Prefix: d.Prefix, Patience: time.Minute,
	})
}

// pruneBefore removes those that were last put before a time.
func pruneBefore(ctx context.Context, from sweep.Source, before time.Time, out io.Writer) error {
	removed, err := sweep.Blobs(ctx, from, before, prunedAtOnce)
	fmt.Fprintf(out, "%d blobs removed that nothing refers to\n", removed)
	if err == nil && removed == prunedAtOnce {
		fmt.Fprintf(out, "there may be more: outerloop-aws prune\n")
	}
	return err
}
