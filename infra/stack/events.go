package stack

import (
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/constructs-go/constructs/v10"
)

// perRule is how many events one rule names: its pattern is bounded.
const perRule = 40

// listen makes the project's event bus, the rules that hand its events to the
// trigger function, and the rule that tells the watch when an execution ends.
func (d *deployment) listen(scope constructs.Construct) {
	bus := awsevents.NewEventBus(scope, str("Bus"), &awsevents.EventBusProps{EventBusName: &d.project, Description: str("Events that loops start by and wait for")})
	d.bus = *bus.EventBusName()
	var names []string
	for _, event := range d.Project.Registry.Events {
		names = append(names, event.Name)
	}
	slices.Sort(names)
	part := 0
	for some := range slices.Chunk(names, perRule) {
		part++
		awsevents.NewRule(scope, str("EventRule"+strconv.Itoa(part)), &awsevents.RuleProps{
			RuleName: str(d.name("events", strconv.Itoa(part))), Description: str("Declared events go to the trigger function"), EventBus: bus,
			EventPattern: &awsevents.EventPattern{DetailType: strs(some)},
			Targets: &[]awsevents.IRuleTarget{awseventstargets.NewLambdaFunction(d.triggers, &awseventstargets.LambdaFunctionProps{
				DeadLetterQueue: d.missed, RetryAttempts: num(10), MaxEventAge: awscdk.Duration_Hours(num(1)),
			})},
		})
	}
	d.executionEvents(scope)
}

// executionEvents only hastens what the watch finds anyway: the events are best effort.
func (d *deployment) executionEvents(scope constructs.Construct) {
	awsevents.NewRule(scope, str("ExecutionRule"), &awsevents.RuleProps{
		RuleName: str(d.name("executions")), Description: str("Executions that ended badly are looked at by the watch at once"),
		EventPattern: &awsevents.EventPattern{
			Source: strs([]string{"aws.states"}), DetailType: strs([]string{"Step Functions Execution Status Change"}),
			Detail: &map[string]any{
				"status":          []string{"FAILED", "TIMED_OUT", "ABORTED"},
				"stateMachineArn": []any{map[string]string{"prefix": arn("states", "stateMachine:"+d.project+"-")}},
			},
		},
		Targets: &[]awsevents.IRuleTarget{awseventstargets.NewLambdaFunction(d.watches, &awseventstargets.LambdaFunctionProps{
			DeadLetterQueue: d.missed, RetryAttempts: num(2), MaxEventAge: awscdk.Duration_Minutes(num(int((5 * time.Minute).Minutes()))),
		})},
	})
}
