package stack

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// right is what a role may do, and where.
type right struct {
	Do []string
	On []string
	// When are conditions: operator, key, values.
	When map[string]map[string]any
	// Because says why a resource has a wildcard; required where one has.
	Because string
}

// trust says who may take a role.
type trust struct {
	Service string
	// Account bounds a service to resources of this account, where it passes
	// on whose it is (the confused deputy).
	Account bool
}

// role makes a role with its rights inside, so that it never exists without
// them, and nothing adds to them later. It panics when a wildcard has no reason.
func (d *deployment) role(scope constructs.Construct, id string, by trust, rights ...right) awsiam.IRole {
	options := &awsiam.ServicePrincipalOpts{}
	if by.Account {
		options.Conditions = &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": *awscdk.Aws_ACCOUNT_ID()}}
	}
	statements := make([]awsiam.PolicyStatement, 0, len(rights))
	for _, r := range rights {
		statements = append(statements, r.statement())
	}
	role := awsiam.NewRole(scope, str(id), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(str(by.Service+".amazonaws.com"), options),
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			"rights": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &statements}),
		},
	})
	for _, r := range rights {
		explain(role, r)
	}
	// Constructs that take the role must not widen it.
	return role.WithoutPolicyUpdates(nil)
}

func (r right) statement() awsiam.PolicyStatement {
	var when *map[string]any
	if len(r.When) > 0 {
		conditions := map[string]any{}
		for operator, keys := range r.When {
			conditions[operator] = keys
		}
		when = &conditions
	}
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: strs(r.Do), Resources: strs(r.On), Conditions: when})
}

// explain writes the reasons of wildcards where cdk-nag, and whoever reads the
// template, finds them.
func explain(role awsiam.Role, r right) {
	for _, action := range r.Do {
		if strings.Contains(action, "*") {
			panic("stack: rights name each action: " + action)
		}
	}
	for _, on := range r.On {
		if !wild(on) {
			continue
		}
		if r.Because == "" {
			panic(fmt.Sprintf("stack: %v on %s has no reason", r.Do, on))
		}
		suppress(role, "AwsSolutions-IAM5", r.Because, on)
	}
}

// wild tells whether a resource names more than one thing.
func wild(resource string) bool {
	tail := tokens.ReplaceAllString(resource, "")
	return strings.ContainsAny(tail, "*?")
}

// tokens are the places of values that CloudFormation knows later.
var tokens = regexp.MustCompile(`\$\{Token\[[^\]]*\]\}`)

// suppress keeps cdk-nag from reporting a rule on one resource, with the reason.
// On is the finding's resource; "" is all of the rule's findings.
func suppress(on constructs.IConstruct, rule, because, resource string) {
	s := &cdknag.NagPackSuppression{Id: str(rule), Reason: str(because)}
	if resource != "" {
		parts := tokens.Split(resource, -1)
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		pattern := "/^Resource::" + strings.ReplaceAll(strings.Join(parts, ".+"), "/", `\/`) + "$/"
		s.AppliesTo = &[]any{&cdknag.RegexAppliesTo{Regex: str(pattern)}}
	}
	cdknag.NagSuppressions_AddResourceSuppressions(on, &[]*cdknag.NagPackSuppression{s}, nil)
}

func strs(list []string) *[]*string {
	out := make([]*string, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return &out
}

// The table's actions. Nobody scans. A transaction is allowed by its parts.
var (
	reading  = []string{"dynamodb:BatchGetItem", "dynamodb:GetItem"}
	querying = []string{"dynamodb:Query"}
	writing  = []string{"dynamodb:ConditionCheckItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
	removing = []string{"dynamodb:DeleteItem"}
)

// reads are the rights to read records.
func (d *deployment) reads() []right {
	return []right{
		{Do: reading, On: []string{d.tableARN}},
		{Do: querying, On: []string{d.tableARN, d.tableARN + "/index/" + string(store.ByList), d.tableARN + "/index/" + string(store.ByDue)}},
		{Do: []string{"s3:GetObject"}, On: []string{d.bucketARN + "/" + blobs + "*"}, Because: "Blobs are named by their content's hash."},
		// What is missing then is answered 404 and not 403: reading names no prefix.
		{Do: []string{"s3:ListBucket"}, On: []string{d.bucketARN}, When: map[string]map[string]any{"StringLikeIfExists": {"s3:prefix": []string{blobs + "*", inputs + "*"}}}},
	}
}

// writes are the rights to write records and blobs, without removing any.
func (d *deployment) writes() []right {
	return append(d.reads(),
		right{Do: writing, On: []string{d.tableARN}},
		right{Do: []string{"s3:PutObject"}, On: []string{d.bucketARN + "/" + blobs + "*"}, Because: "Blobs are named by their content's hash."},
	)
}

// removes is the right to remove records.
func (d *deployment) removes() right { return right{Do: removing, On: []string{d.tableARN}} }

// removesWaiters is the right to remove waits for events that were met, and nothing else.
func (d *deployment) removesWaiters() right {
	r := d.removes()
	r.When = map[string]map[string]any{"ForAllValues:StringLike": {"dynamodb:LeadingKeys": []string{record.WaitersPart("*")}}}
	return r
}

// executes are the rights over the project's machines and their tasks.
func (d *deployment) executes() []right {
	because := "A project's machines begin with its name; versions and loops come and go, and runs stay with those they began with."
	return []right{
		{Do: []string{"states:SendTaskFailure", "states:SendTaskSuccess", "states:StartExecution"}, On: []string{arn("states", "stateMachine:"+d.project+"-*")}, Because: because},
		{Do: []string{"states:DescribeExecution", "states:StopExecution"}, On: []string{arn("states", "execution:"+d.project+"-*")}, Because: because},
	}
}

// alerts is the right to tell people.
func (d *deployment) alerts() right {
	return right{Do: []string{"sns:Publish"}, On: []string{*d.topic.TopicArn()}}
}

// logs are a function's own log streams and traces.
func (d *deployment) logs(function string) []right {
	rights := []right{{
		Do:      []string{"logs:CreateLogStream", "logs:PutLogEvents"},
		On:      []string{arn("logs", "log-group:"+logGroup(function)+":*")},
		Because: "Log streams are named by Lambda.",
	}}
	if !d.NoTracing {
		rights = append(rights, tracing())
	}
	return rights
}

func tracing() right {
	return right{
		Do: []string{"xray:PutTelemetryRecords", "xray:PutTraceSegments"}, On: []string{"*"},
		Because: "X-Ray has no resources for what is put.",
	}
}
