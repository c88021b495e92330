package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/transfer"
)

// deployment names the two places of a deployment's state, and the file of
// connected stacks.
type deployment struct {
	Table, Bucket, Prefix string
	Region, Endpoint      string
	Stack, File           string
}

// config is the AWS configuration that is meant.
func (d deployment) config(ctx context.Context) (aws.Config, error) {
	var options []func(*config.LoadOptions) error
	if d.Region != "" {
		options = append(options, config.WithRegion(d.Region))
	}
	if d.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(d.Endpoint))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return cfg, errors.New("no AWS region is configured: set AWS_REGION or give --region")
	}
	return cfg, nil
}

// open makes the clients; nothing is asked of AWS yet.
func (d deployment) open(ctx context.Context) (transfer.Source, error) {
	cfg, err := d.config(ctx)
	if err != nil {
		return transfer.Source{}, err
	}
	client := dynamodb.NewFromConfig(cfg)
	objects := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = d.Endpoint != "" })
	with := dynamostore.Config{
		Client: client, Table: d.Table, Objects: objects, Bucket: d.Bucket, Prefix: d.Prefix, Patience: time.Minute,
	}
	return source(client, with)
}

func source(scan dynamostore.ScanClient, with dynamostore.Config) (transfer.Source, error) {
	s, err := dynamostore.New(with)
	if err != nil {
		return transfer.Source{}, err
	}
	scanner, err := dynamostore.NewScanner(scan, with)
	return transfer.Source{Store: s, Scan: scanner, Blobs: s, Now: time.Now}, err
}

func exportTo(ctx context.Context, d deployment, args []string, out io.Writer) error {
	if _, err := os.Lstat(args[0]); err == nil {
		return fmt.Errorf("%s exists already", args[0])
	}
	src, err := d.open(ctx)
	if err != nil {
		return err
	}
	part := args[0] + ".part"
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, counts, err := transfer.Export(ctx, transfer.Exporting{
		Source: src, ID: rand.Text(), From: "table " + d.Table, To: filepath.Base(args[0]),
	}, file)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(part), sealedStill(ctx, src))
	}
	if err := os.Rename(part, args[0]); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: runs %d (open %d), actions %d, waiting for a person %d\n", args[0], counts.Runs, counts.Open, counts.Actions, counts.Waiting)
	if counts.Executing > 0 {
		fmt.Fprintf(out, "executing %d: exporting again in a minute under another name may know what became of them\n", counts.Executing)
	}
	return nil
}

// sealedStill says of an export that failed that the deployment is closed already.
func sealedStill(ctx context.Context, src transfer.Source) error {
	seal, err := transfer.Sealed(context.WithoutCancel(ctx), src.Store)
	if err != nil || seal == nil {
		return nil //nolint:nilerr // the first error says why
	}
	return errors.New("nothing moves in the deployment until the same command has written the file, or: outerloop-aws take-back")
}

func importFrom(ctx context.Context, d deployment, args []string, out io.Writer) (err error) {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	src, err := d.open(ctx)
	if err != nil {
		return err
	}
	got, err := transfer.Import(ctx, transfer.Destination{Store: src.Store, Blobs: src.Blobs, Now: src.Now}, file)
	if err != nil {
		return err
	}
	if got.Already {
		fmt.Fprintf(out, "%s was imported before; nothing to do\n", args[0])
		return nil
	}
	c := got.Counts
	fmt.Fprintf(out, "runs %d, actions %d, waiting for a person %d\n", c.Runs, c.Actions, c.Waiting)
	for _, run := range got.Open {
		fmt.Fprintf(out, "  %s goes on there\n", run)
	}
	return nil
}

func takeBack(ctx context.Context, d deployment, _ []string, out io.Writer) error {
	src, err := d.open(ctx)
	if err != nil {
		return err
	}
	open, err := transfer.TakeBack(ctx, src)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "taken back: runs that go on there again %d\n", len(open))
	return nil
}
