package compile

import (
	"math"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// backstop is what a machine's MaxAttempts stands above the declared count:
// the gate counts attempts and says when to give up, the machine only ends
// what no gate answers any more.
const backstop = 3

// never are the answers that no retrier may take: Step Functions looks at
// Retry before Catch. They stand in the first retrier, with no attempts.
var never = []string{
	outerloop.ErrorRevise, outerloop.ErrorNeedsApproval, outerloop.ErrorHalt, outerloop.ErrorGiveUp,
	outerloop.ErrorAgain, outerloop.ErrorStop, outerloop.ErrorRefused, outerloop.ErrorFatal,
}

// lambdaFaults are the errors of invoking a function that say nothing about the work.
var lambdaFaults = []string{
	"Lambda.ClientExecutionTimeoutException", "Lambda.ServiceException", "Lambda.AWSLambdaException",
	"Lambda.SdkClientException", "Lambda.TooManyRequestsException",
}

// crashed are the names under which a function's death is reported.
var crashed = []string{"Lambda.Unknown", "Sandbox.Timedout", "Runtime.ExitError"}

// queueFaults are the errors of sending to a queue.
var queueFaults = []string{"SQS.SdkClientException", "SQS.AmazonSQSException"}

func retrier(errors []string, times int) object {
	return object{
		{"ErrorEquals", errors}, {"IntervalSeconds", 2}, {"MaxAttempts", times},
		{"BackoffRate", 2}, {"MaxDelaySeconds", 60}, {"JitterStrategy", "FULL"},
	}
}

// neverRetrier must be the first of every list.
func neverRetrier() object { return object{{"ErrorEquals", never}, {"MaxAttempts", 0}} }

// workerRetriers are the retriers of a worker's state.
func workerRetriers(rules *loop.FailureRules, queue bool) []object {
	list := []object{neverRetrier()}
	if queue {
		list = append(list, retrier(queueFaults, 6))
	} else {
		list = append(list,
			retrier([]string{outerloop.ErrorNotNow}, 1000),
			retrier(append(append([]string{}, lambdaFaults...), crashed...), 6))
	}
	return append(list, declaredRetriers(rules)...)
}

// declaredRetriers are those of the step's own rule; nil: none.
func declaredRetriers(rules *loop.FailureRules) []object {
	if rules == nil {
		return nil
	}
	var list []object
	listed := map[outerloop.Class]bool{}
	for _, rule := range rules.Retry {
		listed[rule.Class] = true
	}
	for _, rule := range rules.Retry {
		if names := classNames(rule.Class, listed); len(names) > 0 && rule.Times > 0 {
			list = append(list, declaredRetrier(names, rule))
		}
	}
	return list
}

// classNames are the machine's names of a class; `any` stands for every class
// that is not listed and may be retried.
func classNames(class outerloop.Class, listed map[outerloop.Class]bool) []string {
	if class != outerloop.ClassAny {
		return namesOf(class)
	}
	var names []string
	for _, c := range outerloop.Classes() {
		if !listed[c] {
			names = append(names, namesOf(c)...)
		}
	}
	return names
}

func namesOf(class outerloop.Class) []string {
	switch class {
	case outerloop.ClassRefused, outerloop.ClassFatal:
		return nil
	case outerloop.ClassTimeout:
		return []string{"States.Timeout", class.ErrorName()}
	}
	return []string{class.ErrorName()}
}

func declaredRetrier(names []string, rule loop.RetryRule) object {
	wait := max(1, seconds(rule.Wait))
	r := object{{"ErrorEquals", names}, {"IntervalSeconds", wait}, {"MaxAttempts", rule.Times + backstop}}
	if rule.Factor >= 1 {
		r.set("BackoffRate", rule.Factor)
	}
	if most := seconds(rule.AtMost); most > wait {
		r.set("MaxDelaySeconds", most)
	}
	r.set("JitterStrategy", "FULL")
	return r
}

// coordinatorRetriers are the retriers of a state that asks the coordinator.
func coordinatorRetriers() []object {
	return []object{
		neverRetrier(),
		retrier([]string{outerloop.ErrorNotNow}, 1000),
		retrier(append(append([]string{}, lambdaFaults...), crashed...), 20),
	}
}

// seconds rounds a duration up to whole seconds.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// tries is how many attempts the rules allow in all.
func tries(rules *loop.FailureRules) int {
	n := 1
	if rules != nil {
		for _, rule := range rules.Retry {
			n += rule.Times
		}
	}
	return n
}
