package stack

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/outerloop-dev/outerloop/infra/bundle"
	"github.com/outerloop-dev/outerloop/pkg/cost"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
)

// cdk-nag has nothing to say, and no template comes near CloudFormation's limits.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, line := range whole.Said {
		t.Error(line)
	}
	whole.every(func(name string, tpl template) {
		if len(tpl.Resources) > 400 || len(tpl.Raw) > 800_000 || len(tpl.Outputs) > 150 {
			t.Errorf("%q: %d resources, %d bytes, %d outputs", name, len(tpl.Resources), len(tpl.Raw), len(tpl.Outputs))
		}
	})
	for _, name := range []string{"TableName", "BucketName", "ConsoleFunction", "TriggerFunction", "ApprovalFunction", "HookUrl", "AlertTopic", "Concurrency"} {
		if whole.Templates[""].Outputs[name] == nil {
			t.Errorf("no output %s", name)
		}
	}
}

// What cdk-nag finds is either put right or has its reason, and no reason stands
// for what it does not find.
func TestSuppressions(t *testing.T) {
	t.Parallel()
	reports, err := filepath.Glob(filepath.Join(whole.Dir, "*-NagReport.csv"))
	if err != nil || len(reports) != len(whole.Templates) {
		t.Fatalf("%d reports of %d stacks: %v", len(reports), len(whole.Templates), err)
	}
	found := map[string]int{}
	for _, report := range reports {
		file, err := os.Open(report)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(file).ReadAll()
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(report, err)
		}
		for _, row := range rows[1:] {
			rule, _, _ := strings.Cut(row[0], "[")
			switch row[2] {
			case "Suppressed":
				found[rule]++
			case "Non-Compliant", "UNKNOWN":
				t.Errorf("%s: %s: %s", row[0], row[1], row[5])
			}
		}
	}
	suppressed := map[string]bool{}
	whole.every(func(_ string, tpl template) {
		for _, r := range tpl.Resources {
			for _, rule := range list(at(r.Metadata, "cdk_nag", "rules_to_suppress")) {
				suppressed[fmt.Sprint(at(rule, "id"))] = true
			}
		}
	})
	if got, want := slices.Sorted(maps.Keys(suppressed)), slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("suppressed %v, found %v", got, want)
	}
}

