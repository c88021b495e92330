package core

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// goodFor is how long a signed address is good: the longest attempt.
const goodFor = 15 * time.Minute

// Presigner is what is called of *s3.PresignClient.
type Presigner interface {
	PresignGetObject(context.Context, *s3.GetObjectInput, ...func(*s3.PresignOptions)) (*v4.PresignedHTTPRequest, error)
}

// Signer signs addresses of blobs, without asking S3.
type Signer struct {
	Client Presigner
	Bucket string
}

// NewSigner signs with a client's credentials.
func NewSigner(client *s3.Client, bucket string) Signer {
	return Signer{s3.NewPresignClient(client), bucket}
}

// Fetch signs the address of a blob for fifteen minutes.
func (s Signer) Fetch(ctx context.Context, ref string) (gatewire.Fetch, error) {
	if _, err := store.ParseBlobRef(ref); err != nil {
		return gatewire.Fetch{}, err
	}
	digits := strings.TrimPrefix(ref, "sha256:")
	req, err := s.Client.PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket: &s.Bucket, Key: aws.String(BlobPrefix + "sha256/" + digits[:2] + "/" + digits),
	}, s3.WithPresignExpires(goodFor))
	if err != nil {
		return gatewire.Fetch{}, fmt.Errorf("signing the address of %s: %w", ref, err)
	}
	return gatewire.Fetch{Ref: ref, URL: req.URL}, nil
}
