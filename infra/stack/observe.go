package stack

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
)

// The watch's own metrics: one namespace, one dimension, so that a project has
// five of them however many loops it has.
const (
	namespace       = "Outerloop"
	metricWatched   = "Watched"
	metricDead      = "DeadLetters"
	metricOpen      = "OpenExceptions"
	metricBreakers  = "BreakersOpen"
	metricBudget    = "BudgetUsed"
	budgetAlarm     = 80 // percent of the month's budget
	alarmPeriodMins = 5
)

// observe makes the alarms and the dashboard. Alarms are few, and none is per
// loop or worker: what belongs to one loop is an alert of the watch.
func (d *deployment) observe(scope constructs.Construct) {
	alarms := []alarm{
		{
			ID: "WatchSilent", Says: "The watch has not looked for ten minutes: stalls and missed fires go unseen. Look at its log and its schedule.",
			Metric: d.own(metricWatched, "Sum"), Below: true, At: 1, Periods: 2, Missing: awscloudwatch.TreatMissingData_BREACHING,
		},
		{
			ID: "DeadLetters", Says: "Work lies in dead-letter queues: outerloop exceptions names the steps.",
			Metric: d.own(metricDead, "Maximum"), At: 1, Periods: 1,
		},
		{
			ID: "BreakersOpen", Says: "A circuit breaker is open: a worker or connection fails again and again.",
			Metric: d.own(metricBreakers, "Maximum"), At: 1, Periods: 2,
		},
		{
			ID: "BudgetUsed", Says: fmt.Sprintf("Loops have used %d %% of this month's budget.", budgetAlarm),
			Metric: d.own(metricBudget, "Maximum"), At: budgetAlarm, Periods: 1,
		},
		{
			ID: "CoordinatorErrors", Says: "Functions of the coordinator fail: look at their logs.",
			Metric: d.sum(metrics(d.approvals, d.triggers, d.watches, d.consoles, d.publishes)), At: 1, Periods: 2,
		},
		{
			ID: "Missed", Says: "Fires or events could not be delivered, or webhooks not be taken: look into the queues " + d.name("missed") + " and " + d.name("trigger-dlq") + ".",
			Metric: d.waiting(), At: 1, Periods: 1,
		},
	}
	for _, a := range alarms {
		d.alarm(scope, a)
	}
	d.dashboard(scope)
}

// alarm says what an alarm watches and what to do then.
type alarm struct {
	ID, Says string
	Metric   awscloudwatch.IMetric
	// Below alarms under At, otherwise at and above it.
	Below   bool
	At      int
	Periods int
	Missing awscloudwatch.TreatMissingData
}

func (d *deployment) alarm(scope constructs.Construct, a alarm) {
	operator := awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD
	if a.Below {
		operator = awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD
	}
	if a.Missing == "" {
		a.Missing = awscloudwatch.TreatMissingData_NOT_BREACHING
	}
	made := awscloudwatch.NewAlarm(scope, str("Alarm"+a.ID), &awscloudwatch.AlarmProps{
		AlarmName: str(d.name(a.ID)), AlarmDescription: str(a.Says), Metric: a.Metric,
		ComparisonOperator: operator, Threshold: num(a.At), EvaluationPeriods: num(a.Periods), TreatMissingData: a.Missing,
	})
	made.AddAlarmAction(awscloudwatchactions.NewSnsAction(d.topic))
}

func period() awscdk.Duration { return awscdk.Duration_Minutes(num(alarmPeriodMins)) }

// own is one of the watch's metrics.
func (d *deployment) own(name, statistic string) awscloudwatch.Metric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: str(namespace), MetricName: str(name), Statistic: str(statistic), Period: period(),
		DimensionsMap: &map[string]*string{"Project": &d.project},
	})
}

func metrics(functions ...awslambda.Function) []awscloudwatch.Metric {
	var out []awscloudwatch.Metric
	for _, f := range functions {
		out = append(out, f.MetricErrors(&awscloudwatch.MetricOptions{Statistic: str("Sum"), Period: period()}))
	}
	return out
}

// waiting is what lies in the queues of what could not be delivered.
func (d *deployment) waiting() awscloudwatch.IMetric {
	options := &awscloudwatch.MetricOptions{Statistic: str("Maximum"), Period: period()}
	lies := []awscloudwatch.Metric{d.missed.MetricApproximateNumberOfMessagesVisible(options)}
	if dead := d.events.DeadLetterQueue(); dead != nil {
		lies = append(lies, dead.Queue.MetricApproximateNumberOfMessagesVisible(options))
	}
	return d.sum(lies)
}

func (d *deployment) sum(list []awscloudwatch.Metric) awscloudwatch.IMetric {
	expression := ""
	using := map[string]awscloudwatch.IMetric{}
	for i, m := range list {
		name := fmt.Sprintf("m%d", i)
		using[name] = m
		if i > 0 {
			expression += "+"
		}
		expression += name
	}
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{Expression: str(expression), UsingMetrics: &using, Period: period(), Label: str("together")})
}

// dashboard shows the whole project on one page, out of metrics that AWS keeps
// anyway and the watch's five.
func (d *deployment) dashboard(scope constructs.Construct) {
	board := awscloudwatch.NewDashboard(scope, str("Dashboard"), &awscloudwatch.DashboardProps{DashboardName: str(d.name("outerloop"))})
	search := func(space, dimension, name, statistic, match string) awscloudwatch.IMetric {
		return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
			Expression: str(fmt.Sprintf("SEARCH('{%s,%s} MetricName=\"%s\" %s', '%s', 300)", space, dimension, name, match, statistic)),
			Label:      str(""), Period: period(), UsingMetrics: &map[string]awscloudwatch.IMetric{},
		})
	}
	graph := func(title string, list ...awscloudwatch.IMetric) awscloudwatch.IWidget {
		return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{Title: str(title), Left: &list, Width: num(8), Height: num(6)})
	}
	prefix := d.project + "-"
	board.AddWidgets(
		graph("Runs started", search("AWS/States", "StateMachineArn", "ExecutionsStarted", "Sum", prefix)),
		graph("Executions that failed", search("AWS/States", "StateMachineArn", "ExecutionsFailed", "Sum", prefix)),
		graph("What needs somebody", d.own(metricOpen, "Maximum"), d.own(metricDead, "Maximum"), d.own(metricBreakers, "Maximum")),
	)
	board.AddWidgets(
		graph("Errors of functions", search("AWS/Lambda", "FunctionName", "Errors", "Sum", prefix)),
		graph("Time of gates (p95)", search("AWS/Lambda", "FunctionName", "Duration", "p95", prefix+"gate")),
		graph("Longest wait in a queue", search("AWS/SQS", "QueueName", "ApproximateAgeOfOldestMessage", "Maximum", prefix)),
	)
	table := func(name string) awscloudwatch.IMetric {
		return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
			Namespace: str("AWS/DynamoDB"), MetricName: str(name), Statistic: str("Sum"), Period: period(),
			DimensionsMap: &map[string]*string{"TableName": &d.tableName},
		})
	}
	board.AddWidgets(
		graph("Units of the table", table("ConsumedReadCapacityUnits"), table("ConsumedWriteCapacityUnits")),
		graph("Functions throttled", search("AWS/Lambda", "FunctionName", "Throttles", "Sum", prefix)),
		graph("Month's budget used (%)", d.own(metricBudget, "Maximum")),
	)
}
