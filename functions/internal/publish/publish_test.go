package publish_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/internal/machines"
	"github.com/outerloop-dev/outerloop/functions/internal/publish"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/memstore"
)

const (
	loopName = "research-topic"
	machine  = "arn:aws:states:eu-central-1:123456789012:stateMachine:acme-research-topic"
)

// states counts versions and remembers where the alias points.
type states struct {
	versions int
	alias    string
	deleted  []string
}

func (s *states) PublishStateMachineVersion(_ context.Context, in *sfn.PublishStateMachineVersionInput, _ ...func(*sfn.Options)) (*sfn.PublishStateMachineVersionOutput, error) {
	s.versions++
	return &sfn.PublishStateMachineVersionOutput{StateMachineVersionArn: aws.String(fmt.Sprint(*in.StateMachineArn, ":", s.versions))}, nil
}

func (s *states) CreateStateMachineAlias(_ context.Context, in *sfn.CreateStateMachineAliasInput, _ ...func(*sfn.Options)) (*sfn.CreateStateMachineAliasOutput, error) {
	s.alias = *in.RoutingConfiguration[0].StateMachineVersionArn
	return &sfn.CreateStateMachineAliasOutput{}, nil
}

func (s *states) UpdateStateMachineAlias(_ context.Context, in *sfn.UpdateStateMachineAliasInput, _ ...func(*sfn.Options)) (*sfn.UpdateStateMachineAliasOutput, error) {
	switch {
	case slices.Contains(s.deleted, *in.RoutingConfiguration[0].StateMachineVersionArn):
		return nil, errors.New("ValidationException: no such version")
	case s.alias == "" || *in.StateMachineAliasArn != machine+":live":
		return nil, &types.ResourceNotFound{}
	}
	s.alias = *in.RoutingConfiguration[0].StateMachineVersionArn
	return &sfn.UpdateStateMachineAliasOutput{}, nil
}

// ListStateMachineVersions gives two a page, newest first.
func (s *states) ListStateMachineVersions(_ context.Context, in *sfn.ListStateMachineVersionsInput, _ ...func(*sfn.Options)) (*sfn.ListStateMachineVersionsOutput, error) {
	out, from := &sfn.ListStateMachineVersionsOutput{}, s.versions
	if in.NextToken != nil {
		if _, err := fmt.Sscan(*in.NextToken, &from); err != nil {
			return nil, err
		}
	}
	for ; from > 0 && len(out.StateMachineVersions) < 2; from-- {
		if version := fmt.Sprint(machine, ":", from); !slices.Contains(s.deleted, version) {
			out.StateMachineVersions = append(out.StateMachineVersions, types.StateMachineVersionListItem{StateMachineVersionArn: &version})
		}
	}
	if from > 0 {
		out.NextToken = aws.String(fmt.Sprint(from))
	}
	return out, nil
}

func (s *states) DeleteStateMachineVersion(_ context.Context, in *sfn.DeleteStateMachineVersionInput, _ ...func(*sfn.Options)) (*sfn.DeleteStateMachineVersionOutput, error) {
	if *in.StateMachineVersionArn == s.alias {
		return nil, &types.ConflictException{}
	}
	s.deleted = append(s.deleted, *in.StateMachineVersionArn)
	return &sfn.DeleteStateMachineVersionOutput{}, nil
}

type objects map[string]string

func (o objects) GetObject(_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	content, ok := o[*in.Bucket+"/"+*in.Key]
	if !ok {
		return nil, &s3types.NoSuchKey{}
	}
	return &s3.GetObjectOutput{Body: io.NopCloser(strings.NewReader(content))}, nil
}

func (o objects) PutObject(_ context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	content, err := io.ReadAll(in.Body)
	o[*in.Bucket+"/"+*in.Key] = string(content)
	return &s3.PutObjectOutput{}, err
}

type bundle struct {
	*testing.T
	states  *states
	objects objects
	fn      *publish.Function
	told    []map[string]any
	hash    string
	store   *memstore.Store
	defs    *machines.Definitions
	now     time.Time
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{T: t, states: &states{}, objects: objects{}, now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}
	p, problems := project.Load(os.DirFS("../../.."))
	content, err := p.Bundle(loopName)
	if err != nil {
		t.Fatal(err, problems.Err())
	}
	b.hash = project.Hash(content)
	b.objects["assets/b.json"] = string(content)
	db, ids := memstore.New(), 0
	b.store = db
	b.defs = machines.NewDefinitions(db, db, func() time.Time { return b.now })
	b.fn = publish.New(publish.Config{
		Publisher:   machines.Publisher{Store: db, Blobs: db, IDs: func() string { ids++; return fmt.Sprint(ids) }},
		Definitions: b.defs, Versions: machines.Versions{Client: b.states}, Objects: b.objects, Bucket: "acme",
		Respond: func(_ context.Context, url string, answer []byte) error {
			var told map[string]any
			b.told = append(b.told, told)
			return errors.Join(json.Unmarshal(answer, &b.told[len(b.told)-1]))
		},
	})
	return b
}

