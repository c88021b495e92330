// Package deployed_test runs the deployed system in one process: the real
// functions over fakes of DynamoDB, S3, SQS and Lambda, and the embedded engine
// behind the Step Functions API, to which the real SDK talks.
package deployed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/local/sfnapi"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
)

// account is what AWS is to the functions.
type account struct {
	testing.TB
	clock  *clock
	table  *dynamofake.Fake
	bucket *bucket
	core   *durable.Core
	states *sfn.Client

	functions map[string]boot.Handler
	queues    map[string]string // queue → the function that it feeds
	hidden    map[string]time.Time
	requests  atomic.Int64

	mu     sync.Mutex
	counts map[string]int
	usage  store.Usage
	// trouble says what goes wrong with an invocation; nil: nothing.
	trouble func(function string, payload []byte) trouble
}

// trouble is what can happen to an invocation.
type trouble string

const (
	none trouble = ""
	// never: the function did not run. lost: it ran, and its answer did not come.
	never trouble = "Lambda.ServiceException"
	lost  trouble = "Lambda.Unknown"
	// busy: Lambda throttles.
	busy trouble = "Lambda.TooManyRequestsException"
)

// clock is moved by hand. A short pause is over at once; what waits longer
// waits for good.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Time   { return time.Unix(0, c.now.Load()).UTC() }
func (c *clock) set(at time.Time) { c.now.Store(at.UnixNano()) }

func (c *clock) After(d time.Duration) <-chan time.Time {
	after := make(chan time.Time, 1)
	if d <= 5*time.Second {
		after <- c.Now().Add(d)
	}
	return after
}

func newAccount(t testing.TB, now time.Time) *account {
	t.Helper()
	a := &account{
		TB: t, clock: &clock{}, functions: map[string]boot.Handler{}, queues: map[string]string{}, hidden: map[string]time.Time{}, counts: map[string]int{},
	}
	a.clock.set(now)
	a.table = dynamofake.New("acme")
	a.table.Now = a.clock.Now
	a.bucket = newBucket(t)
	db, err := sqlitestore.Open(filepath.Join(t.TempDir(), "states.db"), sqlitestore.Options{Now: a.clock.Now, Owner: true})
	a.must(err)
	t.Cleanup(func() { _ = db.Close() })
	a.core, err = durable.New(durable.Config{Store: db, Blobs: db, Clock: a.clock.Now, OnStep: func(s durable.Transition) {
		for _, e := range s.History {
			if strings.HasSuffix(string(e.Type), "StateEntered") {
				a.count("states entered")
			}
		}
	}})
	a.must(err)
	a.must(a.core.Recover(t.Context()))
	api := httptest.NewServer(sfnapi.New(sfnapi.Config{Core: a.core, Store: db, Blobs: db, Clock: a.clock.Now, Settle: func(context.Context) error { return nil }}))
	t.Cleanup(api.Close)
	a.states = sfn.New(sfn.Options{
		Region: "eu-central-1", BaseEndpoint: &api.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		EndpointOptions: sfn.EndpointResolverOptions{},
	})
	return a
}

func (a *account) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func (a *account) count(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[what]++
}

// call invokes a function as Lambda does: JSON on both sides, errors by name.
func (a *account) call(function string, payload []byte) (out []byte, failed *messages.InvokeResponse_Error) {
	a.count("invoked " + function)
	happens := none
	if a.trouble != nil {
		happens = a.trouble(function, payload)
	}
	if happens == never || happens == busy {
		return nil, &messages.InvokeResponse_Error{Type: string(happens), Message: "it did not run"}
	}
	if happens == lost {
		defer func() {
			out, failed = nil, &messages.InvokeResponse_Error{Type: string(lost), Message: "the answer was lost"}
		}()
	}
	serve := a.functions[function]
	if serve == nil {
		a.Fatalf("there is no function %s", function)
	}
	ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: fmt.Sprintf("request-%d", a.requests.Add(1))})
	ctx, meter := store.WithMeter(ctx)
	out, err := awslambda.NewHandler(serve).Invoke(ctx, payload)
	a.used(meter.Usage())
	var named messages.InvokeResponse_Error
	switch {
	case errors.As(err, &named):
		return nil, &named
	case err != nil:
		return nil, &messages.InvokeResponse_Error{Type: fmt.Sprintf("%T", err), Message: err.Error()}
	}
	return out, nil
}

// used adds up what invocations took of the table.
func (a *account) used(u store.Usage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.usage.Calls += u.Calls
	a.usage.WriteUnits += u.WriteUnits
	a.usage.ReadUnits += u.ReadUnits
}

