package core_test

import (
	"errors"
	"net/url"
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
		!strings.Contains(signed, "content-length") || !strings.Contains(signed, "x-amz-content-sha256") {
		t.Errorf("%s", to.URL)
	}
	if to.Ref != "sha256:"+sum || to.Headers["X-Amz-Content-Sha256"] != sum || !to.Until.Equal(now.Add(15*time.Minute)) {
		t.Errorf("%+v", to)
	}
	for _, bad := range []remote.Upload{{SHA256: "../" + sum[3:], Size: 1}, {SHA256: sum}, {SHA256: sum, Size: store.MaxBlob + 1}, {Size: 1}} {
		if _, err := u.Sign(t.Context(), bad); !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
