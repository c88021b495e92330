package lambdawork

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Objects is what is called of *s3.Client.
type Objects interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
}

// ConnectionPrefix is where a connection of kind files or outbox has its files
// in the bucket.
func ConnectionPrefix(name string) string { return "connections/" + name + "/" }

// Folder is a prefix of a bucket as a directory.
type Folder struct {
	Client Objects
	Bucket string
	// Prefix ends in a slash.
	Prefix string
}

var _ worker.Directory = Folder{}

// largest bounds a file that is read, in bytes.
const largest = 16 << 20

// Read gets an object. A role that may not list the prefix is told 403 for one
// that is not there, and sees that as an error.
func (f Folder) Read(ctx context.Context, name string) ([]byte, error) {
	out, err := f.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &f.Bucket, Key: aws.String(f.Prefix + name)})
	var missing *types.NoSuchKey
	switch {
	case errors.As(err, &missing):
		return nil, fmt.Errorf("%s%s: %w", f.Prefix, name, fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("reading %s%s: %w", f.Prefix, name, err)
	}
	defer func() { _ = out.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(out.Body, largest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s%s: %w", f.Prefix, name, err)
	case len(content) > largest:
		return nil, worker.MissingInput("%s%s has over %d bytes, more than can be read", f.Prefix, name, largest)
	}
	return content, nil
}

// Names lists the objects right under the prefix.
func (f Folder) Names(ctx context.Context) ([]string, error) {
	var names []string
	for token := (*string)(nil); ; {
		page, err := f.Client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
			Bucket: &f.Bucket, Prefix: &f.Prefix, Delimiter: aws.String("/"), ContinuationToken: token,
		})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", f.Prefix, err)
		}
		for _, object := range page.Contents {
			name := strings.TrimPrefix(aws.ToString(object.Key), f.Prefix)
			if name != "" && !strings.HasPrefix(name, ".") {
				names = append(names, name)
			}
		}
		if token = page.NextContinuationToken; token == nil {
			slices.Sort(names)
			return names, nil
		}
	}
}

// Create puts an object where none is. It is tried once only: after a lost
// answer a second try could not tell its own object from somebody else's.
func (f Folder) Create(ctx context.Context, name string, content []byte) error {
	_, err := f.Client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &f.Bucket, Key: aws.String(f.Prefix + name), Body: bytes.NewReader(content), IfNoneMatch: aws.String("*"),
	}, func(o *s3.Options) { o.RetryMaxAttempts = 1 })
	var api smithy.APIError
	var answered *smithyhttp.ResponseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api) && api.ErrorCode() == "PreconditionFailed":
		return fmt.Errorf("%w: %s%s: %w", worker.ErrNotCreated, f.Prefix, name, fs.ErrExist)
	case errors.As(err, &answered) && answered.HTTPStatusCode() >= 400 && answered.HTTPStatusCode() < 500:
		return fmt.Errorf("%w: %w", worker.ErrNotCreated, err)
	}
	return fmt.Errorf("putting %s%s: %w", f.Prefix, name, err)
}
