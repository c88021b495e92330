package stack

import (
	"maps"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"

	"github.com/outerloop-dev/outerloop/infra/bundle"
)

// function says what a function is; Name is whole.
type function struct {
	Name, Package, Says string
	Memory              int
	Timeout             time.Duration
	Environment         map[string]string
	Role                awsiam.IRole
	// Reserved is its reserved concurrency; 0: none.
	Reserved int
}

// Memory in MB. A vCPU comes with 1,769; 128 would make a TLS handshake slow.
const (
	memoryCoordinator = 512
	memoryWorker      = 256
)

func logGroup(function string) string { return "/aws/lambda/" + function }

// lambda makes a function with its log group.
func (d *deployment) lambda(scope constructs.Construct, id string, f function) awslambda.Function {
	group := awslogs.NewLogGroup(scope, str(id+"Logs"), &awslogs.LogGroupProps{
		LogGroupName: str(logGroup(f.Name)), Retention: retention(d.LogDays), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	environment := map[string]*string{"OUTERLOOP_PROJECT": &d.project}
	for key, value := range maps.All(f.Environment) {
		environment[key] = str(value)
	}
	props := &awslambda.FunctionProps{
		FunctionName: str(f.Name), Description: str(short(f.Says, 256)), Role: f.Role, LogGroup: group,
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: str("bootstrap"), Architecture: d.architecture(),
		Code: awslambda.Code_FromAsset(str(d.Zips[f.Package]), nil), Environment: &environment,
		MemorySize: num(f.Memory), Timeout: awscdk.Duration_Seconds(num(int(f.Timeout.Seconds()))),
		Tracing: awslambda.Tracing_ACTIVE,
	}
	if d.NoTracing {
		props.Tracing = awslambda.Tracing_DISABLED
	}
	if f.Reserved > 0 {
		props.ReservedConcurrentExecutions = num(f.Reserved)
	}
	return awslambda.NewFunction(scope, str(id), props)
}

func (d *deployment) architecture() awslambda.Architecture {
	if d.Architecture == bundle.AMD64 {
		return awslambda.Architecture_X86_64()
	}
	return awslambda.Architecture_ARM_64()
}

// retentions are the CDK's names of the days in logDays.
var retentions = map[int]awslogs.RetentionDays{
	1: awslogs.RetentionDays_ONE_DAY, 3: awslogs.RetentionDays_THREE_DAYS, 5: awslogs.RetentionDays_FIVE_DAYS,
	7: awslogs.RetentionDays_ONE_WEEK, 14: awslogs.RetentionDays_TWO_WEEKS, 30: awslogs.RetentionDays_ONE_MONTH,
	60: awslogs.RetentionDays_TWO_MONTHS, 90: awslogs.RetentionDays_THREE_MONTHS, 120: awslogs.RetentionDays_FOUR_MONTHS,
	150: awslogs.RetentionDays_FIVE_MONTHS, 180: awslogs.RetentionDays_SIX_MONTHS, 365: awslogs.RetentionDays_ONE_YEAR,
	400: awslogs.RetentionDays_THIRTEEN_MONTHS, 545: awslogs.RetentionDays_EIGHTEEN_MONTHS, 731: awslogs.RetentionDays_TWO_YEARS,
}

func retention(days int) awslogs.RetentionDays { return retentions[days] }
