package stack

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/constructs-go/constructs/v10"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// released is a loop's machine, and the version of it that new runs pin.
type released struct {
	machine
	Stack  awscdk.NestedStack
	Latest awscdk.CustomResource
}

// loop deploys a loop in the order that is safe: the definition is published,
// then the machine made or changed, then a version of it named as what new runs
// pin. The machine is a nested stack; what publish does stands beside it.
func (d *deployment) loop(m machine, workers map[string]deployed) (released, error) {
	bundle, err := d.asset(d.scope, "Bundle"+camel(m.Name), m.Hash+".json", m.Bundle)
	if err != nil {
		return released{}, fmt.Errorf("keeping the bundle of %s: %w", m.Name, err)
	}
	definition := d.published(d.scope, "Definition"+camel(m.Name), "definition", map[string]any{
		"Loop": m.Name, "Hash": m.Hash, "Bundle": place(bundle),
	})
	definition.Node().AddDependency(d.listed)

	nested := awscdk.NewNestedStack(d.scope, str("Loop"+camel(m.Name)), &awscdk.NestedStackProps{Description: str(short("Loop "+m.Name+": "+m.Loop.Objective, 500))})
	nested.Node().AddDependency(definition)
	made := awsstepfunctions.NewStateMachine(nested, str("Machine"), &awsstepfunctions.StateMachineProps{
		StateMachineName: str(d.name(m.Name)), StateMachineType: awsstepfunctions.StateMachineType_STANDARD,
		DefinitionBody:          awsstepfunctions.DefinitionBody_FromFile(str(filepath.Join(d.Root, project.LoopDir, m.Name+".asl.json")), nil),
		DefinitionSubstitutions: d.substitutions(m, workers),
		Role:                    d.machineRole(nested, m),
		TracingEnabled:          tracingEnabled(!d.NoTracing),
	})
	suppress(made, "AwsSolutions-SF1", "What a run did is in the table, and for 90 days in Step Functions; a log of all events would bill every state again.", "")
	if d.NoTracing {
		suppress(made, "AwsSolutions-SF2", "Tracing is switched off by an option.", "")
	}
	resource, ok := made.Node().DefaultChild().(awsstepfunctions.CfnStateMachine)
	if !ok {
		return released{}, fmt.Errorf("machine of %s has no resource", m.Name)
	}
	latest := d.published(d.scope, "Latest"+camel(m.Name), "latest", map[string]any{
		"Loop": m.Name, "Hash": m.Hash, "StateMachine": made.StateMachineArn(), "Revision": resource.AttrStateMachineRevisionId(),
	})
	latest.Node().AddDependency(nested)
	return released{m, nested, latest}, nil
}

func tracingEnabled(on bool) *bool {
	if on {
		return yes()
	}
	return nil
}

// substitutions fill the machine's tokens: functions by ARN, queues by URL.
func (d *deployment) substitutions(m machine, workers map[string]deployed) *map[string]*string {
	values := map[string]*string{}
	for _, token := range m.Tokens {
		key := token.Text[len("${") : len(token.Text)-1]
		switch token.Kind {
		case compile.TokenCoordinator:
			values[key] = d.approvals.FunctionArn()
		case compile.TokenWorker:
			values[key] = workers[token.Name].Function.FunctionArn()
		case compile.TokenQueue:
			values[key] = workers[token.Name].Queue.QueueUrl()
		}
	}
	return &values
}

// machineRole: a machine invokes and sends to what its text names, and starts
// children of its own for distributed maps.
func (d *deployment) machineRole(nested awscdk.NestedStack, m machine) awsiam.IRole {
	var functions, queues []string
	for _, token := range m.Tokens {
		switch token.Kind {
		case compile.TokenCoordinator:
			functions = append(functions, d.functionARN(roleApproval))
		case compile.TokenWorker:
			functions = append(functions, d.functionARN("worker", token.Name))
		case compile.TokenQueue:
			queues = append(queues, d.queueARN(token.Name))
		}
	}
	rights := []right{{Do: []string{"lambda:InvokeFunction"}, On: functions}}
	if len(queues) > 0 {
		rights = append(rights, right{Do: []string{"sqs:SendMessage"}, On: queues})
	}
	if distributed(m.Text) {
		rights = append(rights,
			right{Do: []string{"states:StartExecution"}, On: []string{d.machineARN(m.Name)}},
			right{
				Do: []string{"states:DescribeExecution", "states:RedriveExecution", "states:StopExecution"}, On: []string{arn("states", "execution:"+d.name(m.Name)+"/*")},
				Because: "Step Functions names the children of a distributed map.",
			})
	}
	if !d.NoTracing {
		rights = append(rights, right{
			Do: []string{"xray:GetSamplingRules", "xray:GetSamplingTargets", "xray:PutTelemetryRecords", "xray:PutTraceSegments"}, On: []string{"*"},
			Because: "X-Ray has no resources for what is put.",
		})
	}
	return d.role(nested, "Role", trust{Service: "states", Account: true}, rights...)
}

// distributed tells whether a machine starts children of its own.
func distributed(text []byte) bool { return bytes.Contains(text, []byte(`"Mode": "DISTRIBUTED"`)) }

// asset keeps content as a file that is uploaded before the stack is deployed.
func (d *deployment) asset(scope constructs.Construct, id, name string, content []byte) (awss3assets.Asset, error) {
	file := filepath.Join(d.Work, name)
	if err := write(file, content); err != nil {
		return nil, err
	}
	return awss3assets.NewAsset(scope, str(id), &awss3assets.AssetProps{Path: str(file)}), nil
}

// place is where an asset is, as publish reads it.
func place(a awss3assets.Asset) map[string]any {
	return map[string]any{"Bucket": a.S3BucketName(), "Key": a.S3ObjectKey()}
}
