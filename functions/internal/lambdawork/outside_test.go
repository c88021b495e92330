package lambdawork_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	sestypes "github.com/aws/aws-sdk-go-v2/service/sesv2/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/functions/internal/lambdawork"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

func refOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// A file comes from its signed address, once for all items of a run, and is the
// content that its reference means; the address appears in no error.
func TestFiles(t *testing.T) {
	t.Parallel()
	asked := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, "content")
	}))
	defer web.Close()
	files := lambdawork.NewFiles(web.Client())
	files.Know([]gatewire.Fetch{{Ref: refOf("content"), URL: web.URL + "/x?signature=secret"}, {Ref: refOf("other"), URL: web.URL + "/y?signature=secret"}, {Ref: refOf("gone"), URL: web.URL + "/gone?signature=secret"}, {Ref: refOf("away"), URL: "http://127.0.0.1:1/?signature=secret"}})
	for range 3 {
		f, err := files.Open(t.Context(), refOf("content"))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(worker.Reader(f))
		if err != nil || string(content) != "content" {
			t.Errorf("%q, %v", content, err)
		}
	}
	if asked != 1 {
		t.Errorf("fetched %d times", asked)
	}
	for content, says := range map[string]string{"other": "another one", "gone": "403", "away": "connect", "unknown": "has no file"} {
		if _, err := files.Open(t.Context(), refOf(content)); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", content, err)
		}
	}
}

// store is a bucket; fail is what it answers instead.
type store struct {
	content map[string]string
	fail    error
	// denies is what S3 does with objects that are not there, for a role that may
	// list only a prefix.
	denies bool
}

func (s *store) GetObject(_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	content, ok := s.content[*in.Key]
	if s.fail != nil {
		return nil, s.fail
	}
	if !ok && s.denies {
		return nil, &smithy.GenericAPIError{Code: "AccessDenied"}
	}
	if !ok {
		return nil, &s3types.NoSuchKey{}
	}
	return &s3.GetObjectOutput{Body: io.NopCloser(strings.NewReader(content))}, nil
}

