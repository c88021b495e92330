package stack

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

// deployed is a worker's nested stack.
type deployed struct {
	Stack    awscdk.NestedStack
	Function awslambda.Function
	// Queue is nil where no machine sends it messages.
	Queue awssqs.Queue
}

// receives is how often a message may be received before it is a dead letter.
// Waiting takes receives too; the gate has its own, lower limit of crashes.
const receives = 100

// worker makes a worker's nested stack: its gate, its function, its queue.
func (d *deployment) worker(u unit) deployed {
	nested := awscdk.NewNestedStack(d.scope, str("Worker"+camel(u.Name)), &awscdk.NestedStackProps{Description: str(short("Worker "+u.Name+": "+u.Charter.Objective, 500))})
	made := deployed{Stack: nested}
	gate := d.lambda(nested, "Gate", function{
		Name: d.name(roleGate, u.Name), Package: coordinatorPackages + roleGate, Says: "Gate of " + u.Name + ": admits its work and records it",
		Memory: memoryCoordinator, Timeout: timeoutGate, Role: d.gateRole, Reserved: d.concurrency.Gates[u.Name],
		Environment: d.store(map[string]string{"OUTERLOOP_WORKER": u.Name, "OUTERLOOP_ALERT_TOPIC": *d.topic.TopicArn()}),
	})
	name := d.name("worker", u.Name)
	rights := append(d.logs(name), right{Do: []string{"lambda:InvokeFunction"}, On: []string{*gate.FunctionArn()}})
	tools, env := d.tools(u)
	rights = append(rights, tools...)
	env["OUTERLOOP_WORKER"], env["OUTERLOOP_GATE"], env["OUTERLOOP_BUCKET"] = u.Name, *gate.FunctionName(), d.bucketName
	if u.Queued {
		made.Queue = d.queue(nested, "Queue", queue{Name: d.name(u.Name), Visibility: 6 * u.Timeout, Receives: receives})
		rights = append(rights, consumes(*made.Queue.QueueArn()))
	}
	made.Function = d.lambda(nested, "Function", function{
		Name: name, Package: u.Package, Says: u.Charter.Objective, Memory: memoryWorker, Timeout: u.Timeout,
		Role: d.role(nested, "Role", byLambda, rights...), Environment: env,
	})
	if u.Queued {
		d.feeds(nested, "Mapping", feed{From: made.Queue, To: made.Function, AtOnce: u.AtOnce, Batch: 1})
	}
	return made
}

// tools are the rights that the worker's charter gives it outside, and what its
// environment says about them.
func (d *deployment) tools(u unit) ([]right, map[string]string) {
	var (
		rights  []right
		secrets []string
		env     = map[string]string{}
	)
	use := func(c registry.Connection, verbs []string) {
		rights = append(rights, d.connection(c, verbs, u.Charter)...)
		if c.Secret != "" {
			secrets = append(secrets, c.Secret)
		}
	}
	for _, tool := range u.Charter.Tools {
		if c, ok := d.Project.Registry.Connection(tool.Connection); ok {
			use(c, tool.May)
		}
	}
	rights = append(rights, d.elsewhere(u.Charter, use, env)...)
	if agent := u.Charter.Agent; agent != nil {
		env["OUTERLOOP_CONTRACT"], env["OUTERLOOP_MODEL_TIME"] = strconv.Itoa(u.Charter.Contract), u.Charter.Dispatch.ModelTime().String()
		rights = append(rights, d.model(agent.Model, use)...)
		var called []string
		for _, name := range agent.Calls {
			called = append(called, d.functionARN("worker", name))
		}
		if len(called) > 0 {
			rights = append(rights, right{Do: []string{"lambda:InvokeFunction"}, On: called})
		}
	}
	if len(secrets) > 0 {
		slices.Sort(secrets)
		rights, env["OUTERLOOP_SECRETS"] = append(rights, d.secrets(slices.Compact(secrets)...)...), d.Secrets
	}
	return rights, env
}

