package stack

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
)

// Deployment is what New made, for a CDK app to go on with.
type Deployment interface {
	constructs.Construct
	// Topic gets alerts and alarms: subscribe people to it.
	Topic() awssns.Topic
	// Trigger starts runs, Console answers the command line.
	Trigger() awslambda.Function
	Console() awslambda.Function
}

// deployment is a deployment being made.
type deployment struct {
	Props
	plan
	constructs.Construct
	scope       constructs.Construct
	project     string
	concurrency concurrency

	tableName, tableARN   string
	bucketName, bucketARN string
	bus                   string
	topic                 awssns.Topic
	// missed keeps fires and events that could not be delivered; events is the trigger's queue.
	missed, events awssqs.Queue

	gateRole, schedulerRole awsiam.IRole
	scheduleGroup           *string
	// hooks and its URL are nil where the project has no webhooks.
	hooks   awslambda.Function
	hookURL awslambda.FunctionUrl
	// listed says to publish which workers there are; it refuses what open runs need.
	listed awscdk.CustomResource

	approvals, triggers, watches, consoles, publishes awslambda.Function
}

// New makes everything a project needs under one construct of a stack. Names
// of resources begin with the project's name; a second deployment of the same
// project in a Region therefore needs another. Errors: ErrProps,
// ErrConcurrency, and those of reading files. It panics where the CDK does.
func New(scope constructs.Construct, id string, p Props) (Deployment, error) {
	p, err := p.checked()
	if err != nil {
		return nil, err
	}
	planned, err := p.plan()
	if err != nil {
		return nil, err
	}
	bounds, err := count(planned.Units, p.AccountConcurrency)
	if err != nil {
		return nil, err
	}
	if err := zipped(p, planned); err != nil {
		return nil, err
	}
	inner := constructs.NewConstruct(scope, str(id))
	d := &deployment{Props: p, plan: planned, Construct: inner, scope: inner, project: p.Project.Registry.Name, concurrency: bounds}
	if bounds.Note != "" {
		awscdk.Annotations_Of(inner).AddWarningV2(str("outerloop:concurrency"), str(bounds.Note), nil)
	}
	return d, d.build()
}

// zipped checks that every function has its code.
func zipped(p Props, planned plan) error {
	var missing []error
	need := func(name string) {
		if p.Zips[name] == "" {
			missing = append(missing, fmt.Errorf("%w: no zip of %s", ErrProps, name))
		}
	}
	for _, role := range roles {
		need(coordinatorPackages + role)
	}
	for _, u := range planned.Units {
		need(u.Package)
	}
	return errors.Join(missing...)
}

func (d *deployment) build() error {
	d.storage(d.scope)
	d.coordinate(d.scope)
	d.rota(d.scope)
	d.listen(d.scope)
	if err := d.seeds(); err != nil {
		return err
	}
	workers := map[string]deployed{}
	for _, u := range d.Units {
		workers[u.Name] = d.worker(u)
		workers[u.Name].Stack.Node().AddDependency(d.listed)
	}
	var loops []released
	for _, m := range d.Machines {
		made, err := d.loop(m, workers)
		if err != nil {
			return err
		}
		loops = append(loops, made)
	}
	d.observe(d.scope)
	return d.schedules(loops)
}

// Topic gets alerts and alarms.
func (d *deployment) Topic() awssns.Topic { return d.topic }

// Trigger starts runs.
func (d *deployment) Trigger() awslambda.Function { return d.triggers }

// Console answers the command line.
func (d *deployment) Console() awslambda.Function { return d.consoles }

// outputs tell the command line and people where things are.
func (d *deployment) outputs(stack awscdk.Stack) {
	out := func(name, value, says string) {
		awscdk.NewCfnOutput(stack, str(name), &awscdk.CfnOutputProps{Value: str(value), Description: str(says)})
	}
	out("TableName", d.tableName, "The shared state")
	out("BucketName", d.bucketName, "Large outputs, connections' files, inputs")
	out("ConsoleFunction", *d.consoles.FunctionName(), "Answers outerloop --target aws")
	out("TriggerFunction", *d.triggers.FunctionName(), "Starts runs")
	out("ApprovalFunction", *d.approvals.FunctionName(), "Takes decisions")
	out("PublishFunction", *d.publishes.FunctionName(), "Publishes definitions and versions")
	out("Concurrency", strconv.Itoa(d.concurrency.Sum), "What workers and their gates may take at one time")
	out("AlertTopic", *d.topic.TopicArn(), "Alerts and alarms: subscribe to it")
	out("EventBus", d.bus, "Put events here that loops start by and wait for")
	if d.hookURL != nil {
		out("HookUrl", *d.hookURL.Url(), "Webhooks: POST to this and the webhook's name")
	}
}