// ask sends a request of CloudFormation and gives what it is told.
func (b *bundle) ask(kind string, properties map[string]any) map[string]any {
	b.Helper()
	event, err := json.Marshal(map[string]any{
		"RequestType": kind, "ResponseURL": "https://answer.example", "StackId": "stack", "RequestId": "request", "LogicalResourceId": "Resource",
		"PhysicalResourceId": "before", "ResourceProperties": properties,
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := b.fn.Handle(b.Context(), event); err != nil {
		b.Fatal(err)
	}
	return b.told[len(b.told)-1]
}

func (b *bundle) ok(kind string, properties map[string]any) map[string]any {
	b.Helper()
	told := b.ask(kind, properties)
	if told["Status"] != "SUCCESS" || told["RequestId"] != "request" {
		b.Fatalf("%s %v: %v", kind, properties, told)
	}
	return told
}

func (b *bundle) definition() map[string]any {
	return map[string]any{"Publish": "definition", "Loop": loopName, "Hash": b.hash, "Bundle": map[string]string{"Bucket": "assets", "Key": "b.json"}}
}

func (b *bundle) latest() map[string]any {
	return map[string]any{"Publish": "latest", "Loop": loopName, "Hash": b.hash, "StateMachine": machine, "Revision": "x"}
}

// A definition is there before a machine points at it; the latest names a
// version, and the alias follows; a release by hand goes back (R69).
func TestDeployment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if told := b.ask("Create", b.latest()); told["Status"] != "FAILED" || !strings.Contains(told["Reason"].(string), "is not in the table") {
		t.Errorf("latest before its definition: %v", told)
	}
	b.ok("Create", b.definition())
	told := b.ok("Create", b.latest())
	version := told["Data"].(map[string]any)["Version"]
	if version != machine+":2" || b.states.alias != version || told["PhysicalResourceId"] != "latest-"+loopName {
		t.Errorf("%v, alias at %s", told, b.states.alias)
	}
	b.ok("Update", b.latest())
	if got, err := b.defs.MachineOf(t.Context(), b.hash); err != nil || got != machine+":3" || b.states.alias != got {
		t.Errorf("%s, %v; alias at %s", got, err, b.states.alias)
	}
	b.states.alias = machine + ":1"
	if _, err := b.fn.Handle(t.Context(), []byte(`{"use":"release","request":{"loop":"`+loopName+`","hash":"`+b.hash+`"}}`)); err != nil || b.states.alias != machine+":3" {
		t.Errorf("released: %v, alias at %s", err, b.states.alias)
	}
	if told := b.ok("Delete", b.definition()); told["PhysicalResourceId"] != "before" {
		t.Errorf("%v", told)
	}
	if hash, err := b.defs.Latest(t.Context(), loopName); err != nil || hash != b.hash {
		t.Errorf("after the definition's removal: %s, %v", hash, err)
	}
	b.ok("Delete", b.latest())
	b.ok("Delete", b.latest())
	b.now = b.now.Add(time.Minute)
	if _, err := b.defs.Latest(t.Context(), loopName); err == nil {
		t.Error("a removed loop can be started")
	}
	b.ok("Update", map[string]any{"Publish": "workers", "Workers": []string{}})
	if told := b.ask("Create", map[string]any{"Publish": "everything"}); told["Status"] != "FAILED" || told["PhysicalResourceId"] != "before" {
		t.Errorf("%v", told)
	}
}

// An archive's files are put under the prefix and nowhere else; without an
// address to answer, the answer is the function's own.
func TestFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pack := func(names ...string) string {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, name := range names {
			f, err := w.Create(name)
			if err == nil && !strings.HasSuffix(name, "/") {
				_, err = f.Write([]byte("content of " + name))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	b.objects["assets/good.zip"], b.objects["assets/bad.zip"] = pack("stock.csv", "deep/", "deep/x.csv"), pack("../../blobs/x")
	ask := func(prefix, key string) error {
		event := fmt.Sprintf(`{"RequestType":"Create","ResourceProperties":{"Publish":"files","Prefix":%q,"Archive":{"Bucket":"assets","Key":%q}}}`, prefix, key)
		_, err := b.fn.Handle(t.Context(), []byte(event))
		return err
	}
	if err := ask("connections/stock/", "good.zip"); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []error{ask("connections/stock/", "bad.zip"), ask("connections/stock", "good.zip"), ask("connections/stock/", "none.zip"), ask("connections/stock/", "b.json")} {
		if wrong == nil {
			t.Error("it was put")
		}
	}
	var put []string
	for name := range b.objects {
		if strings.HasPrefix(name, "acme/") {
			put = append(put, name)
		}
	}
	slices.Sort(put)
	if fmt.Sprint(put) != "[acme/connections/stock/deep/x.csv acme/connections/stock/stock.csv]" {
		t.Errorf("put %v", put)
	}
}

// Old versions go, but for the newest five, the released one, and those that
// open and failed runs have pinned (R69).
func TestOldVersionsGo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("Create", b.definition())
	for range 7 {
		b.ok("Update", b.latest())
	}
	if want := []string{machine + ":1", machine + ":2"}; !slices.Equal(b.states.deleted, want) {
		t.Errorf("deleted %v, want %v", b.states.deleted, want)
	}
	old := []byte(`{"loop":"research-topic","bundle":"sha256:x","machine":"` + machine + `:3"}`)
	failed := record.Run{ID: "topic-1", Loop: loopName, Definition: "old", Status: outerloop.StatusFailed, Started: b.now, Ended: b.now}
	if err := b.store.Write(t.Context(), "old", store.Create(store.Item{Key: machines.RecordKey("old"), Body: old}), failed.Put()); err != nil {
		t.Fatal(err)
	}
	b.ok("Update", b.latest())
	b.ok("Update", b.latest())
	if want := []string{machine + ":1", machine + ":2", machine + ":4"}; !slices.Equal(b.states.deleted, want) {
		t.Errorf("deleted %v, want %v", b.states.deleted, want)
	}
}

// A machine takes 1,000 versions: where too many runs are closed to tell which
// may be redriven, all but the newest 500 go, without what open runs need and
// what the alias points at. A release of a version that is gone changes nothing.
func TestVersionsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("Create", b.definition())
	pin := func(hash, version string, r record.Run) {
		r.Loop, r.Definition, r.Started = loopName, hash, b.now
		body := []byte(`{"loop":"research-topic","bundle":"sha256:x","machine":"` + version + `"}`)
		if err := b.store.Write(t.Context(), hash, store.Create(store.Item{Key: machines.RecordKey(hash), Body: body}), r.Put()); err != nil {
			t.Fatal(err)
		}
	}
	pin("failed", machine+":2", record.Run{ID: "topic-failed", Status: outerloop.StatusFailed, Ended: b.now})
	pin("open", machine+":3", record.Run{ID: "topic-open", Numbers: map[string]int64{record.RunOpen: 1}})
	for i := range 2000 {
		r := record.Run{ID: fmt.Sprint("topic-", i), Loop: loopName, Definition: b.hash, Status: outerloop.StatusCompleted, Started: b.now, Ended: b.now.Add(time.Second)}
		if err := b.store.Write(t.Context(), r.ID, r.Put()); err != nil {
			t.Fatal(err)
		}
	}
	b.states.versions = 505 - 1
	b.ok("Update", b.latest())
	if want := []string{machine + ":5", machine + ":4", machine + ":2", machine + ":1"}; !slices.Equal(b.states.deleted, want) {
		t.Errorf("deleted %v, want %v", b.states.deleted, want)
	}
	event := `{"use":"release","request":{"loop":"` + loopName + `","hash":"failed"}}`
	if _, err := b.fn.Handle(t.Context(), []byte(event)); err == nil || b.states.alias != machine+":505" {
		t.Errorf("released what is gone: %v, alias at %s", err, b.states.alias)
	}
	if hash, err := b.defs.Latest(t.Context(), loopName); err != nil || hash != b.hash {
		t.Errorf("after the release that failed: %s, %v", hash, err)
	}
}

// A version that somebody has pointed the alias at stays, and the others go.
func TestReleasedByHandStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("Create", b.definition())
	b.states.versions = 8
	v := machines.Versions{Client: b.states}
	b.states.alias = machine + ":2"
	ids := 0
	publisher := machines.Publisher{Store: b.store, Blobs: b.store, IDs: func() string { ids++; return fmt.Sprint("x", ids) }}
	deleted, err := publisher.Retire(t.Context(), loopName, machine, v)
	if want := []string{machine + ":3", machine + ":1"}; err != nil || !slices.Equal(deleted, want) {
		t.Errorf("deleted %v, want %v, %v", deleted, want, err)
	}
}