// elsewhere are the rights of a worker whose work is done by an endpoint or by
// another function.
func (d *deployment) elsewhere(c *charter.Charter, use func(registry.Connection, []string), env map[string]string) []right {
	if c.HTTP == nil && c.Lambda == nil {
		return nil
	}
	env["OUTERLOOP_CONTRACT"] = strconv.Itoa(c.Contract)
	if c.HTTP != nil {
		if conn, ok := d.Project.Registry.Connection(c.HTTP.Connection); ok {
			use(conn, nil)
		}
		return nil
	}
	return []right{{Do: []string{"lambda:InvokeFunction"}, On: []string{functionOf(c.Lambda.Function)}}}
}

// functionOf is the ARN of a function by its name, with or without a qualifier,
// its partial ARN (ACCOUNT:function:NAME), or its ARN.
func functionOf(name string) string {
	switch {
	case strings.HasPrefix(name, "arn:"):
		return name
	case strings.Contains(name, ":function:"):
		return fmt.Sprintf("arn:%s:lambda:%s:%s", *awscdk.Aws_PARTITION(), *awscdk.Aws_REGION(), name)
	}
	return arn("lambda", "function:"+name)
}

// The kinds of connections that are a folder of the bucket when deployed.
var folders = []string{"files", "outbox", "scripted"}

// connection are the rights that using a connection takes. Kinds that are
// reached over the network need none.
func (d *deployment) connection(c registry.Connection, verbs []string, by *charter.Charter) []right {
	switch {
	case slices.Contains(folders, c.Kind):
		return d.folder(c.Name, verbs, by)
	case c.Kind == "ses":
		from := c.From
		if at := strings.LastIndex(from, "@"); at >= 0 {
			from = strings.Trim(from[at+1:], "<> ")
		}
		return []right{{Do: []string{"ses:SendEmail", "ses:SendRawEmail"}, On: []string{arn("ses", "identity/"+from)}}}
	case c.Kind == "bedrock":
		return nil // the model's own right
	}
	return nil
}

// folder are the rights over a connection's folder: `read` reads and lists,
// everything else adds files; a worker that must find out whether an action was
// done reads what it added.
func (d *deployment) folder(name string, verbs []string, by *charter.Charter) []right {
	because := "The files of one connection."
	files := d.bucketARN + "/" + connections + name + "/*"
	reads := slices.Contains(verbs, "read")
	writes := len(verbs) > 1 || len(verbs) == 1 && !reads
	if writes && slices.ContainsFunc(by.Actions, func(a charter.Action) bool { return a.Unknown == charter.UnknownVerify }) {
		reads = true
	}
	var rights []right
	if reads {
		rights = append(rights,
			right{Do: []string{"s3:GetObject"}, On: []string{files}, Because: because},
			right{Do: []string{"s3:ListBucket"}, On: []string{d.bucketARN}, When: map[string]map[string]any{"StringLike": {"s3:prefix": connections + name + "/*"}}})
	}
	if writes {
		rights = append(rights, right{Do: []string{"s3:PutObject"}, On: []string{files}, Because: because})
	}
	return rights
}

// model are the rights to ask a language model.
func (d *deployment) model(name string, use func(registry.Connection, []string)) []right {
	m, ok := d.Project.Registry.Model(name)
	if !ok {
		return nil
	}
	if c, ok := d.Project.Registry.Connection(m.Connection); ok && c.Kind != "bedrock" {
		use(c, []string{"read"})
		return nil
	}
	return bedrock(m.ID)
}

// bedrock is the right to ask one model. An id that begins with a place
// ("us.", "global.") is an inference profile, which forwards to other Regions.
func bedrock(id string) []right {
	foundation := func(region, id string) string {
		return "arn:" + *awscdk.Aws_PARTITION() + ":bedrock:" + region + "::foundation-model/" + id
	}
	do := []string{"bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"}
	place, rest, found := strings.Cut(id, ".")
	if !found || len(place) > 6 || !strings.Contains(rest, ".") {
		return []right{{Do: do, On: []string{foundation(*awscdk.Aws_REGION(), id)}}}
	}
	return []right{{
		Do: do, On: []string{arn("bedrock", "inference-profile/"+id), foundation("*", rest)},
		Because: "The profile forwards to the model in whichever Region has room.",
	}}
}
