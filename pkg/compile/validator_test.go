package compile_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// validator finds the independent checker of state machines, the npm package
// asl-validator. `.ci/run` installs it and requires it.
func validator(t *testing.T) string {
	t.Helper()
	path := os.Getenv("OUTERLOOP_ASL_VALIDATOR")
	if path == "" {
		path = filepath.Join("..", "..", "build", "npm", "node_modules", ".bin", "asl-validator")
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("asl-validator is required here and is not at %s", path)
		}
		t.Skipf("asl-validator (npm) is not installed: %v", err)
	}
	return path
}

func validate(t *testing.T, file string) (string, error) {
	t.Helper()
	out, err := exec.Command(validator(t), "--json-path", file, "--no-arn-check").CombinedOutput()
	return string(out), err
}

// Every committed machine passes a checker that is not ours.
func TestMachinesPassAnIndependentValidator(t *testing.T) {
	t.Parallel()
	validator(t)
	machines, err := filepath.Glob("../../statemachines/*.asl.json")
	if err != nil || len(machines) == 0 {
		t.Fatalf("no compiled machines found: %v", err)
	}
	for _, machine := range machines {
		t.Run(filepath.Base(machine), func(t *testing.T) {
			t.Parallel()
			if out, err := validate(t, machine); err != nil {
				t.Errorf("refused: %v\n%s", err, out)
			}
		})
	}
}

// The check bites: a dangling Next fails it.
func TestIndependentValidatorBites(t *testing.T) {
	t.Parallel()
	validator(t)
	good, err := os.ReadFile("../../statemachines/crm-followup.asl.json")
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Replace(good, []byte(`"Next": "dashboard"`), []byte(`"Next": "nowhere"`), 1)
	if bytes.Equal(broken, good) {
		t.Fatal("the machine has no such Next to break")
	}
	file := filepath.Join(t.TempDir(), "broken.asl.json")
	if err := os.WriteFile(file, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := validate(t, file); err == nil {
		t.Fatalf("a dangling Next passed:\n%s", out)
	} else if !strings.Contains(out, "nowhere") {
		t.Errorf("the message does not name the missing state:\n%s", out)
	}
}
