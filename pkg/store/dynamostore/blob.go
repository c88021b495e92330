package dynamostore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

var errNoBucket = errors.New("dynamostore: no bucket is configured")

// PutBlob stores content under its hash; S3 checks it on arrival. Storing again
// writes again, which keeps a lifecycle rule from removing what is in use.
func (s *Store) PutBlob(ctx context.Context, content []byte) (string, error) {
	if s.objects == nil {
		return "", errNoBucket
	}
	if len(content) > store.MaxBlob {
		return "", fmt.Errorf("%w: a blob of %d bytes, at most %d are allowed", store.ErrTooLarge, len(content), store.MaxBlob)
	}
	ref := store.BlobRef(content)
	hash := sha256.Sum256(content)
	sum, name := base64.StdEncoding.EncodeToString(hash[:]), s.object(ref)
	_, err := s.objects.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &name, Body: bytes.NewReader(content), ChecksumSHA256: &sum,
	})
	if err != nil {
		return "", fmt.Errorf("storing blob %s: %w", ref, err)
	}
	return ref, nil
}

// GetBlob reads content and checks it against its reference. A role that may
// not list the bucket is told 403 instead of 404 by S3: it then sees the
// transport's error in place of store.ErrNoBlob.
func (s *Store) GetBlob(ctx context.Context, ref string) ([]byte, error) {
	if s.objects == nil {
		return nil, errNoBucket
	}
	if _, err := store.ParseBlobRef(ref); err != nil {
		return nil, err
	}
	name := s.object(ref)
	out, err := s.objects.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &name})
	var missing *types.NoSuchKey
	if errors.As(err, &missing) {
		return nil, fmt.Errorf("%w: %s", store.ErrNoBlob, ref)
	}
	if err != nil {
		return nil, fmt.Errorf("reading blob %s: %w", ref, err)
	}
	content, err := io.ReadAll(io.LimitReader(out.Body, store.MaxBlob+1))
	if err := errors.Join(err, out.Body.Close()); err != nil {
		return nil, fmt.Errorf("reading blob %s: %w", ref, err)
	}
	if store.BlobRef(content) != ref {
		return nil, fmt.Errorf("%w: blob %s does not have this content any more", store.ErrCorrupt, ref)
	}
	return content, nil
}

// object spreads the blobs over prefixes by their first digits.
func (s *Store) object(ref string) string {
	digits := ref[len("sha256:"):]
	return s.prefix + "sha256/" + digits[:2] + "/" + digits
}
