package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	claimchecker "github.com/outerloop-dev/outerloop/functions/workers/claim-checker"
	crmscan "github.com/outerloop-dev/outerloop/functions/workers/crm-scan"
	followuptemplate "github.com/outerloop-dev/outerloop/functions/workers/followup-template"
	followupwriter "github.com/outerloop-dev/outerloop/functions/workers/followup-writer"
	leadqualifier "github.com/outerloop-dev/outerloop/functions/workers/lead-qualifier"
	"github.com/outerloop-dev/outerloop/functions/workers/mailer"
	salesdashboard "github.com/outerloop-dev/outerloop/functions/workers/sales-dashboard"
	"github.com/outerloop-dev/outerloop/internal/sampletest"
	"github.com/outerloop-dev/outerloop/pkg/console"
	"github.com/outerloop-dev/outerloop/pkg/console/client"
	"github.com/outerloop-dev/outerloop/pkg/console/payload"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// followUp is the follow-up loop at rest, with mails that wait for approval.
func followUp(t *testing.T) (*sampletest.World, string) {
	t.Helper()
	w := sampletest.New(t, sampletest.Setup{
		Root: "../..", Now: time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC), Loops: []string{"crm-followup"},
		Workers: []worker.Worker{
			crmscan.Worker, leadqualifier.Worker, followupwriter.Worker, followuptemplate.Worker, claimchecker.Worker, mailer.Worker, salesdashboard.Worker,
		},
	})
	run := w.Start("crm-followup", map[string]string{"file": w.File("exports/crm.csv")})
	w.For(time.Minute)
	return w, run
}

// served is the API over a world's coordinator.
func served(w *sampletest.World) http.Handler {
	c := w.Engine.Coordinator()
	uses := remote.Of(c).With(remote.Blobs{Blobs: w.Engine.Store(), Upload: func(_ context.Context, u remote.Upload) (remote.Uploading, error) {
		return remote.Uploading{Ref: "sha256:" + u.SHA256, URL: "http://127.0.0.1:1/", Until: w.Now()}, nil
	}})
	return console.New(console.Config{Readers: c, Forward: uses, Project: "acme", Version: "test"})
}

// ways are the two ways to an API: plain HTTP, and a function that is invoked.
func ways(t *testing.T, h http.Handler) map[string]*client.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	serve := payload.Serve(h, []byte(`{"error":{"code":"too_large","message":"too large"}}`))
	return map[string]*client.Client{
		"http": client.New(server.URL, http.DefaultTransport),
		"lambda": client.New("http://console", payload.Transport{Invoke: func(ctx context.Context, event []byte, _ bool) ([]byte, error) {
			return serve(ctx, event)
		}}),
	}
}

// document validates answers by docs/openapi.json, in which no field may be missing.
type document struct {
	t       *testing.T
	paths   map[string]map[string]json.RawMessage
	schemas *jsonschema.Compiler
	next    http.Handler

	mu      sync.Mutex
	visited map[string]int
}

func documented(t *testing.T, next http.Handler) *document {
	t.Helper()
	raw, err := os.ReadFile("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	// Strict: what an answer has and the document does not is a fault of the document.
	strict := strings.ReplaceAll(string(raw), `"properties": {`, `"additionalProperties": false, "properties": {`)
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(strict))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	return &document{t: t, paths: doc.Paths, schemas: compiler, next: next, visited: map[string]int{}}
}

func (d *document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, err := io.ReadAll(r.Body)
	if err != nil {
		d.t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(asked))
	got := httptest.NewRecorder()
	d.next.ServeHTTP(got, r)
	d.check(r, asked, got)
	for name, values := range got.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(got.Code)
	_, _ = w.Write(got.Body.Bytes())
}

func (d *document) check(r *http.Request, asked []byte, got *httptest.ResponseRecorder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path := pathOf(r)
	at := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/" + strings.ToLower(r.Method)
	response := "default"
	if got.Code == http.StatusOK {
		response = "200"
		d.visited[r.Method+" "+path]++
	}
	if _, ok := d.paths[path]; !ok {
		at, response = "/paths/~1v1~1runs/get", "default" // an address that there is not answers the same document
	}
	d.valid(at+"/responses/"+response+"/content/application~1json/schema", got.Body.Bytes(), r)
	if len(asked) > 0 && response == "200" {
		d.valid(at+"/requestBody/content/application~1json/schema", asked, r)
	}
}

func (d *document) valid(at string, raw []byte, r *http.Request) {
	d.t.Helper()
	schema, err := d.schemas.Compile("openapi.json#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(at))
	if err != nil {
		d.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		d.t.Errorf("%s %s answers against the document: %v\n%.600s", r.Method, r.URL, err, raw)
	}
}

// pathOf is the documented path of a request, told apart by its length and words.
func pathOf(r *http.Request) string {
	parts := strings.Split(r.URL.EscapedPath(), "/")
	for _, route := range console.Routes() {
		want := strings.Split(route.Path, "/")
		fits := len(want) == len(parts)
		for i := 0; fits && i < len(want); i++ {
			fits = strings.HasPrefix(want[i], "{") || want[i] == parts[i]
		}
		if fits {
			return route.Path
		}
	}
	return r.URL.Path
}

func (d *document) complete() {
	d.t.Helper()
	for _, route := range console.Routes() {
		if d.visited[route.Method+" "+route.Path] == 0 {
			d.t.Errorf("no success of %s %s was seen", route.Method, route.Path)
		}
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// is demands an error.
func is(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// status is the status of an answer to a GET.
func status(t *testing.T, h http.Handler, path string) int {
	t.Helper()
	got := httptest.NewRecorder()
	h.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return got.Code
}
