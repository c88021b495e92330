package asl

import "strings"

// Pattern is how a task waits for its service.
type Pattern string

// The integration patterns of a resource.
const (
	// RequestResponse goes on with the service's answer.
	RequestResponse Pattern = ""
	// Sync waits until the job ended (.sync).
	Sync Pattern = "sync"
	// Sync2 waits until the job ended and parses its output (.sync:2).
	Sync2 Pattern = "sync:2"
	// WaitForTaskToken waits until somebody returns the token.
	WaitForTaskToken Pattern = "waitForTaskToken"
)

// ResourceKind tells resources apart by how they are recorded in the history.
type ResourceKind string

// The kinds of resources.
const (
	// ServiceTask is an integration, as in arn:aws:states:::sqs:sendMessage.
	ServiceTask ResourceKind = "service"
	// LambdaFunction is a bare function ARN.
	LambdaFunction ResourceKind = "lambda"
	// Activity is an activity ARN.
	Activity ResourceKind = "activity"
)

// Resource is the parsed Resource of a Task state.
type Resource struct {
	// ARN is the resource as written.
	ARN  string
	Kind ResourceKind
	// Service and Action are set for a ServiceTask, as in "sqs" and
	// "sendMessage"; for an SDK integration Service is "aws-sdk:sqs".
	Service, Action string
	Pattern         Pattern
	// Region is the region of the ARN, may be empty.
	Region string
}

// ParseResource reads the ARN of a Task's Resource. It reports false for what
// Step Functions would not take.
func ParseResource(arn string) (Resource, bool) {
	r := Resource{ARN: arn}
	part := strings.SplitN(arn, ":", 6)
	if len(part) < 6 || part[0] != "arn" || part[1] == "" || part[5] == "" {
		return r, false
	}
	r.Region = part[3]
	switch {
	case part[2] == "lambda" && strings.HasPrefix(part[5], "function:"):
		r.Kind = LambdaFunction
		return r, part[5] != "function:"
	case part[2] == "states" && strings.HasPrefix(part[5], "activity:"):
		r.Kind = Activity
		return r, part[5] != "activity:"
	case part[2] == "states" && part[3] == "" && part[4] == "":
		r.Kind = ServiceTask
		return r, r.parseService(part[5])
	}
	return r, false
}

func (r *Resource) parseService(s string) bool {
	for _, p := range []Pattern{WaitForTaskToken, Sync2, Sync} {
		if rest, ok := strings.CutSuffix(s, "."+string(p)); ok {
			s, r.Pattern = rest, p
			break
		}
	}
	i := strings.LastIndexByte(s, ':')
	if i <= 0 || i == len(s)-1 || strings.Contains(s[i:], ".") {
		return false
	}
	r.Service, r.Action = s[:i], s[i+1:]
	return true
}

// ResourceType returns the service as the history names it.
func (r Resource) ResourceType() string { return r.Service }

// HistoryResource returns the action with its pattern as the history names it,
// as in "sendMessage.waitForTaskToken".
func (r Resource) HistoryResource() string {
	if r.Pattern == RequestResponse {
		return r.Action
	}
	return r.Action + "." + string(r.Pattern)
}
