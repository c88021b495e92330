package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// SweepObjects is what a sweeper calls of *s3.Client beside Objects: no role
// that moves runs may list or delete in the bucket.
type SweepObjects interface {
	Objects
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error)
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
}

// Sweeper lets blobs of a bucket be removed that nothing in the table refers to:
// it is a source of package sweep.
type Sweeper struct {
	*Scanner
	store   *Store
	objects SweepObjects
}

// NewSweeper takes table, bucket, prefix, clock and patience from the store's
// configuration; its Objects are not used.
func NewSweeper(scan ScanClient, objects SweepObjects, c Config) (*Sweeper, error) {
	scanner, err := NewScanner(scan, c)
	if err != nil {
		return nil, err
	}
	if objects == nil || c.Bucket == "" {
		return nil, errNoBucket
	}
	c.Objects = objects
	s, err := New(c)
	return &Sweeper{Scanner: scanner, store: s, objects: objects}, err
}

// GetBlob is Store.GetBlob.
func (s *Sweeper) GetBlob(ctx context.Context, ref string) ([]byte, error) {
	return s.store.GetBlob(ctx, ref)
}

// ListBlobs answers blobs in the order of their references.
func (s *Sweeper) ListBlobs(ctx context.Context, after string, limit int) ([]store.BlobEntry, error) {
	all, most := s.store.prefix+"sha256/", int32(min(limit, 1000)) //nolint:gosec // at most 1,000
	in := &s3.ListObjectsV2Input{Bucket: &s.store.bucket, Prefix: &all, MaxKeys: &most}
	if after != "" {
		name := s.store.object(after)
		in.StartAfter = &name
	}
	out, err := s.objects.ListObjectsV2(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("listing blobs: %w", err)
	}
	entries := make([]store.BlobEntry, 0, len(out.Contents))
	for _, o := range out.Contents {
		name := aws.ToString(o.Key)
		ref := "sha256:" + name[strings.LastIndexByte(name, '/')+1:]
		if _, err := store.ParseBlobRef(ref); err != nil {
			return nil, fmt.Errorf("listing blobs: %s is none: %w", name, err)
		}
		entries = append(entries, store.BlobEntry{Ref: ref, Size: aws.ToInt64(o.Size), Stored: aws.ToTime(o.LastModified)})
	}
	return entries, nil
}

// RemoveBlobs deletes those that were not put since a time. In a bucket with
// versions it deletes the very version that it looked at, so that one that is put
// again in that moment stays; in one without, the moment between looking and
// deleting is a risk that only a time long past makes small.
func (s *Sweeper) RemoveBlobs(ctx context.Context, before time.Time, refs ...string) (int, error) {
	removed := 0
	for _, ref := range refs {
		if _, err := store.ParseBlobRef(ref); err != nil {
			return removed, err
		}
		name := s.store.object(ref)
		head, err := s.objects.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.store.bucket, Key: &name})
		var absent *types.NotFound
		if errors.As(err, &absent) {
			continue
		}
		if err != nil {
			return removed, fmt.Errorf("looking at blob %s: %w", ref, err)
		}
		if !aws.ToTime(head.LastModified).Before(before) {
			continue
		}
		_, err = s.objects.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.store.bucket, Key: &name, VersionId: head.VersionId})
		if err != nil {
			return removed, fmt.Errorf("removing blob %s: %w", ref, err)
		}
		removed++
	}
	return removed, nil
}
