package core

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Uploads signs addresses at which content that is too large for an invocation
// can be put as a blob, without asking S3.
type Uploads struct {
	Client *s3.Client
	Bucket string
	Now    func() time.Time
}

// Sign signs a PUT for fifteen minutes, with the content's checksum and length: S3
// takes nothing else there. Errors: store.ErrInvalid, store.ErrTooLarge.
func (u Uploads) Sign(ctx context.Context, want remote.Upload) (remote.Uploading, error) {
	ref := "sha256:" + want.SHA256
	if _, err := store.ParseBlobRef(ref); err != nil {
		return remote.Uploading{}, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	if want.Size < 1 || want.Size > store.MaxBlob {
		return remote.Uploading{}, fmt.Errorf("content of %d bytes, 1 to %d can be uploaded: %w", want.Size, store.MaxBlob, store.ErrTooLarge)
	}
	digest, err := hex.DecodeString(want.SHA256)
	if err != nil {
		return remote.Uploading{}, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	checksum := base64.StdEncoding.EncodeToString(digest)
	signed, until, err := u.sign(ctx, want, checksum)
	if err != nil {
		return remote.Uploading{}, fmt.Errorf("signing the upload of %s: %w", ref, err)
	}
	return remote.Uploading{Ref: ref, URL: signed, Headers: map[string]string{checksumHeader: checksum}, Until: until}, nil
}

// checksumHeader is what S3 compares content with. A signed address is never of
// the content itself.
const (
	checksumHeader  = "X-Amz-Checksum-Sha256"
	unsignedPayload = "UNSIGNED-PAYLOAD"
)

func (u Uploads) sign(ctx context.Context, want remote.Upload, checksum string) (signed string, until time.Time, err error) {
	// The client knows where the bucket is; its own signature leaves the content open.
	open, err := s3.NewPresignClient(u.Client).PresignPutObject(ctx, &s3.PutObjectInput{
		Bucket: &u.Bucket, Key: aws.String(BlobPrefix + "sha256/" + want.SHA256[:2] + "/" + want.SHA256),
	})
	if err != nil {
		return "", until, err
	}
	at, _, _ := strings.Cut(open.URL, "?")
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, at, nil)
	if err != nil {
		return "", until, err
	}
	r.URL.RawQuery = url.Values{"X-Amz-Expires": {strconv.Itoa(int(goodFor / time.Second))}}.Encode()
	r.ContentLength = want.Size
	r.Header.Set(checksumHeader, checksum)
	options := u.Client.Options()
	keys, err := options.Credentials.Retrieve(ctx)
	if err != nil {
		return "", until, err
	}
	now := u.Now()
	signed, _, err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping, o.DisableHeaderHoisting = true, true }).
		PresignHTTP(ctx, keys, r, unsignedPayload, "s3", options.Region, now)
	return signed, now.Add(goodFor).UTC(), err
}
