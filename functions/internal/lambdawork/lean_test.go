package lambdawork_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A worker's program links no validator, no YAML and no way to the table (R20).
func TestLean(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"github.com/outerloop-dev/outerloop/functions/workers/crm-scan/lambda", "github.com/outerloop-dev/outerloop/functions/workers/bridge/lambda").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := "\n" + string(out)
	for _, heavy := range []string{
		"cel.dev/", "github.com/santhosh-tekuri/jsonschema", "github.com/goccy/go-yaml", "service/dynamodb\n", "service/sfn\n",
		"outerloop/pkg/coordinator", "outerloop/pkg/loop\n", "outerloop/pkg/store",
	} {
		if strings.Contains(deps, heavy) {
			t.Errorf("it links %s", strings.TrimSpace(heavy))
		}
	}
}
