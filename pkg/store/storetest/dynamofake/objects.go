package dynamofake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// Objects is an S3 bucket in memory.
type Objects struct {
	// Now dates what is put; nil: time.Now.
	Now func() time.Time

	mu      sync.Mutex
	content map[string][]byte
	put     map[string]time.Time
}

// NewObjects makes an empty bucket.
func NewObjects() *Objects {
	return &Objects{content: map[string][]byte{}, put: map[string]time.Time{}, Now: time.Now}
}

// PutObject stores content after checking its checksum.
func (o *Objects) PutObject(_ context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	content, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	if want := deref(in.ChecksumSHA256); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
		return nil, &smithy.GenericAPIError{Code: "BadDigest", Message: "The SHA256 you specified did not match"}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := deref(in.Bucket) + "/" + deref(in.Key)
	o.content[name], o.put[name] = content, o.Now()
	return &s3.PutObjectOutput{}, nil
}

// ListObjectsV2 lists names with a prefix in their order, one page.
func (o *Objects) ListObjectsV2(_ context.Context, in *s3.ListObjectsV2Input, _ ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := &s3.ListObjectsV2Output{}
	bucket := deref(in.Bucket) + "/"
	for _, name := range slices.Sorted(maps.Keys(o.content)) {
		key, ok := strings.CutPrefix(name, bucket)
		if !ok || !strings.HasPrefix(key, deref(in.Prefix)) || key <= deref(in.StartAfter) || len(out.Contents) >= int(*in.MaxKeys) {
			continue
		}
		size, at := int64(len(o.content[name])), o.put[name]
		out.Contents = append(out.Contents, types.Object{Key: &key, Size: &size, LastModified: &at})
	}
	return out, nil
}

// HeadObject tells when an object was put.
func (o *Objects) HeadObject(_ context.Context, in *s3.HeadObjectInput, _ ...func(*s3.Options)) (*s3.HeadObjectOutput, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.put[deref(in.Bucket)+"/"+deref(in.Key)]
	if !ok {
		return nil, &types.NotFound{}
	}
	return &s3.HeadObjectOutput{LastModified: &at}, nil
}

// DeleteObject deletes an object, if there is one.
func (o *Objects) DeleteObject(_ context.Context, in *s3.DeleteObjectInput, _ ...func(*s3.Options)) (*s3.DeleteObjectOutput, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := deref(in.Bucket) + "/" + deref(in.Key)
	delete(o.content, name)
	delete(o.put, name)
	return &s3.DeleteObjectOutput{}, nil
}

// GetObject reads content.
func (o *Objects) GetObject(_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	content, ok := o.content[deref(in.Bucket)+"/"+deref(in.Key)]
	if !ok {
		return nil, &types.NoSuchKey{}
	}
	return &s3.GetObjectOutput{Body: io.NopCloser(bytes.NewReader(content))}, nil
}

// Damage changes the first byte of every object whose name ends so.
func (o *Objects) Damage(suffix string) (damaged int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, content := range o.content {
		if len(content) > 0 && bytes.HasSuffix([]byte(name), []byte(suffix)) {
			changed := bytes.Clone(content)
			changed[0] ^= 0xff
			o.content[name] = changed
			damaged++
		}
	}
	return damaged
}
