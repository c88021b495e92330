package stack_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/console/stack"
)

// Deployments are added beside each other; the one connected last is meant when
// none is named.
func TestStacks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "aws.json")
	if _, err := stack.Read(path); !errors.Is(err, stack.ErrNone) {
		t.Errorf("no file: %v", err)
	}
	a, b := stack.Stack{Console: "a-console", Region: "eu-central-1"}, stack.Stack{Console: "b-console"}
	if err := errors.Join(stack.Add(path, "A", a), stack.Add(path, "B", b), stack.Add(path, "A", a)); err != nil {
		t.Fatal(err)
	}
	f, err := stack.Read(path)
	if err != nil || !slices.Equal(f.Names(), []string{"A", "B"}) {
		t.Fatalf("%+v, %v", f, err)
	}
	if name, s, err := f.Find(""); name != "A" || s != a || err != nil {
		t.Errorf("the default: %s %+v, %v", name, s, err)
	}
	if _, s, err := f.Find("B"); s != b || err != nil {
		t.Errorf("B: %+v, %v", s, err)
	}
	if _, _, err := f.Find("C"); !errors.Is(err, stack.ErrUnknown) {
		t.Errorf("C: %v", err)
	}
	for _, bad := range []string{"", "[]", `{"stacks":{"a":{}}}`, `{"frob":1}`} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := stack.Read(path); !errors.Is(err, stack.ErrFile) {
			t.Errorf("%q: %v", bad, err)
		}
		if err := stack.Add(path, "A", a); !errors.Is(err, stack.ErrFile) {
			t.Errorf("adding to %q: %v", bad, err)
		}
	}
}
