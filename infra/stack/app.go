package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// App makes an app's one stack, Outerloop-<project>, with its outputs, and
// checks it with cdk-nag (AwsSolutions): what it finds is an error of the
// synthesis. Account and Region are those of whoever deploys. Errors as New's.
func App(app awscdk.App, p Props) (awscdk.Stack, error) {
	p, err := p.checked()
	if err != nil {
		return nil, err
	}
	name := p.Project.Registry.Name
	made := awscdk.NewStack(app, str("Outerloop-"+name), &awscdk.StackProps{
		Description: str("outerloop of " + name + ": loops, workers, shared state"),
		// Deleting it stops all loops.
		TerminationProtection: jsii.Bool(!p.Deletable),
	})
	deployment, err := New(made, "Loops", p)
	if err != nil {
		return nil, err
	}
	deployment.(interface{ outputs(awscdk.Stack) }).outputs(made)
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{}), nil)
	return made, nil
}
