package stack

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
)

var byLambda = trust{Service: "lambda"}

// coordinate makes the coordinator's functions. The gates stand beside their workers.
func (d *deployment) coordinate(scope constructs.Construct) {
	d.missed = d.queue(scope, "MissedQueue", queue{Name: d.name("missed")})
	d.events = d.queue(scope, "TriggerQueue", queue{Name: d.name("trigger"), Visibility: 6 * timeoutTrigger, Receives: 10})
	d.gateRole = d.role(scope, "GateRole", byLambda, d.gateRights()...)
	d.approval(scope)
	d.trigger(scope)
	d.watch(scope)
	d.console(scope)
	d.publish(scope)
	if len(d.Project.Registry.Webhooks) > 0 {
		d.hook(scope)
	}
}

// store is the environment of functions that open the store.
func (d *deployment) store(more map[string]string) map[string]string {
	env := map[string]string{"OUTERLOOP_TABLE": d.tableName, "OUTERLOOP_BUCKET": d.bucketName}
	for key, value := range more {
		env[key] = value
	}
	return env
}

// coordinator makes one of the coordinator's functions with a role of its own.
func (d *deployment) coordinator(scope constructs.Construct, f function, rights ...right) awslambda.Function {
	part := f.Name
	id := camel(part)
	f.Name, f.Package = d.name(part), coordinatorPackages+part
	f.Role = d.role(scope, id+"Role", byLambda, append(d.logs(f.Name), rights...)...)
	if f.Memory == 0 {
		f.Memory = memoryCoordinator
	}
	return d.lambda(scope, id, f)
}

// gateRights: a gate admits and settles; its events may start loops, with the
// files that their triggers name; it never scans, and removes nothing but waits
// that were met.
func (d *deployment) gateRights() []right {
	rights := append(d.logs(d.name(roleGate)+"-*"), d.writes()...)
	rights[0].Because = "One role for all gates: each worker has a gate of its own, with a log group each."
	rights = append(rights, d.removesWaiters(), d.hands())
	return append(rights, d.executes()...)
}

func (d *deployment) approval(scope constructs.Construct) {
	rights := append(d.writes(), d.removes(), d.invokesWorkers(), d.hands())
	d.approvals = d.coordinator(scope, function{
		Name: roleApproval, Says: "Asks, decides, finishes; what people do with runs", Timeout: 60 * time.Second,
		Environment: d.store(map[string]string{"OUTERLOOP_ALERT_TOPIC": *d.topic.TopicArn()}),
	}, append(rights, d.executes()...)...)
}

// invokesWorkers is the right to hand a worker what undoes its action.
func (d *deployment) invokesWorkers() right {
	return right{
		Do: []string{"lambda:InvokeFunction"}, On: []string{d.functionARN("worker", "*")},
		Because: "A rollback goes to whichever workers did the run's actions.",
	}
}

// How long functions may run that others are set by.
const (
	timeoutTrigger = 60 * time.Second
	timeoutGate    = 30 * time.Second
)

func (d *deployment) trigger(scope constructs.Construct) {
	rights := append(d.writes(), d.removes(), d.hands())
	rights = append(rights, d.executes()...)
	rights = append(rights,
		consumes(*d.events.QueueArn()),
		right{Do: []string{"sqs:SendMessage"}, On: []string{*d.missed.QueueArn()}},
	)
	if probes := d.probes(); len(probes) > 0 {
		rights = append(rights, right{Do: []string{"lambda:InvokeFunction"}, On: probes})
	}
	d.triggers = d.coordinator(scope, function{
		Name: roleTrigger, Says: "Starts runs: schedules, monitors, webhooks, events, people", Timeout: timeoutTrigger,
		Environment: d.store(map[string]string{"OUTERLOOP_ALERT_TOPIC": *d.topic.TopicArn()}),
	}, rights...)
	d.neverLost(d.triggers, 2, time.Hour)
	d.feeds(scope, "EventsMapping", feed{From: d.events, To: d.triggers, AtOnce: 5, Batch: 10})
}

// hands is the right to read the files that triggers hand to runs.
func (d *deployment) hands() right {
	return right{Do: []string{"s3:GetObject"}, On: []string{d.bucketARN + "/" + inputs + "*"}, Because: "Files that triggers hand to runs."}
}

// probes are the workers that monitors ask.
func (d *deployment) probes() []string {
	seen := map[string]bool{}
	var out []string
	for _, m := range d.Machines {
		for _, t := range m.Triggers {
			if t.Probe != nil && !seen[t.Probe.Charter.Worker] {
				seen[t.Probe.Charter.Worker] = true
				out = append(out, d.functionARN("worker", t.Probe.Charter.Worker))
			}
		}
	}
	return out
}

