package stack

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
)

// R52: no worker reaches the shared state, a machine or another's gate.
func TestWorkerRights(t *testing.T) {
	t.Parallel()
	workers := 0
	whole.every(func(name string, tpl template) {
		if !strings.HasPrefix(name, "Worker") {
			return
		}
		workers++
		gate, _ := tpl.one(t, "AWS::Lambda::Function", "Gate")
		for _, s := range rightsOf(name, tpl) {
			for _, action := range s.Do {
				service, _, _ := strings.Cut(action, ":")
				switch service {
				case "dynamodb", "states", "sns", "iam", "ssm":
					t.Errorf("%s may %s", name, action)
				case "lambda":
					for _, on := range s.On {
						if on != "<"+gate+".Arn>" && !calls(name, on) {
							t.Errorf("%s may invoke %s", name, on)
						}
					}
				case "s3":
					for _, on := range s.On {
						if action != "s3:ListBucket" && !strings.Contains(on, "/"+connections) {
							t.Errorf("%s may %s on %s", name, action, on)
						}
					}
				}
			}
		}
		_, worker := tpl.one(t, "AWS::Lambda::Function", "Function")
		if at(worker.Properties, "Environment", "Variables", "OUTERLOOP_TABLE") != nil {
			t.Errorf("%s knows the table", name)
		}
	})
	if workers < 50 {
		t.Errorf("%d workers", workers)
	}
}

// calls tells whether a charter lets an agent use a worker as a tool.
func calls(stack, on string) bool {
	return stack == "WorkerSupportAgent" && (strings.HasSuffix(on, ":acme-worker-shop-order") ||
		strings.HasSuffix(on, ":acme-worker-refund") || strings.HasSuffix(on, ":acme-worker-callback"))
}

// R52: a worker has the rights of its charter's tools and no others.
func TestToolRights(t *testing.T) {
	t.Parallel()
	tests := []struct {
		worker string
		want   []string
	}{
		{"CrmScan", nil},
		{"StockLevel", []string{"s3:GetObject connections/stock/*", "s3:ListBucket"}},                                   // tools: {stock: [read]}
		{"Ledger", []string{"s3:GetObject connections/ledger/*", "s3:ListBucket", "s3:PutObject connections/ledger/*"}}, // verifies what it wrote
		{"Researcher", []string{"s3:GetObject connections/recorded/*", "s3:ListBucket"}},                                // a scripted model
	}
	for _, tt := range tests {
		var got []string
		for _, s := range rightsOf(tt.worker, whole.Templates["Worker"+tt.worker]) {
			for _, action := range s.Do {
				for _, on := range s.On {
					if _, file, ok := strings.Cut(on, ">/"); ok && strings.HasPrefix(action, "s3:") {
						got = append(got, action+" "+file)
					} else if strings.HasPrefix(action, "s3:") {
						got = append(got, action)
					}
				}
			}
		}
		if slices.Sort(got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.worker, got, tt.want)
		}
	}
}

