package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is linked is initialised before main: these would cost every command's
// start-up, or do not belong into a user's binary.
var unwanted = []string{
	"go.opentelemetry.io/",
	"google.golang.org/grpc",
	"github.com/chromedp/",
	"pgregory.net/rapid",
	"github.com/google/go-cmp",
	"net/http/pprof",
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore",
	"github.com/outerloop-dev/outerloop/pkg/store/storetest",
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest",
	"github.com/outerloop-dev/outerloop/internal/sim",
}

// ofLambda are the AWS packages that the one Lambda client of --target aws needs,
// with what finds the caller's credentials.
var ofLambda = []string{
	"github.com/aws/smithy-go", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/config",
	"github.com/aws/aws-sdk-go-v2/credentials", "github.com/aws/aws-sdk-go-v2/internal", "github.com/aws/aws-sdk-go-v2/feature/ec2/imds",
	"github.com/aws/aws-sdk-go-v2/service/internal", "github.com/aws/aws-sdk-go-v2/service/lambda", "github.com/aws/aws-sdk-go-v2/service/signin",
	"github.com/aws/aws-sdk-go-v2/service/sso", "github.com/aws/aws-sdk-go-v2/service/ssooidc", "github.com/aws/aws-sdk-go-v2/service/sts",
}

// R67: the command line starts in under 30 ms; the list of imports keeps it.
func TestImportsStayLean(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("listing imports: %v\n%s", err, out)
	}
	for _, dependency := range strings.Fields(string(out)) {
		if dependency == "testing" {
			t.Errorf("the program links %s", dependency)
		}
		known := func(prefix string) bool { return dependency == prefix || strings.HasPrefix(dependency, prefix+"/") }
		if strings.HasPrefix(dependency, "github.com/aws/") && !slices.ContainsFunc(ofLambda, known) {
			t.Errorf("the program links %s", dependency)
		}
		for _, prefix := range unwanted {
			if strings.HasPrefix(dependency, prefix) {
				t.Errorf("the program links %s", dependency)
			}
		}
	}
}

// BenchmarkStartup measures whole processes: `version`, and `validate` of S1.
func BenchmarkStartup(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "outerloop")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("building: %v\n%s", err, out)
	}
	for _, line := range []string{"version", "validate --project ../.. statemachines/crm-followup.loop.yaml"} {
		b.Run(strings.Fields(line)[0], func(b *testing.B) {
			for b.Loop() {
				if out, err := exec.Command(bin, strings.Fields(line)...).CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
		})
	}
}