// neverLost repeats asynchronous invocations that failed, and keeps what failed for good.
func (d *deployment) neverLost(f awslambda.Function, times int, age time.Duration) {
	awslambda.NewCfnEventInvokeConfig(f, str("Async"), &awslambda.CfnEventInvokeConfigProps{
		FunctionName: f.FunctionName(), Qualifier: str("$LATEST"),
		MaximumRetryAttempts: num(times), MaximumEventAgeInSeconds: num(int(age.Seconds())),
		DestinationConfig: map[string]any{"onFailure": map[string]any{"destination": d.missed.QueueArn()}},
	})
}

func (d *deployment) watch(scope constructs.Construct) {
	rights := append(d.writes(), d.removes(), d.alerts(), d.invokesWorkers(), d.hands())
	rights = append(rights, d.executes()...)
	rights = append(rights, right{Do: []string{"sqs:SendMessage"}, On: []string{*d.missed.QueueArn()}})
	env := map[string]string{"OUTERLOOP_ALERT_TOPIC": *d.topic.TopicArn()}
	if secrets := d.channels(); len(secrets) > 0 {
		rights, env["OUTERLOOP_SECRETS"] = append(rights, d.secrets(secrets...)...), d.Secrets
	}
	dead := []string{d.queueARN("trigger-dlq")}
	for _, u := range d.Units {
		if u.Queued {
			dead = append(dead, d.queueARN(u.Name+"-dlq"))
		}
	}
	rights = append(rights, right{Do: []string{"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage"}, On: dead})
	d.watches = d.coordinator(scope, function{
		Name: roleWatch, Says: "Every minute: finds what stalls, repairs it or tells people", Timeout: 55 * time.Second,
		Environment: d.store(env),
	}, rights...)
	d.neverLost(d.watches, 0, time.Minute)
}

// channels are the secrets of the connections that groups are alerted over.
func (d *deployment) channels() []string {
	var secrets []string
	for _, group := range d.Project.Registry.Groups {
		for _, name := range group.Alert {
			for _, c := range d.Project.Registry.Connections {
				mails := name == "email" && c.Kind == "smtp"
				if c.Secret != "" && (c.Name == name || mails) {
					secrets = append(secrets, c.Secret)
				}
			}
		}
	}
	slices.Sort(secrets)
	return slices.Compact(secrets)
}

func (d *deployment) console(scope constructs.Construct) {
	rights := append(d.reads(), right{Do: []string{"lambda:InvokeFunction"}, On: []string{*d.approvals.FunctionArn(), *d.triggers.FunctionArn()}})
	d.consoles = d.coordinator(scope, function{
		Name: roleConsole, Says: "Answers the command line: reads here, hands decisions on", Timeout: 60 * time.Second,
		Environment: d.store(map[string]string{"OUTERLOOP_APPROVAL": *d.approvals.FunctionName(), "OUTERLOOP_TRIGGER": *d.triggers.FunctionName()}),
	}, rights...)
}

// webhook is a webhook as the hook function reads it.
type webhook struct {
	Verify  string   `json:"verify"`
	Secrets []string `json:"secrets"`
}

// webhooks are the declared ones as the hook function reads them in its environment.
func (p Props) webhooks() string {
	known := map[string]webhook{}
	for _, w := range p.Project.Registry.Webhooks {
		known[w.Name] = webhook{w.Verify, w.Secrets}
	}
	text, err := json.Marshal(known)
	if err != nil {
		panic(err) // of texts alone
	}
	return string(text)
}

// mostWebhooks bounds their text, in bytes: a function's environment has 4 KB,
// of which names, the queue's address and the prefix of secrets take some.
const mostWebhooks = 3500

// hook makes the public receiver: it verifies and queues, and reaches nothing else.
func (d *deployment) hook(scope constructs.Construct) {
	var secrets []string
	for _, w := range d.Project.Registry.Webhooks {
		secrets = append(secrets, w.Secrets...)
	}
	rights := append(d.secrets(secrets...), right{Do: []string{"sqs:SendMessage"}, On: []string{*d.events.QueueArn()}})
	d.hooks = d.coordinator(scope, function{
		Name: roleHook, Says: "Verifies webhooks and queues them", Memory: memoryWorker, Timeout: 10 * time.Second, Reserved: d.concurrency.Hook,
		Environment: map[string]string{
			"OUTERLOOP_TRIGGER_QUEUE": *d.events.QueueUrl(), "OUTERLOOP_SECRETS": d.Secrets, "OUTERLOOP_WEBHOOKS": d.webhooks(),
		},
	}, rights...)
	d.hookURL = d.hooks.AddFunctionUrl(&awslambda.FunctionUrlOptions{AuthType: awslambda.FunctionUrlAuthType_NONE})
}

// secrets is the right to read secrets by name.
func (d *deployment) secrets(names ...string) []right {
	var on []string
	for _, name := range names {
		on = append(on, arn("secretsmanager", "secret:"+d.Secrets+"/"+name+"-??????"))
	}
	if len(on) == 0 {
		return nil
	}
	return []right{{Do: []string{"secretsmanager:GetSecretValue"}, On: on, Because: "Secrets Manager ends each secret's name with six characters of its own."}}
}
