package agent_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A program links the AWS SDK only where it imports the Bedrock adapter, and no
// agent links the rule language or the coordinator.
func TestImportsStayLean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ of, not string }{
		{".", "github.com/aws/"}, {".", "net/http"}, {".", "github.com/goccy/go-yaml"}, {".", "testing"},
		{"./openai", "github.com/aws/"}, {"./scripted", "github.com/aws/"}, {"./catalog", "github.com/aws/"},
		{"./bedrock", "cel.dev/"}, {"./bedrock", "github.com/goccy/go-yaml"},
		{"../../functions/workers/agent", "github.com/aws/"}, {"../../functions/workers/agent", "cel.dev/"},
		{"../../functions/workers/agent", "github.com/goccy/go-yaml"}, {"../../functions/workers/agent", "outerloop/pkg/coordinator"},
		{"../../functions/workers/agent/crew", "github.com/aws/"}, {"../../functions/workers/agent/crew", "outerloop/pkg/local"},
	} {
		out, err := exec.Command("go", "list", "-deps", c.of).CombinedOutput()
		if err != nil {
			t.Fatalf("listing imports of %s: %v\n%s", c.of, err, out)
		}
		for _, dependency := range strings.Fields(string(out)) {
			if dependency == c.not || strings.HasSuffix(c.not, "/") && strings.HasPrefix(dependency, c.not) || strings.HasSuffix(dependency, "/"+c.not) {
				t.Errorf("%s links %s", c.of, dependency)
			}
		}
	}
}
