package core_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/outerloop-dev/outerloop/functions/internal/core"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// An upload is signed for its content's hash and length, at the blob's own place.
func TestAnUploadIsSignedForItsContent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	u := core.Uploads{Bucket: "acme", Now: func() time.Time { return now }, Client: s3.New(s3.Options{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
	})}
	sum := strings.Repeat("ab", 32)
	to, err := u.Sign(t.Context(), remote.Upload{SHA256: sum, Size: 5 << 20})
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(to.URL)
	if err != nil {
		t.Fatal(err)
	}
	signed := at.Query().Get("X-Amz-SignedHeaders")
	if at.Path != "/"+core.BlobPrefix+"sha256/ab/"+sum || at.Query().Get("X-Amz-Expires") != "900" ||
		!strings.Contains(signed, "content-length") || !strings.Contains(signed, "x-amz-checksum-sha256") {
		t.Errorf("%s", to.URL)
	}
	if to.Ref != "sha256:"+sum || to.Headers["X-Amz-Checksum-Sha256"] != "q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=" || !to.Until.Equal(now.Add(15*time.Minute)) {
		t.Errorf("%+v", to)
	}
	for _, bad := range []remote.Upload{{SHA256: "../" + sum[3:], Size: 1}, {SHA256: sum}, {SHA256: sum, Size: store.MaxBlob + 1}, {Size: 1}} {
		if _, err := u.Sign(t.Context(), bad); !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// An endpoint takes the content that was signed for, and nothing else. It needs
// one in the environment (localstack/ministack.sh env).
func TestAnEndpointTakesAnUpload(t *testing.T) {
	endpoint := os.Getenv("OUTERLOOP_S3_ENDPOINT")
	if endpoint == "" {
		t.Skip("no endpoint: OUTERLOOP_S3_ENDPOINT is not set")
	}
	client := s3.New(s3.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), BaseEndpoint: &endpoint, UsePathStyle: true,
	})
	bucket := fmt.Sprint("uploads-", time.Now().UnixNano())
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("x"), 5<<20)
	sum := sha256.Sum256(content)
	to, err := core.Uploads{Bucket: bucket, Now: time.Now, Client: client}.Sign(t.Context(), remote.Upload{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))})
	if err != nil {
		t.Fatal(err)
	}
	put := func(content []byte) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, to.URL, bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range to.Headers {
			r.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if code := put(content[1:]); code/100 == 2 {
		t.Errorf("another length: %d", code)
	}
	if code := put(content); code != http.StatusOK {
		t.Errorf("the content: %d", code)
	}
}
