package stack

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// The coordinator's functions, and the folders of their code.
const (
	roleGate     = "gate"
	roleApproval = "approval"
	roleTrigger  = "trigger"
	roleHook     = "hook"
	roleWatch    = "watch"
	roleConsole  = "console"
	rolePublish  = "publish"
)

var roles = []string{roleGate, roleApproval, roleTrigger, roleHook, roleWatch, roleConsole, rolePublish}

// str is jsii's pointer to a string.
func str(s string) *string { return &s }

func num(n int) *float64 { return jsii.Number(n) }

func yes() *bool { return jsii.Bool(true) }

// name is a resource's name: the project and what it is.
func (d *deployment) name(words ...string) string {
	return strings.Join(append([]string{d.project}, words...), "-")
}

// arn is the name of something in this account and Region.
func arn(service, resource string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", *awscdk.Aws_PARTITION(), service, *awscdk.Aws_REGION(), *awscdk.Aws_ACCOUNT_ID(), resource)
}

func (d *deployment) functionARN(words ...string) string {
	return arn("lambda", "function:"+d.name(words...))
}
func (d *deployment) machineARN(loop string) string {
	return arn("states", "stateMachine:"+d.name(loop))
}
func (d *deployment) queueARN(name string) string { return arn("sqs", d.name(name)) }

// camel joins the words of a name for logical ids.
func camel(name string) string {
	var out strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '_' || r == '/' || r == '.' }) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}
