// Command outerloop-aws is what an administrator of a deployment on AWS needs
// beside outerloop, which knows Lambda only: it connects a project with a
// deployed stack, so that `outerloop --target aws` finds it, it moves the
// shared state: into the file that `outerloop import` reads, and out of what
// `outerloop export` wrote, and it removes old blobs.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `Connects a project with a deployment on AWS, moves its shared state, and tidies its bucket.

  outerloop-aws connect STACK                                 so that outerloop --target aws finds it
  outerloop-aws export FILE [--table TABLE --bucket BUCKET]   out of the deployment
  outerloop-aws import FILE [--table TABLE --bucket BUCKET]   into the deployment
  outerloop-aws take-back [--table TABLE --bucket BUCKET]     the file was imported nowhere
  outerloop-aws prune [--table TABLE --bucket BUCKET]         blobs that nothing refers to any more

connect reads the stack's outputs (cloudformation:DescribeStacks) and writes the names,
no secrets, into .outerloop/aws.json of the project. Several stacks may stand there; the
one connected last is meant where --stack names none. Table and bucket are the connected
stack's where they are not given.

Stop what triggers runs before an export. Open runs go on at the other side; after an
import the deployment's watch starts them within a minute. The caller needs
dynamodb:Scan on the table besides what the coordinator's role has, and s3:ListBucket.

prune removes at most 1,000 blobs that were last put 30 days ago or earlier and that no record
in the table refers to; run it again for more. It reads the whole table twice. The caller needs
s3:DeleteObject (in a bucket with versions s3:DeleteObjectVersion) too; give the bucket versions,
so that a blob that is put again in the moment of its removal stays.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit codes: done, the work failed, the command line is not valid.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// run does one command and answers its exit code.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	var d deployment
	flags := flag.NewFlagSet("outerloop-aws", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&d.Table, "table", "", "the deployment's `TABLE`")
	flags.StringVar(&d.Bucket, "bucket", "", "the deployment's `BUCKET`")
	flags.StringVar(&d.Stack, "stack", "", "the connected `STACK` whose table and bucket are meant (default: the one connected last)")
	flags.StringVar(&d.File, "config", defaultFile(), "the `FILE` of connected stacks")
	flags.StringVar(&d.Prefix, "prefix", "", "`PREFIX` of the names of objects in the bucket")
	flags.StringVar(&d.Region, "region", "", "`REGION` (default: the environment's)")
	flags.StringVar(&d.Endpoint, "endpoint", "", "`URL` of another DynamoDB and S3, such as an emulator")
	flags.Usage = func() {
		fmt.Fprint(errOut, usage)
		flags.PrintDefaults()
	}
	words, err := split(flags, args)
	if err != nil {
		return exitUsage // flag has said why
	}
	commands := map[string]struct {
		words int
		// state: it works on table and bucket.
		state bool
		do    func(context.Context, deployment, []string, io.Writer) error
	}{
		"connect": {2, false, connect}, "export": {2, true, exportTo}, "import": {2, true, importFrom}, "take-back": {1, true, takeBack},
		"prune": {1, true, prune},
	}
	known := false
	if len(words) > 0 {
		command, found := commands[words[0]]
		known = found && len(words) == command.words
		if command.state {
			d = d.connected()
			known = known && d.Table != "" && d.Bucket != ""
		}
	}
	if !known {
		flags.Usage()
		return exitUsage
	}
	if err := commands[words[0]].do(ctx, d, words[1:], out); err != nil {
		fmt.Fprintf(errOut, "outerloop-aws: %v\n", err)
		return exitFailed
	}
	return exitDone
}

// split lets flags stand before, between and after the words.
func split(flags *flag.FlagSet, args []string) ([]string, error) {
	var words []string
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return words, nil
		}
		words, args = append(words, flags.Arg(0)), flags.Args()[1:]
	}
}