// R64: the table is the one that the store describes; it cannot be lost by mistake.
func TestTable(t *testing.T) {
	t.Parallel()
	_, table := whole.Templates[""].one(t, "AWS::DynamoDB::Table", "LoopsTable")
	p := table.Properties
	want := dynamostore.Table("acme")
	check := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	check("name", p["TableName"], *want.TableName)
	check("keys", keysOf(p["KeySchema"]), described(want.KeySchema))
	check("billing", p["BillingMode"], want.BillingMode)
	check("TTL", at(p, "TimeToLiveSpecification", "AttributeName"), dynamostore.ExpiresAttribute)
	check("point in time recovery", at(p, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"), true)
	check("deletion protection", p["DeletionProtectionEnabled"], true)
	check("encryption", at(p, "SSESpecification", "SSEEnabled"), true)
	check("deletion policy", table.DeletionPolicy, "Retain")
	indexes := map[string]string{}
	for _, raw := range list(p["GlobalSecondaryIndexes"]) {
		indexes[fmt.Sprint(at(raw, "IndexName"))] = fmt.Sprint(keysOf(at(raw, "KeySchema")), at(raw, "Projection", "ProjectionType"))
	}
	wanted := map[string]string{}
	for _, index := range want.GlobalSecondaryIndexes {
		wanted[*index.IndexName] = fmt.Sprint(described(index.KeySchema), index.Projection.ProjectionType)
	}
	check("indexes", indexes, wanted)
}

func keysOf(schema any) []string {
	var out []string
	for _, element := range list(schema) {
		out = append(out, fmt.Sprint(at(element, "AttributeName"), " ", at(element, "KeyType")))
	}
	return out
}

func described(schema []types.KeySchemaElement) []string {
	var out []string
	for _, element := range schema {
		out = append(out, fmt.Sprint(*element.AttributeName, " ", element.KeyType))
	}
	return out
}

// Every function is Go on Lambda's own system, has a log group that forgets, and
// a charter's worker has its own gate.
func TestFunctions(t *testing.T) {
	t.Parallel()
	functions, agents := whole.functions(), 0
	for name, f := range functions {
		if f.Properties["Runtime"] != "provided.al2023" || fmt.Sprint(f.Properties["Architectures"]) != "[arm64]" || f.Properties["Handler"] != "bootstrap" {
			t.Errorf("%s: %v %v", name, f.Properties["Runtime"], f.Properties["Architectures"])
		}
		worker, ok := strings.CutPrefix(name, "acme-worker-")
		if !ok {
			continue
		}
		if limit, set := at(f.Properties, "Environment", "Variables", "OUTERLOOP_MODEL_TIME").(string); set {
			agents++
			if d, err := time.ParseDuration(limit); err != nil || d <= 0 || d.Seconds() >= seconds(f.Properties["Timeout"])-15 {
				t.Errorf("%s: one call of its model may take %s of its %v s, %v", name, limit, f.Properties["Timeout"], err)
			}
		}
		gate, ok := functions["acme-gate-"+worker]
		if !ok {
			t.Errorf("%s has no gate", name)
			continue
		}
		if got := at(gate.Properties, "Environment", "Variables", "OUTERLOOP_WORKER"); got != worker {
			t.Errorf("the gate of %s is that of %v", worker, got)
		}
	}
	if agents == 0 {
		t.Error("no agent's calls of its model are bounded")
	}
	whole.every(func(name string, tpl template) {
		for _, id := range tpl.of("AWS::Logs::LogGroup") {
			if tpl.Resources[id].Properties["RetentionInDays"] == nil {
				t.Errorf("%s: %s keeps logs for ever", name, id)
			}
		}
	})
}

// R62: a function URL without both statements answers 403.
func TestHookURL(t *testing.T) {
	t.Parallel()
	root := whole.Templates[""]
	got := map[string]bool{}
	for _, id := range root.of("AWS::Lambda::Permission") {
		p := root.Resources[id].Properties
		if p["Principal"] == "*" {
			got[fmt.Sprint(p["Action"], " ", p["FunctionUrlAuthType"], " ", p["InvokedViaFunctionUrl"])] = true
		}
	}
	want := []string{"lambda:InvokeFunction <nil> true", "lambda:InvokeFunctionUrl NONE <nil>"}
	if have := slices.Sorted(maps.Keys(got)); !slices.Equal(have, want) {
		t.Errorf("got %q, want %q", have, want)
	}
}

// R69: alarms reach the topic, are few, and each says what to do.
func TestAlarms(t *testing.T) {
	t.Parallel()
	root := whole.Templates[""]
	topic, _ := root.one(t, "AWS::SNS::Topic", "Loops")
	_, policy := root.one(t, "AWS::SNS::TopicPolicy", "Loops")
	allowed := false
	for _, s := range list(at(policy.Properties, "PolicyDocument", "Statement")) {
		allowed = allowed || at(s, "Effect") == "Allow" && at(s, "Principal", "Service") == "cloudwatch.amazonaws.com" && at(s, "Action") == "sns:Publish"
	}
	if !allowed {
		t.Error("alarms may not publish to the topic")
	}
	alarms := root.of("AWS::CloudWatch::Alarm")
	if priced := cost.Prices().Quantities["alarms_a_stack"]; float64(len(alarms)) != priced {
		t.Errorf("%d alarms, and 'outerloop cost' knows of %v", len(alarms), priced)
	}
	for _, id := range alarms {
		a := root.Resources[id].Properties
		if actions := list(a["AlarmActions"]); len(actions) != 1 || flat(actions[0]) != "<"+topic+">" {
			t.Errorf("%s does %v", id, actions)
		}
		if len(fmt.Sprint(a["AlarmDescription"])) < 30 || a["MetricName"] == nil {
			t.Errorf("%s: %v of %v", id, a["AlarmDescription"], a["MetricName"])
		}
	}
	_, silent := root.one(t, "AWS::CloudWatch::Alarm", "LoopsAlarmWatchSilent")
	if silent.Properties["TreatMissingData"] != "breaching" {
		t.Error("a watch that never looks alarms nobody")
	}
}

// R65: the same project gives the same templates, and options do what they say.
func TestSecondSynthesis(t *testing.T) {
	small := func(p *Props) {
		p.Loops, p.AccountConcurrency = []string{"market-research"}, 1000
		p.Table, p.Bucket = "acme-restored", "acme-kept" // after a disaster
	}
	var both [2]synthesis
	for i := range both {
		var err error
		if both[i], err = synthesise(t.TempDir(), small); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := slices.Sorted(maps.Keys(both[1].Templates)), slices.Sorted(maps.Keys(both[0].Templates)); !slices.Equal(got, want) {
		t.Fatalf("stacks: got %v, want %v", got, want)
	}
	for name, tpl := range both[0].Templates {
		if !bytes.Equal(tpl.Raw, both[1].Templates[name].Raw) {
			t.Errorf("%q is another the second time", name)
		}
	}
	_, gate := both[0].Templates["WorkerResearcher"].one(t, "AWS::Lambda::Function", "Gate")
	if got := gate.Properties["ReservedConcurrentExecutions"]; got != 13.0 { // its worker's at_once is 12
		t.Errorf("the researcher's gate has %v reserved", got)
	}
	root := both[0].Templates[""]
	if made := append(root.of("AWS::DynamoDB::Table"), root.of("AWS::S3::Bucket")...); len(made) > 0 {
		t.Errorf("made beside what is there: %v", made)
	}
	if got := at(gate.Properties, "Environment", "Variables", "OUTERLOOP_TABLE"); got != "acme-restored" {
		t.Errorf("the gate writes to %v", got)
	}
	if _, there := both[0].Templates["WorkerCrmScan"]; there {
		t.Error("a worker is deployed that no chosen loop uses")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		with func(*Props)
		is   error
		says string
	}{
		{"no project", func(p *Props) { p.Project = nil }, ErrProps, "a project is required"},
		{"unknown loop", func(p *Props) { p.Loops = []string{"crm-follow"} }, ErrProps, `"crm-follow"; there are booking`},
		{"architecture", func(p *Props) { p.Architecture = "x86" }, ErrProps, "arm64 or amd64"},
		{"webhooks", func(p *Props) {
			for i := range 60 {
				name := fmt.Sprint("a-sender-with-a-long-name-", i)
				p.Project.Registry.Webhooks = append(p.Project.Registry.Webhooks, registry.Webhook{Name: name, Verify: "github", Secrets: []string{name}})
			}
		}, ErrProps, "of which Lambda has 4,096"},
		{"logs", func(p *Props) { p.LogDays = 31 }, ErrProps, "logs for 31 days"},
	}
	for _, tt := range tests {
		p, err := props(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		tt.with(&p)
		if _, err := Packages(p); !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	p, err := props(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p.Loops, p.Architecture = []string{"quarterly-report"}, bundle.AMD64
	packages, err := Packages(p)
	if err != nil || !slices.Contains(packages, "./functions/workers/trend-analyst/lambda") {
		t.Errorf("the loops that a loop starts do not come along: %v %v", packages, err)
	}
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	units := []unit{{Name: "a", AtOnce: 1}, {Name: "b", AtOnce: 30}}
	tests := []struct {
		limit    int
		reserved int
		says     string
		fails    bool
	}{
		{limit: 0},
		{limit: 1000, reserved: 31},
		{limit: 100, says: "would need 44"},
		{limit: 60, fails: true, says: "most: b 30, a 2"},
	}
	for _, tt := range tests {
		got, err := count(units, tt.limit)
		if errors.Is(err, ErrConcurrency) != tt.fails {
			t.Errorf("%d: %v", tt.limit, err)
		}
		if got.Gates["b"] != tt.reserved || !strings.Contains(fmt.Sprint(got.Note, err), tt.says) {
			t.Errorf("%d: reserved %v, says %q %v", tt.limit, got.Gates, got.Note, err)
		}
	}
}