func (s *store) PutObject(_ context.Context, in *s3.PutObjectInput, opts ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	var o s3.Options
	for _, set := range opts {
		set(&o)
	}
	if o.RetryMaxAttempts != 1 || aws.ToString(in.IfNoneMatch) != "*" {
		return nil, errors.New("a put that is repeated, or replaces")
	}
	if s.fail != nil {
		return nil, s.fail
	}
	if _, there := s.content[*in.Key]; there {
		return nil, &smithy.GenericAPIError{Code: "PreconditionFailed"}
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(in.Body); err != nil {
		return nil, err
	}
	s.content[*in.Key] = b.String()
	return &s3.PutObjectOutput{}, nil
}

// ListObjectsV2 gives one object a page.
func (s *store) ListObjectsV2(_ context.Context, in *s3.ListObjectsV2Input, _ ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	var keys []string
	for key := range s.content {
		if strings.HasPrefix(key, *in.Prefix) && key > aws.ToString(in.ContinuationToken) && !strings.Contains(strings.TrimPrefix(key, *in.Prefix), *in.Delimiter) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	out := &s3.ListObjectsV2Output{}
	if len(keys) > 0 {
		out.Contents = []s3types.Object{{Key: &keys[0]}}
	}
	if len(keys) > 1 {
		out.NextContinuationToken = &keys[0]
	}
	return out, s.fail
}

func answered(status int) error {
	return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: errors.New("it says no")}
}

// A prefix of a bucket is a directory: nothing is replaced, and an error says
// whether the file is certainly not there.
func TestFolder(t *testing.T) {
	t.Parallel()
	b := &store{content: map[string]string{"connections/mail/a.eml": "A", "connections/mail/.hidden": "", "connections/mail/deep/x": "", "connections/mails/b": ""}}
	f := lambdawork.Folder{Client: b, Bucket: "acme", Prefix: lambdawork.ConnectionPrefix("mail")}
	if err := f.Create(t.Context(), "c.eml", []byte("C")); err != nil {
		t.Fatal(err)
	}
	names, err := f.Names(t.Context())
	if err != nil || fmt.Sprint(names) != "[a.eml c.eml]" {
		t.Errorf("%v, %v", names, err)
	}
	if content, err := f.Read(t.Context(), "c.eml"); err != nil || string(content) != "C" {
		t.Errorf("%q, %v", content, err)
	}
	for _, b.denies = range []bool{false, true} {
		for _, name := range []string{"d.eml", "a", "a.eml2"} {
			if _, err := f.Read(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, denied %v: %v", name, b.denies, err)
			}
		}
	}
	b.fail = &smithy.GenericAPIError{Code: "AccessDenied"} // nor may it list
	if _, err := f.Read(t.Context(), "d.eml"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	b.fail = nil
	if err := f.Create(t.Context(), "a.eml", []byte("other")); !errors.Is(err, fs.ErrExist) || !errors.Is(err, worker.ErrNotCreated) || b.content["connections/mail/a.eml"] != "A" {
		t.Error(err)
	}
	for status, not := range map[int]bool{403: true, 500: false} {
		b.fail = answered(status)
		if err := f.Create(t.Context(), "e.eml", nil); err == nil || errors.Is(err, worker.ErrNotCreated) != not {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

// Secrets are read by name when they are needed; one that cannot be read fails
// the connection, not the task.
func TestConnect(t *testing.T) {
	t.Parallel()
	o := lambdawork.Outside{Objects: &store{}, Bucket: "acme", Mail: lambdawork.SES{}, Secret: func(_ context.Context, name string) (string, error) {
		if name == "lost" {
			return "", errors.New("no such secret")
		}
		return "value of " + name, nil
	}}
	connect := func(c gatewire.Connection) worker.Connection { return o.Connect(t.Context(), c) }
	if c := connect(gatewire.Connection{Name: "api", Kind: "http", URL: "https://api.example", Secret: "api-key"}); c.Setting("secret", "") != "value of api-key" || c.Setting("url", "") != "https://api.example" || c.Fault != nil || c.Directory != nil {
		t.Errorf("%+v", c)
	}
	if c := connect(gatewire.Connection{Name: "api", Kind: "http", Secret: "lost"}); c.Fault == nil {
		t.Errorf("%+v", c)
	}
	if c := connect(gatewire.Connection{Name: "stock", Kind: "files"}); c.Directory.(lambdawork.Folder).Prefix != "connections/stock/" {
		t.Errorf("%+v", c)
	}
	if c := connect(gatewire.Connection{Name: "mail", Kind: "ses", From: "a@b.example"}); c.Mail == nil || c.Setting("from", "") != "a@b.example" {
		t.Errorf("%+v", c)
	}
}

type ses struct{ err error }

func (s ses) SendEmail(_ context.Context, in *sesv2.SendEmailInput, opts ...func(*sesv2.Options)) (*sesv2.SendEmailOutput, error) {
	var o sesv2.Options
	for _, set := range opts {
		set(&o)
	}
	if o.RetryMaxAttempts != 1 || string(in.Content.Raw.Data) != "mail" {
		return nil, errors.New("a mail that is sent twice")
	}
	return &sesv2.SendEmailOutput{MessageId: aws.String("id-1")}, s.err
}

// What SES refuses was certainly not sent; without an answer nobody knows (R37).
func TestSES(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		class outerloop.Class
	}{
		"throttled": {&sestypes.TooManyRequestsException{}, outerloop.ClassTransient},
		"rejected":  {&sestypes.MessageRejected{}, outerloop.ClassRefused},
		"paused":    {&sestypes.SendingPausedException{}, outerloop.ClassFatal},
		"bad":       {answered(400), outerloop.ClassToolFailed},
		"lost":      {errors.New("connection reset"), outerloop.ClassTransient},
	} {
		_, err := lambdawork.SES{Client: ses{c.err}}.Send(t.Context(), "a", "b", []byte("mail"))
		if got := worker.FailureOf(err).Class; got != c.class {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if id, err := (lambdawork.SES{Client: ses{}}).Send(t.Context(), "a", "b", []byte("mail")); err != nil || id != "id-1" {
		t.Error(id, err)
	}
}

type messages struct {
	in *sqs.ChangeMessageVisibilityInput
}

func (m *messages) ChangeMessageVisibility(_ context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error) {
	m.in = in
	return nil, nil
}

func TestVisibility(t *testing.T) {
	t.Parallel()
	m := &messages{}
	if err := (lambdawork.Visibility{Client: m}).Hide(t.Context(), "arn:aws:sqs:eu-central-1:123456789012:acme-mailer", "r-1", 61*time.Second); err != nil {
		t.Fatal(err)
	}
	if *m.in.QueueUrl != "https://sqs.eu-central-1.amazonaws.com/123456789012/acme-mailer" || *m.in.ReceiptHandle != "r-1" || m.in.VisibilityTimeout != 61 {
		t.Errorf("%s %s %d", *m.in.QueueUrl, *m.in.ReceiptHandle, m.in.VisibilityTimeout)
	}
}
