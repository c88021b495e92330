package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/constructs-go/constructs/v10"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// scheduled is what Scheduler puts in the place of the fire's nominal time. It
// makes a fire that comes twice one run.
const scheduled = "<aws.scheduler.scheduled-time>"

// A late fire is worth this much: an outage must not end in a burst of old ones.
// What was missed is made up for by the watch, as the loop's catch_up says.
const (
	lateFire = 10 * time.Minute
	refires  = 5
)

// rota makes what all schedules share, and the watch's own schedule.
func (d *deployment) rota(scope constructs.Construct) {
	group := awsscheduler.NewCfnScheduleGroup(scope, str("Schedules"), &awsscheduler.CfnScheduleGroupProps{Name: &d.project})
	d.scheduleGroup = group.Ref()
	d.schedulerRole = d.role(scope, "SchedulerRole", trust{Service: "scheduler", Account: true},
		right{Do: []string{"lambda:InvokeFunction"}, On: []string{*d.triggers.FunctionArn(), *d.watches.FunctionArn()}},
		right{Do: []string{"sqs:SendMessage"}, On: []string{*d.missed.QueueArn()}},
	)
	d.schedule(scope, "WatchSchedule", schedule{
		Name: roleWatch, Expression: "rate(1 minute)", Zone: "UTC", To: *d.watches.FunctionArn(), Late: time.Minute, Times: 0,
		Input: map[string]any{"watch": map[string]any{"scheduled": scheduled}}, Says: "The watch looks every minute",
	})
}

// schedules are those of all loops, and their monitors. They come last: none
// fires before its loop can start.
func (d *deployment) schedules(loops []released) error {
	var (
		nested awscdk.NestedStack
		faults []error
	)
	for _, l := range loops {
		for i, t := range l.Triggers {
			s, ok, err := d.fire(l.machine, i, t)
			if err != nil {
				faults = append(faults, err)
			}
			if !ok {
				continue
			}
			if nested == nil { // a nested stack without resources is an error
				nested = awscdk.NewNestedStack(d.scope, str("Fires"), &awscdk.NestedStackProps{Description: str("Schedules and monitors of loops")})
			}
			d.schedule(nested, camel(s.Name), s)
			nested.Node().AddDependency(l.Latest)
		}
	}
	return errors.Join(faults...)
}

// fire is the schedule of a trigger; false: the trigger has none.
func (d *deployment) fire(m machine, index int, t loop.TriggerRule) (schedule, bool, error) {
	s := schedule{
		Name: m.Name + "-" + strconv.Itoa(index), To: *d.triggers.FunctionArn(), Late: lateFire, Times: refires, Says: t.Because,
		Input: map[string]any{"trigger": map[string]any{"loop": m.Name, "index": index, "scheduled": scheduled}},
	}
	if s.Says == "" {
		s.Says = "Starts " + m.Name
	}
	switch t.Kind {
	case loop.TriggerSchedule:
		s.Expression, s.Zone = t.Name, m.Zone.String()
	case loop.TriggerMonitor:
		s.Expression, s.Zone = every(t.Monitor.Every), "UTC"
		if t.Monitor.Every%time.Minute != 0 {
			return s, false, fmt.Errorf("%w: loop %s: a monitor every %s: Scheduler knows whole minutes", ErrProps, m.Name, t.Monitor.Every)
		}
	default:
		return s, false, nil
	}
	return s, true, nil
}

// every writes whole minutes as a rate.
func every(d time.Duration) string {
	if minutes := int(d / time.Minute); minutes != 1 {
		return fmt.Sprintf("rate(%d minutes)", minutes)
	}
	return "rate(1 minute)"
}

// schedule says what Scheduler sends, when and to whom.
type schedule struct {
	Name, Expression, Zone, To, Says string
	Input                            map[string]any
	// Late is how long a delivery is tried, at most Times more often.
	Late  time.Duration
	Times int
}

func (d *deployment) schedule(scope constructs.Construct, id string, s schedule) {
	var input strings.Builder
	encoder := json.NewEncoder(&input)
	encoder.SetEscapeHTML(false) // Scheduler's own < and >
	if err := encoder.Encode(s.Input); err != nil {
		panic(err) // of texts and numbers alone
	}
	awsscheduler.NewCfnSchedule(scope, str(id), &awsscheduler.CfnScheduleProps{
		Name: str(d.name(s.Name)), GroupName: d.scheduleGroup, Description: str(short(s.Says, 512)),
		ScheduleExpression: str(s.Expression), ScheduleExpressionTimezone: str(s.Zone),
		FlexibleTimeWindow: map[string]any{"mode": "OFF"},
		Target: map[string]any{
			"arn": s.To, "roleArn": d.schedulerRole.RoleArn(), "input": strings.TrimSpace(input.String()),
			"retryPolicy":      map[string]any{"maximumEventAgeInSeconds": int(s.Late.Seconds()), "maximumRetryAttempts": s.Times},
			"deadLetterConfig": map[string]any{"arn": d.missed.QueueArn()},
		},
	})
}

// short cuts a text to what a field takes.
func short(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// literal is the text of a key in an input, where it stands there as such.
func literal(input *source.Node, key string) string {
	if input == nil {
		return ""
	}
	value := input.Get(key)
	if value == nil || strings.Contains(value.Text, "${") {
		return ""
	}
	return value.Text
}
