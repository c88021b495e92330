// Command outerloop-aws moves the shared state of a deployment on AWS: it writes
// its table and bucket into the file that `outerloop import` reads, and reads
// what `outerloop export` wrote. It is for administrators and apart from
// outerloop, which never touches a table.
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

const usage = `Moves the shared state of a deployment on AWS.

  outerloop-aws export FILE --table TABLE --bucket BUCKET     out of the deployment
  outerloop-aws import FILE --table TABLE --bucket BUCKET     into the deployment
  outerloop-aws take-back --table TABLE --bucket BUCKET       the file was imported nowhere

Stop what triggers runs before an export. Open runs go on at the other side; after an
import the deployment's watch starts them within a minute. The caller needs
dynamodb:Scan on the table besides what the coordinator's role has, and s3:ListBucket.

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
	flags.StringVar(&d.Table, "table", "", "the deployment's `TABLE` (required)")
	flags.StringVar(&d.Bucket, "bucket", "", "the deployment's `BUCKET` (required)")
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
		do    func(context.Context, deployment, []string, io.Writer) error
	}{
		"export": {2, exportTo}, "import": {2, importFrom}, "take-back": {1, takeBack},
	}
	known := false
	if len(words) > 0 {
		command, found := commands[words[0]]
		known = found && len(words) == command.words
	}
	if !known || d.Table == "" || d.Bucket == "" {
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