// Invoke is the Lambda API.
func (a *account) Invoke(_ context.Context, in *lambda.InvokeInput, _ ...func(*lambda.Options)) (*lambda.InvokeOutput, error) {
	out, failed := a.call(*in.FunctionName, in.Payload)
	if failed != nil && failed.Type == string(busy) {
		return nil, &lambdatypes.TooManyRequestsException{Message: aws.String("Rate Exceeded.")}
	}
	if failed != nil {
		body, err := json.Marshal(failed)
		return &lambda.InvokeOutput{StatusCode: 200, FunctionError: aws.String("Unhandled"), Payload: body}, err
	}
	return &lambda.InvokeOutput{StatusCode: 200, Payload: out}, nil
}

// ChangeMessageVisibility is the SQS API, for the worker that has the message.
func (a *account) ChangeMessageVisibility(_ context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error) {
	a.hidden[*in.ReceiptHandle] = a.clock.Now().Add(time.Duration(in.VisibilityTimeout) * time.Second)
	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

// work lets everything happen that can at this time.
func (a *account) work() {
	a.Helper()
	ctx := a.Context()
	for moved := true; moved; {
		moved = false
		for _, call := range a.core.Calls() {
			moved = true
			a.must(a.core.Answer(ctx, call, a.result(call)))
		}
		for _, queue := range slices.Sorted(maps.Keys(a.queues)) {
			m, err := a.core.Receive(ctx, queue, 6*time.Minute)
			a.must(err)
			if m != nil {
				moved = true
				a.deliver(a.queues[queue], m)
			}
		}
		fired, err := a.core.Fire(ctx)
		a.must(err)
		moved = moved || fired > 0
	}
}

func (a *account) result(call durable.Call) durable.Result {
	out, failed := a.call(call.Function, call.Payload)
	if failed != nil {
		cause, err := json.Marshal(failed)
		a.must(err)
		return durable.Result{Error: failed.Type, Cause: string(cause)}
	}
	return durable.Result{Output: out}
}

// deliver is what an event source mapping does with a message.
func (a *account) deliver(function string, m *durable.Message) {
	a.Helper()
	event, err := json.Marshal(map[string]any{"Records": []any{map[string]any{
		"messageId": m.ID, "receiptHandle": m.ID, "body": string(m.Body), "eventSourceARN": "arn:aws:sqs:eu-central-1:1:" + m.Queue,
	}}})
	a.must(err)
	out, failed := a.call(function, event)
	if failed == nil && !bytes.Contains(out, []byte("itemIdentifier")) {
		a.must(a.core.Delete(a.Context(), m))
		return
	}
	at, known := a.hidden[m.ID]
	if !known || !at.After(a.clock.Now()) {
		at = a.clock.Now().Add(time.Second)
	}
	a.must(a.core.Return(a.Context(), m, at))
}

// until moves the clock from one due moment to the next, up to a time.
func (a *account) until(end time.Time) {
	a.Helper()
	for {
		a.work()
		next, err := a.core.NextDue(a.Context())
		a.must(err)
		if next.IsZero() || next.After(end) {
			a.clock.set(end)
			return
		}
		if next.After(a.clock.Now()) {
			a.clock.set(next)
		}
	}
}

// bucket is S3, with signed addresses that a web server serves.
type bucket struct {
	*dynamofake.Objects
	mu      sync.Mutex
	content map[string][]byte
	web     *httptest.Server
}

func newBucket(t testing.TB) *bucket {
	b := &bucket{content: map[string][]byte{}}
	b.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		content, ok := b.content[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(b.web.Close)
	return b
}

func (b *bucket) PutObject(_ context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	content, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.content[*in.Key]; there && in.IfNoneMatch != nil {
		return nil, &smithy.GenericAPIError{Code: "PreconditionFailed", Message: "it is there"}
	}
	b.content[*in.Key] = content
	return &s3.PutObjectOutput{}, nil
}

func (b *bucket) GetObject(_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.content[*in.Key]
	if !ok {
		return nil, &s3types.NoSuchKey{}
	}
	return &s3.GetObjectOutput{Body: io.NopCloser(bytes.NewReader(content))}, nil
}

func (b *bucket) ListObjectsV2(_ context.Context, in *s3.ListObjectsV2Input, _ ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	out := &s3.ListObjectsV2Output{}
	for _, key := range b.keys(*in.Prefix) {
		out.Contents = append(out.Contents, s3types.Object{Key: aws.String(key)})
	}
	return out, nil
}

func (b *bucket) PresignGetObject(_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.PresignOptions)) (*v4.PresignedHTTPRequest, error) {
	return &v4.PresignedHTTPRequest{URL: b.web.URL + "/" + *in.Key}, nil
}

func (b *bucket) keys(prefix string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(b.content)), func(key string) bool { return !strings.HasPrefix(key, prefix) })
}

// under is what lies under a prefix, by name.
func (b *bucket) under(prefix string) map[string]string {
	out := map[string]string{}
	for _, key := range b.keys(prefix) {
		b.mu.Lock()
		out[strings.TrimPrefix(key, prefix)] = string(b.content[key])
		b.mu.Unlock()
	}
	return out
}

// put puts a file of the project into the bucket.
func (b *bucket) put(t testing.TB, key, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.content[key] = content
}
