package stack

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
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
// loop or worker: what belongs to one loop is an alert of the watch. Each is of
// one metric: metric math costs as much as an alarm for each metric in it.
func (d *deployment) observe(scope constructs.Construct) {
	alarms := []alarm{
		{
			ID: "WatchSilent", Says: "The watch has not looked for ten minutes: stalls and missed fires go unseen. Look at its log and its schedule.",
			Metric: d.own(metricWatched, "Sum"), Below: true, At: 1, Periods: 2, Missing: awscloudwatch.TreatMissingData_BREACHING,
		},
		{ID: "DeadLetters", Says: "Work lies in dead-letter queues: outerloop exceptions names the steps.", Metric: d.own(metricDead, "Maximum")},
		{ID: "BreakersOpen", Says: "A circuit breaker is open: a worker or connection fails again and again.", Metric: d.own(metricBreakers, "Maximum"), Periods: 2},
		{ID: "BudgetUsed", Says: fmt.Sprintf("Loops have used %d %% of this month's budget.", budgetAlarm), Metric: d.own(metricBudget, "Maximum"), At: budgetAlarm},
		{ID: "ApprovalErrors", Says: "The function that asks and decides fails: look at its log.", Metric: failures(d.approvals), Periods: 2},
		{ID: "TriggerErrors", Says: "The function that starts runs fails: look at its log.", Metric: failures(d.triggers), Periods: 2},
		{ID: "Missed", Says: "Fires or events could not be delivered: look into the queue " + d.name("missed") + ".", Metric: lying(d.missed)},
		{ID: "TriggerDead", Says: "Webhooks or events were taken and started nothing: outerloop exceptions keeps what they said.", Metric: lying(d.events.DeadLetterQueue().Queue)},
	}
	if d.hooks != nil {
		alarms = append(alarms, alarm{ID: "HookErrors", Says: "The receiver of webhooks fails: look at its log.", Metric: failures(d.hooks), Periods: 2})
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
	// Below alarms under At, otherwise at and above it; At and Periods are 1 if not given.
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
		ComparisonOperator: operator, Threshold: num(max(1, a.At)), EvaluationPeriods: num(max(1, a.Periods)), TreatMissingData: a.Missing,
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

// failures are how often a function failed.
func failures(f awslambda.Function) awscloudwatch.Metric {
	return f.MetricErrors(&awscloudwatch.MetricOptions{Statistic: str("Sum"), Period: period()})
}

// lying is how much lies in a queue.
func lying(q awssqs.IQueue) awscloudwatch.Metric {
	return q.MetricApproximateNumberOfMessagesVisible(&awscloudwatch.MetricOptions{Statistic: str("Maximum"), Period: period()})
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
