package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/memstore"
	"github.com/outerloop-dev/outerloop/pkg/transfer"
)

func command(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if got := run(t.Context(), args, &out, &out); got != want {
		t.Fatalf("outerloop-aws %s: exit %d, want %d\n%s", strings.Join(args, " "), got, want, out.String())
	}
	return out.String()
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "export", "export f --table t", "import --table t --bucket b", "take-back f --table t --bucket b", "frob f --table t --bucket b", "export f --frob"} {
		if text := command(t, exitUsage, strings.Fields(args)...); !strings.Contains(text, "outerloop-aws export FILE") {
			t.Errorf("%q: %s", args, text)
		}
	}
	file := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if text := command(t, exitFailed, "export", file, "--table", "t", "--bucket", "b"); !strings.Contains(text, "exists already") {
		t.Error(text)
	}
}

// From a laptop to a table and bucket, and out of there again: the content is
// the same, and each side that was left is closed.
func TestThereAndBack(t *testing.T) {
	endpoint := os.Getenv("OUTERLOOP_DYNAMODB_ENDPOINT")
	if endpoint == "" || os.Getenv("OUTERLOOP_S3_ENDPOINT") != endpoint {
		t.Skip("no endpoint for both DynamoDB and S3 is set (see localstack/ministack.sh)")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	name := deploy(t, endpoint)
	flags := []string{"--table", name, "--bucket", name, "--region", "us-east-1", "--endpoint", endpoint}
	dir := t.TempDir()
	first, second, third := filepath.Join(dir, "1"), filepath.Join(dir, "2"), filepath.Join(dir, "3")
	laptop(t, first)
	if text := command(t, exitDone, append([]string{"import", first}, flags...)...); !strings.Contains(text, "l-1 goes on there") {
		t.Error(text)
	}
	if text := command(t, exitDone, append([]string{"import", first}, flags...)...); !strings.Contains(text, "imported before") {
		t.Error(text)
	}
	if text := command(t, exitDone, append([]string{"export", second}, flags...)...); !strings.Contains(text, "runs 1 (open 1), actions 1") {
		t.Error(text)
	}
	if a, b := itemsOf(t, first), itemsOf(t, second); a != b {
		t.Errorf("exported\n%s\nimported\n%s", b, a)
	}
	if text := command(t, exitFailed, append([]string{"import", first}, flags...)...); !strings.Contains(text, "was moved") {
		t.Error(text)
	}
	if text := command(t, exitDone, append([]string{"take-back"}, flags...)...); !strings.Contains(text, "go on there again 1") {
		t.Error(text)
	}
	command(t, exitDone, append([]string{"export", third}, flags...)...)
}

// Blobs go from a real bucket when they are old and nothing in the table refers
// to them, and only then.
func TestPrune(t *testing.T) {
	endpoint := os.Getenv("OUTERLOOP_DYNAMODB_ENDPOINT")
	if endpoint == "" || os.Getenv("OUTERLOOP_S3_ENDPOINT") != endpoint {
		t.Skip("no endpoint for both DynamoDB and S3 is set (see localstack/ministack.sh)")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	name := deploy(t, endpoint)
	d := deployment{Table: name, Bucket: name, Prefix: blobPrefix, Region: "us-east-1", Endpoint: endpoint}
	src, err := d.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	used := store.BlobRef([]byte("used"))
	var refs []string
	for _, content := range []string{"used", "unused", `["` + used + `"]`} {
		ref, err := src.Blobs.PutBlob(t.Context(), []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	if err := src.Store.Write(t.Context(), "1", (&record.Fact{Name: "f", Value: record.Value{Ref: refs[2]}}).Put()); err != nil {
		t.Fatal(err)
	}
	young := command(t, exitDone, "prune", "--table", name, "--bucket", name, "--prefix", blobPrefix, "--region", "us-east-1", "--endpoint", endpoint)
	if young != "0 blobs removed that nothing refers to\n" {
		t.Error(young)
	}
	sweeper, err := d.sweeper(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := pruneBefore(t.Context(), sweeper, time.Now().Add(time.Hour), &out); err != nil || out.String() != "1 blobs removed that nothing refers to\n" {
		t.Errorf("%s, %v", out.String(), err)
	}
	for i, ref := range refs {
		if _, err := src.Blobs.GetBlob(t.Context(), ref); (i == 1) != errors.Is(err, store.ErrNoBlob) {
			t.Errorf("blob %d: %v", i, err)
		}
	}
}

func deploy(t *testing.T, endpoint string) string {
	t.Helper()
	keys := credentials.NewStaticCredentialsProvider("test", "test", "")
	name := "move-" + strings.ToLower(rand.Text())
	tables := dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: keys})
	if err := dynamofake.MakeTable(t.Context(), tables, name); err != nil {
		t.Fatal(err)
	}
	buckets := s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &endpoint, UsePathStyle: true, Credentials: keys})
	if _, err := buckets.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(name)}); err != nil {
		t.Fatal(err)
	}
	return name
}

func laptop(t *testing.T, path string) {
	t.Helper()
	s := memstore.New()
	ref, err := s.PutBlob(t.Context(), []byte("a fact"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	for _, op := range []store.Op{
		(&record.Run{ID: "l-1", Loop: "l", Status: outerloop.StatusInProgress, Gen: 1, Started: now, Deadline: now.Add(time.Hour)}).Put(),
		(&record.Step{Run: "l-1", Address: "send", State: outerloop.StepSettled, Visit: 1}).Put(),
		(&record.Action{Loop: "l", Entry: "a:send", State: record.ActionDone, Run: "l-1", Fence: 1}).Put(),
		(&record.Fact{Name: "f", Value: record.Value{Ref: ref}}).Put(),
	} {
		if err := s.Write(t.Context(), op.Item.Part, op); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	_, _, err = transfer.Export(t.Context(), transfer.Exporting{Source: transfer.Source{Store: s, Scan: s, Blobs: s, Now: time.Now}, ID: "first"}, &file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// itemsOf is what a file holds beside the open run, which has a note of every move, in order.
func itemsOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]json.RawMessage{}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines[1 : len(lines)-1] {
		var at struct{ Part, Sort, Blob string }
		if err := json.Unmarshal([]byte(line), &at); err != nil {
			t.Fatal(err)
		}
		if at.Sort != "RUN" {
			found[at.Part+at.Sort+at.Blob] = json.RawMessage(line)
		}
	}
	sorted, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}
