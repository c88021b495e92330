package outside_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

type record struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// maker is a worker that makes one record over the connection "shelf".
func maker(t *testing.T, options ...worker.Option) worker.Worker {
	t.Helper()
	return worker.New("maker", 1, func(ctx context.Context, task worker.Task[record]) (worker.Result[record], error) {
		made, evidence, err := outside.Do(ctx, task, "shelf", func(a worker.Action) (record, error) {
			if task.Input.Name == "" {
				return record{}, worker.MissingInput("no name")
			}
			return record{task.Input.Name, a.ProviderKey}, nil
		})
		return worker.Result[record]{Output: made, Evidence: evidence}, err
	}, options...)
}

func setup(dir string) workertest.Setup {
	return workertest.Setup{
		Action: "put", Gate: &workertest.Gate{},
		Connections: map[string]worker.Connection{"shelf": {Name: "shelf", Kind: outside.Kind, Settings: map[string]string{"dir": dir}}},
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The same action makes one record, and its evidence names the entry (R37).
func TestDoOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shelf")
	s := setup(dir)
	w := maker(t)
	first := workertest.Run(t, w, record{Name: "a"}, s)
	again := workertest.Run(t, w, record{Name: "a"}, s)
	if a, b := workertest.Output[record](t, first), workertest.Output[record](t, again); a != b || a.Key == "" {
		t.Errorf("%+v, then %+v", a, b)
	}
	if names := files(t, dir); len(names) != 1 || !strings.HasPrefix(names[0], "run_put-") {
		t.Errorf("%v", names)
	}
	if first.Result.Evidence[0].Source != "action:run:put" || !strings.Contains(again.Result.Evidence[0].Claim, "made before") {
		t.Errorf("%+v, then %+v", first.Result.Evidence, again.Result.Evidence)
	}
	all, err := outside.All[record](t.Context(), s.Connections["shelf"], nil)
	if err != nil || len(all) != 1 || all[0].Name != "a" {
		t.Errorf("%+v, %v", all, err)
	}
}

// A lost answer: with the look-up there is one record, without it two, because
// the directory takes what it is given.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	blind := func(context.Context, worker.VerifyRequest) (worker.Verification, error) {
		return worker.Verification{Finding: worker.NotFound}, nil
	}
	for name, c := range map[string]struct {
		look    worker.VerifyFunc
		records int
	}{"with look-up": {outside.Verify[record]("shelf"), 1}, "without look-up": {blind, 2}} {
		dir := t.TempDir()
		s := setup(dir)
		w := maker(t, worker.WithVerify(c.look))
		workertest.Run(t, w, record{Name: "a"}, s)
		entry := s.Gate.Log["run:put"]
		entry.State, entry.Result = "unknown", nil
		if out := workertest.Output[record](t, workertest.Run(t, w, record{Name: "a"}, s)); out.Name != "a" {
			t.Errorf("%s: %+v", name, out)
		}
		if names := files(t, dir); len(names) != c.records {
			t.Errorf("%s: %v", name, names)
		}
	}
}

// What died before its record was whole left nothing that counts.
func TestDraftIsNoRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := setup(dir)
	w := maker(t, worker.WithVerify(outside.Verify[record]("shelf")))
	workertest.Run(t, w, record{Name: "a"}, s)
	name := files(t, dir)[0]
	if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "."+strings.TrimSuffix(name, ".json")+".draft")); err != nil {
		t.Fatal(err)
	}
	if all, err := outside.All[record](t.Context(), s.Connections["shelf"], nil); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	entry := s.Gate.Log["run:put"]
	entry.State, entry.Result = "unknown", nil
	workertest.Output[record](t, workertest.Run(t, w, record{Name: "a"}, s))
	if names := files(t, dir); len(names) != 1 || names[0] != name {
		t.Errorf("%v, want %s", names, name)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change        func(*workertest.Setup)
		in            record
		class, action string
	}{
		"no connection":   {change: func(s *workertest.Setup) { s.Connections = nil }, in: record{Name: "a"}, class: "fatal"},
		"another kind":    {change: func(s *workertest.Setup) { s.Connections["shelf"] = worker.Connection{Kind: "http"} }, in: record{Name: "a"}, class: "fatal"},
		"no directory":    {change: func(s *workertest.Setup) { s.Connections["shelf"].Settings["dir"] = "" }, in: record{Name: "a"}, class: "fatal"},
		"no action":       {change: func(s *workertest.Setup) { s.Action = "" }, in: record{Name: "a"}, class: "fatal"},
		"nothing to make": {in: record{}, class: "missing_input", action: "failed"},
		"not a directory": {change: func(s *workertest.Setup) { s.Connections["shelf"].Settings["dir"] = file }, in: record{Name: "a"}, class: "transient", action: "failed"},
	} {
		s := setup(t.TempDir())
		if c.change != nil {
			c.change(&s)
		}
		o := workertest.Run(t, maker(t), c.in, s)
		if o.Failure == nil || string(o.Failure.Class) != c.class {
			t.Errorf("%s: %+v, want %s", name, o.Failure, c.class)
		}
		if e := s.Gate.Log["run:put"]; c.action != "" && (e == nil || e.State != c.action) {
			t.Errorf("%s: action %+v", name, e)
		}
	}
}
