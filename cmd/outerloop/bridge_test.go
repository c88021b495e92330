package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	"github.com/outerloop-dev/outerloop/pkg/scaffold"
)

// R71: a worker in another language does the work of a loop here: a program of
// this machine, or an endpoint. Its output is checked, and a person asked, as
// for a worker in Go.
func TestWorkersInOtherLanguages(t *testing.T) {
	t.Parallel()
	const overdue = `{"total": 3170.5, "overdue": [{"order": "A-1003", "customer": "Ost AG", "due": "2026-11-16", "amount": 3170.5}]}`
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Header.Get("Outerloop-Step")+" "+string(body))
		_, _ = io.WriteString(w, overdue)
	}))
	t.Cleanup(server.Close)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	command, err := json.Marshal([]string{sh, "-c", "cat >/dev/null; cat answer.json"})
	if err != nil {
		t.Fatal(err)
	}
	for kind, charter := range map[string]string{
		"http":    fmt.Sprintf("kind: http\nhttp: {url: %q}\n", server.URL+"/scan"),
		"command": "kind: command\ncommand: {run: " + string(command) + "}\n",
	} {
		b := &bundle{t: t, dir: filepath.Join(t.TempDir(), "orders")}
		if _, err := scaffold.Write(b.dir, scaffold.Project{Name: "orders", Go: "1.26", Version: "v0.0.0"}); err != nil {
			t.Fatal(err)
		}
		b.write("answer.json", overdue)
		b.edit("functions/workers/order-scan/charter.yaml", "kind: go\n", charter)
		b.want(0, "compile")
		b.want(cli.ExitWaiting, "run", "overdue-orders", "--as-of", "2026-11-30")
		waiting := list(t, b.want(0, "approvals", "-o", "json").out)
		if len(waiting) != 1 || !strings.Contains(waiting[0]["ask"].(string), "1 orders of 3170.5") {
			t.Fatalf("%s: %v", kind, waiting)
		}
		b.want(0, "approve", waiting[0]["id"].(string), "--by", "me@example.com", "--reason", "right").has(t, "completed")
		// What does not fit the charter's schema is no output.
		b.write("answer.json", `{"total": "much"}`)
		if kind == "command" {
			b.want(cli.ExitWaiting, "run", "overdue-orders", "--as-of", "2026-12-01").has(t, "/total must be a number")
		}
	}
	if len(asked) != 1 || !strings.HasPrefix(asked[0], `scan {"as_of":`) {
		t.Errorf("the endpoint was asked %q", asked)
	}
}
