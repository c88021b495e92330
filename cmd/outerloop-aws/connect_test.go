package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/console/stack"
)

// formation is CloudFormation's DescribeStacks with stacks of these outputs.
func formation(t *testing.T, stacks map[string]map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Form.Get("Action") != "DescribeStacks" {
			http.Error(w, "only DescribeStacks", http.StatusBadRequest)
			return
		}
		outputs, ok := stacks[r.Form.Get("StackName")]
		if !ok {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id x does not exist</Message></Error></ErrorResponse>`)
			return
		}
		var members strings.Builder
		for key, value := range outputs {
			fmt.Fprintf(&members, "<member><OutputKey>%s</OutputKey><OutputValue>%s</OutputValue></member>", key, value)
		}
		fmt.Fprintf(w, `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>s</StackName><StackStatus>CREATE_COMPLETE</StackStatus>`+
			`<CreationTime>2026-11-30T08:00:00Z</CreationTime><Outputs>%s</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`, members.String())
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// R64: a deployed stack's names are read once and written down; what is no
// deployment of outerloop leaves the file as it was.
func TestConnect(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_PROFILE", "")
	endpoint := formation(t, map[string]map[string]string{
		"Outerloop-acme": {"ConsoleFunction": "acme-console", "TableName": "acme", "BucketName": "acme-b", "Concurrency": "137", "HookUrl": "https://h/"},
		"other":          {"Url": "https://o/"},
		"odd":            {"ConsoleFunction": "odd-console", "Concurrency": "many"},
	})
	file := filepath.Join(t.TempDir(), ".outerloop", "aws.json")
	flags := []string{"--config", file, "--region", "eu-central-1", "--endpoint", endpoint}
	if text := command(t, exitDone, append([]string{"connect", "Outerloop-acme"}, flags...)...); !strings.Contains(text, "console acme-console") {
		t.Error(text)
	}
	for name, want := range map[string]string{"other": "no output ConsoleFunction", "odd": "reading the output Concurrency", "nothing": "does not exist"} {
		if text := command(t, exitFailed, append([]string{"connect", name}, flags...)...); !strings.Contains(text, want) {
			t.Errorf("%s: %s", name, text)
		}
	}
	f, err := stack.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	name, s, err := f.Find("")
	want := stack.Stack{
		Console: "acme-console", Region: "eu-central-1", Endpoint: endpoint, Concurrency: 137, Table: "acme", Bucket: "acme-b", Prefix: "blobs/",
	}
	if err != nil || name != "Outerloop-acme" || s != want || len(f.Stacks) != 1 {
		t.Errorf("%s %+v, %v", name, s, err)
	}
	d := deployment{File: file}.connected()
	if d.Table != "acme" || d.Bucket != "acme-b" || d.Prefix != "blobs/" || d.Endpoint != endpoint {
		t.Errorf("what export works on: %+v", d)
	}
	if d := (deployment{File: file, Table: "own"}).connected(); d.Bucket != "" {
		t.Errorf("a table that was named is joined with another's bucket: %+v", d)
	}
}
