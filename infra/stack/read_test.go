package stack

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// of are the resources of a type, by logical id in order.
func (t template) of(kind string) []string {
	var ids []string
	for id, r := range t.Resources {
		if r.Type == kind {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// one finds the only resource of a type whose logical id begins with a prefix.
func (t template) one(tb testing.TB, kind, prefix string) (string, resource) {
	tb.Helper()
	var found []string
	for _, id := range t.of(kind) {
		if strings.HasPrefix(id, prefix) {
			found = append(found, id)
		}
	}
	if len(found) != 1 {
		tb.Fatalf("%s %s*: found %v", kind, prefix, found)
	}
	return found[0], t.Resources[found[0]]
}

// at follows keys down through maps; nil: there is nothing.
func at(value any, path ...string) any {
	for _, key := range path {
		m, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = m[key]
	}
	return value
}

// list makes a list of what may be one value.
func list(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{value}
}

// said writes a value in which CloudFormation's functions stand as such:
// "arn:<Partition>:states:…", "<GateAB12.Arn>".
func flat(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case map[string]any:
		if ref, ok := v["Ref"].(string); ok {
			return "<" + strings.TrimPrefix(ref, "AWS::") + ">"
		}
		if get := list(v["Fn::GetAtt"]); len(get) == 2 {
			return fmt.Sprintf("<%v.%v>", get[0], get[1])
		}
		if join := list(v["Fn::Join"]); len(join) == 2 {
			var parts []string
			for _, part := range list(join[1]) {
				parts = append(parts, flat(part))
			}
			return strings.Join(parts, fmt.Sprint(join[0]))
		}
	}
	raw, _ := json.Marshal(value)
	return string(raw)
}

// statement is one statement of a role's or resource's policy.
type statement struct {
	Stack, Role string
	Do, On      []string
	When        any
	// Reasons are cdk-nag's suppressions on the role.
	Reasons []string
}

// rightsOf are all statements of all roles in a template.
func rightsOf(name string, t template) []statement {
	var out []statement
	for _, id := range t.of("AWS::IAM::Role") {
		role := t.Resources[id]
		for _, policy := range list(role.Properties["Policies"]) {
			for _, raw := range list(at(policy, "PolicyDocument", "Statement")) {
				s := statement{Stack: name, Role: id, When: at(raw, "Condition"), Reasons: reasons(role)}
				for _, action := range list(at(raw, "Action")) {
					s.Do = append(s.Do, flat(action))
				}
				for _, on := range list(at(raw, "Resource")) {
					s.On = append(s.On, flat(on))
				}
				out = append(out, s)
			}
		}
	}
	return out
}

// reasons are the reasons of a resource's suppressions of wildcards.
func reasons(r resource) []string {
	var out []string
	for _, rule := range list(at(r.Metadata, "cdk_nag", "rules_to_suppress")) {
		if at(rule, "id") == "AwsSolutions-IAM5" {
			out = append(out, fmt.Sprint(at(rule, "reason")))
		}
	}
	return out
}

// every walks over all stacks in order of their names.
func (s synthesis) every(visit func(name string, t template)) {
	for _, name := range slices.Sorted(maps.Keys(s.Templates)) {
		visit(name, s.Templates[name])
	}
}

// functions are all functions by their names, with the stack they stand in.
func (s synthesis) functions() map[string]resource {
	out := map[string]resource{}
	s.every(func(_ string, t template) {
		for _, id := range t.of("AWS::Lambda::Function") {
			out[fmt.Sprint(t.Resources[id].Properties["FunctionName"])] = t.Resources[id]
		}
	})
	return out
}

func seconds(value any) float64 {
	n, _ := value.(float64)
	return n
}
