package dynamofake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// Objects is an S3 bucket in memory.
type Objects struct {
	mu      sync.Mutex
	content map[string][]byte
}

// NewObjects makes an empty bucket.
func NewObjects() *Objects { return &Objects{content: map[string][]byte{}} }

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
	o.content[deref(in.Bucket)+"/"+deref(in.Key)] = content
	return &s3.PutObjectOutput{}, nil
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
