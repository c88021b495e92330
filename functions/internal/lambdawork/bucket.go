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

// Read gets an object. S3 tells a role that may list only a prefix 403 for one
// that is not there: then the list says whether it is.
func (f Folder) Read(ctx context.Context, name string) ([]byte, error) {
	out, err := f.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &f.Bucket, Key: aws.String(f.Prefix + name)})
	var missing *types.NoSuchKey
	switch {
	case errors.As(err, &missing), denied(err) && f.absent(ctx, name):
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

func denied(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "AccessDenied"
}

// absent tells whether an object is certainly not there. Names that begin with
// this one come behind it.
func (f Folder) absent(ctx context.Context, name string) bool {
	key := f.Prefix + name
	page, err := f.Client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &f.Bucket, Prefix: &key, Delimiter: aws.String("/"), MaxKeys: aws.Int32(1)})
	return err == nil && (len(page.Contents) == 0 || aws.ToString(page.Contents[0].Key) != key)
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
