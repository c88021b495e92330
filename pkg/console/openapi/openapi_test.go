package openapi_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/console/openapi"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

// The document in docs is what the routes and types say. Write it anew with
// go test ./pkg/console/openapi -update.
func TestDocumentIsFresh(t *testing.T) {
	t.Parallel()
	want, err := openapi.Build("../../..")
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../../docs/openapi.json"
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("docs/openapi.json is stale (%v): go test ./pkg/console/openapi -update", err)
	}
}
