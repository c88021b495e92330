package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/outerloop-dev/outerloop/pkg/console/stack"
)

// The outputs of a deployed stack that are read.
const (
	outConsole     = "ConsoleFunction"
	outTable       = "TableName"
	outBucket      = "BucketName"
	outConcurrency = "Concurrency"
)

// blobPrefix is where a deployed stack keeps blobs in its bucket.
const blobPrefix = "blobs/"

// connect reads the outputs of a deployed stack once and writes the names down,
// so that outerloop need not ask CloudFormation.
func connect(ctx context.Context, d deployment, args []string, out io.Writer) error {
	cfg, err := d.config(ctx)
	if err != nil {
		return err
	}
	s, err := outputs(ctx, cloudformation.NewFromConfig(cfg), args[0])
	if err != nil {
		return err
	}
	s.Region, s.Profile, s.Endpoint = cfg.Region, os.Getenv("AWS_PROFILE"), d.Endpoint
	if err := stack.Add(d.File, args[0], s); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: stack %s in %s, console %s\n", d.File, args[0], cfg.Region, s.Console)
	fmt.Fprintf(out, "outerloop doctor --target aws   looks at it\n")
	return nil
}

// errNotOurs says that a stack is none of outerloop's, or not whole.
var errNotOurs = errors.New("the stack does not name a console's function")

func outputs(ctx context.Context, client cloudformation.DescribeStacksAPIClient, name string) (stack.Stack, error) {
	found, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		return stack.Stack{}, fmt.Errorf("reading the outputs of %s: %w", name, err)
	}
	values := map[string]string{}
	for _, s := range found.Stacks {
		for _, o := range s.Outputs {
			values[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
	}
	s := stack.Stack{Console: values[outConsole], Table: values[outTable], Bucket: values[outBucket], Prefix: blobPrefix}
	if s.Console == "" {
		return s, fmt.Errorf("%w: %s has no output %s; deploy it first: cdk deploy %s", errNotOurs, name, outConsole, name)
	}
	if text, ok := values[outConcurrency]; ok {
		if s.Concurrency, err = strconv.Atoi(text); err != nil {
			return s, fmt.Errorf("reading the output %s of %s: %w", outConcurrency, name, err)
		}
	}
	return s, nil
}

// connected is the deployment with table and bucket of a known stack where the
// command line names none.
func (d deployment) connected() deployment {
	f, err := stack.Read(d.File)
	if err != nil || d.Table != "" || d.Bucket != "" {
		return d
	}
	if _, s, err := f.Find(d.Stack); err == nil {
		d.Table, d.Bucket = s.Table, s.Bucket
		if d.Prefix == "" {
			d.Prefix = s.Prefix
		}
		if d.Region == "" {
			d.Region = s.Region
		}
		if d.Endpoint == "" {
			d.Endpoint = s.Endpoint
		}
	}
	return d
}

// defaultFile is where the deployments of the project in the working directory,
// or above it, are written down.
func defaultFile() string {
	dir, err := os.Getwd()
	if err != nil {
		return stack.Default
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "outerloop.yaml")); err == nil {
			return filepath.Join(at, filepath.FromSlash(stack.Default))
		}
		if at == filepath.Dir(at) {
			return filepath.Join(dir, filepath.FromSlash(stack.Default))
		}
	}
}
