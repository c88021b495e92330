// Package app is the CDK app that puts a project into an AWS account, for the
// main of a project's own infra folder:
//
//	func main() { app.Main() }
//
// Its options are the CDK's context (cdk.json, or -c KEY=VALUE); the project is
// the directory above, unless `project` names another.
package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/outerloop-dev/outerloop/infra/bundle"
	"github.com/outerloop-dev/outerloop/infra/stack"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// Main reads the project, builds its functions and synthesises. What is wrong
// goes to standard error, and the process ends with 1.
func Main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "infra: %v\n", err)
		os.Exit(1)
	}
}

// run reads the project and the context, builds the functions, and synthesises.
func run(ctx context.Context) error {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	props, err := options(app)
	if err != nil {
		return err
	}
	packages, err := stack.Packages(props)
	if err != nil {
		return err
	}
	builder := bundle.Builder{Root: props.Root, Out: filepath.Join(props.Work, "functions"), Arch: props.Architecture, Log: os.Stderr}
	if builder.Largest, err = (settings{app}).number("largestZip"); err != nil {
		return err
	}
	if props.Zips, err = builder.Build(ctx, packages...); err != nil {
		return err
	}
	if _, err := stack.App(app, props); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}

// options are the context's: cdk.json, or -c KEY=VALUE.
func options(app awscdk.App) (stack.Props, error) {
	c := settings{app}
	root, err := filepath.Abs(c.text("project", ".."))
	if err != nil {
		return stack.Props{}, err
	}
	read, problems := project.Open(root)
	if err := problems.Err(); err != nil {
		return stack.Props{}, fmt.Errorf("the project has errors (outerloop validate): %w", err)
	}
	p := stack.Props{
		Project: read, Root: root, Work: filepath.Join(root, "build", "infra"),
		Loops: strings.FieldsFunc(c.text("loops", ""), func(r rune) bool { return r == ',' || r == ' ' }),
		Table: c.text("table", ""), Bucket: c.text("bucket", ""), Secrets: c.text("secrets", ""),
		Architecture: bundle.Arch(c.text("architecture", string(bundle.ARM64))), NoTracing: c.text("tracing", "on") == "off",
		Deletable: c.text("deletable", "no") == "yes",
	}
	for key, to := range map[string]*int{"accountConcurrency": &p.AccountConcurrency, "workerConcurrency": &p.WorkerConcurrency, "logDays": &p.LogDays} {
		if *to, err = c.number(key); err != nil {
			return p, err
		}
	}
	return p, nil
}

// settings reads the context, whose values are JSON in cdk.json and texts on
// the command line.
type settings struct{ app awscdk.App }

func (s settings) text(key, otherwise string) string {
	if value := s.app.Node().TryGetContext(jsii.String(key)); value != nil && value != "" {
		return fmt.Sprint(value)
	}
	return otherwise
}

func (s settings) number(key string) (int, error) {
	text := s.text(key, "0")
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("context %s: %q is no whole number", key, text)
	}
	return n, nil
}