// R25, R52: what each part of the coordinator may do with the table.
func TestTableRights(t *testing.T) {
	t.Parallel()
	reads := []string{"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"}
	writes := append([]string{"dynamodb:ConditionCheckItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}, reads...)
	all := append([]string{"dynamodb:DeleteItem"}, writes...)
	want := map[string][]string{
		"Gate": all, "Approval": all, "Trigger": all, "Watch": all, "Publish": all, "Console": reads, "Hook": nil, "Scheduler": nil,
	}
	got := map[string][]string{}
	for _, s := range rightsOf("", whole.Templates[""]) {
		role, _, _ := strings.Cut(strings.TrimPrefix(s.Role, "Loops"), "Role")
		got[role] = append(got[role], nil...)
		for _, action := range s.Do {
			if !strings.HasPrefix(action, "dynamodb:") {
				continue
			}
			got[role] = append(got[role], action)
			if role == "Gate" && action == "dynamodb:DeleteItem" {
				keys := list(at(s.When, "ForAllValues:StringLike", "dynamodb:LeadingKeys"))
				if len(keys) != 1 || keys[0] != record.WaitersPart("*") {
					t.Errorf("the gate may delete more than waits: %v", s.When)
				}
			}
		}
	}
	for role, actions := range want {
		slices.Sort(actions)
		have := slices.Sorted(slices.Values(got[role]))
		if _, there := got[role]; !there || !slices.Equal(slices.Compact(have), actions) {
			t.Errorf("%s: got %v, want %v", role, have, actions)
		}
	}
	if len(got) != len(want) {
		t.Errorf("roles: got %v", slices.Sorted(maps.Keys(got)))
	}
}

// The resources that are more than one thing. Another one needs a line here and
// a reason in the template.
var wildcards = []string{
	"*",                       // X-Ray
	"…/blobs/*", "…/inputs/*", // content by hash, triggers' files
	"…/connections/*",                // publish seeds all of them
	"…/connections/NAME/*",           // a worker's own
	"…:log-group:/aws/lambda/NAME:*", // streams of a function
	"…:log-group:/aws/lambda/acme-gate-*:*",
	"…:stateMachine:acme-*", "…:execution:acme-*",
	"…:execution:acme-NAME/*",  // children of a distributed map
	"…:function:acme-worker-*", // rollback
	"…:secret:acme/NAME-??????",
	"…:s3:::cdk-hnb659fds-assets-<AccountId>-<Region>/*",
}

func TestWildcards(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	whole.every(func(name string, tpl template) {
		for _, s := range rightsOf(name, tpl) {
			for _, action := range s.Do {
				if strings.Contains(action, "*") {
					t.Errorf("%s %s: action %s", name, s.Role, action)
				}
			}
			for _, on := range s.On {
				if !strings.ContainsAny(on, "*?") {
					continue
				}
				if len(s.Reasons) == 0 {
					t.Errorf("%s %s: %s has no reason", name, s.Role, on)
				}
				i := slices.IndexFunc(wildcards, func(known string) bool { return fits(known, on) })
				if i < 0 {
					t.Errorf("%s %s: %s is no known wildcard", name, s.Role, on)
					continue
				}
				seen[wildcards[i]] = true
			}
		}
	})
	for _, known := range wildcards {
		if !seen[known] {
			t.Errorf("nobody has %s any more", known)
		}
	}
}

// fits compares a resource with a pattern: … at its start is anything, NAME one name.
func fits(pattern, on string) bool {
	if pattern == on {
		return true
	}
	tail, ok := strings.CutPrefix(pattern, "…")
	if !ok {
		return false
	}
	before, after, named := strings.Cut(tail, "NAME")
	if !named {
		return strings.HasSuffix(on, tail)
	}
	i := strings.LastIndex(on, before)
	if i < 0 || !strings.HasSuffix(on, after) || i+len(before)+len(after) > len(on) {
		return false
	}
	name := on[i+len(before) : len(on)-len(after)]
	return name != "" && !strings.ContainsAny(name, "*?/")
}

// What the coordinator's roles may do besides reading and writing the table,
// their logs and X-Ray: whoever adds a right adds it here, with a reason.
func TestCoordinatorRights(t *testing.T) {
	t.Parallel()
	executes := []string{"states:DescribeExecution", "states:SendTaskFailure", "states:SendTaskSuccess", "states:StartExecution", "states:StopExecution"}
	blobs := []string{"s3:GetObject", "s3:ListBucket", "s3:PutObject"}
	with := func(more ...string) []string { return append(slices.Concat(executes, blobs), more...) }
	want := map[string][]string{
		"Gate":     with(),
		"Approval": with("lambda:InvokeFunction"),
		"Trigger":  with("lambda:InvokeFunction", "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage", "sqs:SendMessage"),
		"Watch": with("lambda:InvokeFunction", "sns:Publish", // secrets too where groups are told over channels that have one
			"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:SendMessage"),
		"Console": {"lambda:InvokeFunction", "s3:GetObject", "s3:ListBucket"}, // it hands decisions on
		"Publish": append(slices.Clone(blobs), "states:CreateStateMachineAlias", "states:DeleteStateMachineVersion", "states:ListStateMachineVersions",
			"states:PublishStateMachineVersion", "states:UpdateStateMachineAlias"),
		"Hook":      {"secretsmanager:GetSecretValue", "sqs:SendMessage"},
		"Scheduler": {"lambda:InvokeFunction", "sqs:SendMessage"},
	}
	got := map[string][]string{}
	for _, s := range rightsOf("", whole.Templates[""]) {
		role, _, _ := strings.Cut(strings.TrimPrefix(s.Role, "Loops"), "Role")
		for _, action := range s.Do {
			if service, _, _ := strings.Cut(action, ":"); !slices.Contains([]string{"dynamodb", "logs", "xray"}, service) {
				got[role] = append(got[role], action)
			}
		}
	}
	for role, actions := range want {
		slices.Sort(actions)
		have := slices.Compact(slices.Sorted(slices.Values(got[role])))
		if !slices.Equal(have, actions) {
			t.Errorf("%s: got %v, want %v", role, have, actions)
		}
	}
}
