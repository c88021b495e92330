package worker_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// The items of a run read one file; its content is fetched once.
func TestBlobFiles(t *testing.T) {
	t.Parallel()
	gets := 0
	files := &worker.BlobFiles{Get: func(_ context.Context, ref string) ([]byte, error) {
		gets++
		if ref == "gone" {
			return nil, errors.New("no such blob")
		}
		return []byte(ref), nil
	}}
	for _, ref := range []string{"a", "b", "a", "b", "c", "c", "b"} {
		f, err := files.Open(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if content, err := io.ReadAll(worker.Reader(f)); err != nil || string(content) != ref || f.Size() != 1 {
			t.Errorf("%s holds %q, %v", ref, content, err)
		}
	}
	if gets != 3 {
		t.Errorf("fetched %d times", gets)
	}
	if _, err := files.Open(t.Context(), "gone"); err == nil {
		t.Error("a blob that is gone was opened")
	}
}

func TestFileAndConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		use   func(context.Context, worker.Task[map[string]any]) error
		files map[string]string
		want  outerloop.Class
	}{
		"no such file": {func(ctx context.Context, t worker.Task[map[string]any]) error {
			_, err := t.File(ctx, "other")
			return err
		}, nil, outerloop.ClassMissingInput},
		"unreadable file": {func(ctx context.Context, t worker.Task[map[string]any]) error {
			_, err := t.File(ctx, "file")
			return err
		}, map[string]string{"file": "gone"}, outerloop.ClassTransient},
		"by the input's own reference": {func(ctx context.Context, t worker.Task[map[string]any]) error {
			_, err := t.File(ctx, "file")
			return err
		}, nil, ""},
		"no such connection": {func(_ context.Context, t worker.Task[map[string]any]) error {
			_, err := t.Connection("mail")
			return err
		}, nil, outerloop.ClassFatal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := worker.New("w", 1, func(ctx context.Context, t worker.Task[map[string]any]) (worker.Result[int], error) {
				return worker.Result[int]{}, c.use(ctx, t)
			})
			g := &workertest.Gate{Task: &gate.Task{Run: "run", Step: "s", Input: []byte(`{"file":"sha256:1"}`), Files: c.files}}
			inv := invocation(w, g)
			inv.Env.Files = &worker.BlobFiles{Get: func(_ context.Context, ref string) ([]byte, error) {
				if ref == "gone" {
					return nil, errors.New("no such blob")
				}
				return []byte(ref), nil
			}}
			if _, err := worker.Handle(t.Context(), inv); err != nil {
				t.Fatal(err)
			}
			if f := g.Settled[0].Failure; (f == nil) != (c.want == "") || f != nil && f.Class != c.want {
				t.Errorf("%+v, want %s", f, c.want)
			}
		})
	}
}

// Settings may be secrets: they do not get into logs.
func TestConnectionIsRedacted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	log.Info("x", "connection", worker.Connection{Name: "mail", Kind: "smtp", Settings: map[string]string{"secret": "hunter2"}})
	if strings.Contains(out.String(), "hunter2") || !strings.Contains(out.String(), "smtp") {
		t.Error(out.String())
	}
}
