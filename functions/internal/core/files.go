package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// InputPrefix is where the files are in the bucket that loops' triggers name.
const InputPrefix = "inputs/"

// Inputs is what is called of *s3.Client.
type Inputs interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

// Files keeps files of the bucket as blobs, as an input of a run wants them.
type Files struct {
	Definitions coordinator.Definitions
	Objects     Inputs
	Bucket      string
	Blobs       store.Blobs
}

// Keep replaces the fields of an input that are files, and name one of the
// bucket, by references. A file that is missing is a fault of the input.
func (f Files) Keep(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error) {
	hash, err := f.Definitions.Latest(ctx, name)
	if err != nil {
		return nil, err
	}
	def, err := f.Definitions.Definition(ctx, hash)
	if err != nil {
		return nil, err
	}
	var document map[string]json.RawMessage
	if json.Unmarshal(input, &document) != nil || document == nil {
		return input, nil //nolint:nilerr // the loop's schema says what is wrong
	}
	for _, field := range def.Input.Type().Fields() {
		var text string
		if field.Type.Format != "file" || json.Unmarshal(document[field.Name], &text) != nil || isRef(text) {
			continue
		}
		ref, err := f.keep(ctx, text)
		if err != nil {
			return nil, err
		}
		if document[field.Name], err = json.Marshal(ref); err != nil {
			return nil, err
		}
	}
	return json.Marshal(document)
}

func isRef(text string) bool {
	_, err := store.ParseBlobRef(text)
	return err == nil
}

func (f Files) keep(ctx context.Context, text string) (string, error) {
	fault := func(why string) error { return &coordinator.InputError{What: "file " + text, Faults: []string{why}} }
	if text == "" || path.IsAbs(text) || path.Clean(text) != text || strings.HasPrefix(text, "..") {
		return "", fault("is no path inside the project")
	}
	key := InputPrefix + text
	out, err := f.Objects.GetObject(ctx, &s3.GetObjectInput{Bucket: &f.Bucket, Key: aws.String(key)})
	var missing *types.NoSuchKey
	switch {
	case errors.As(err, &missing):
		return "", fault(fmt.Sprintf("is not there: aws s3 cp %s s3://%s/%s", text, f.Bucket, key))
	case err != nil:
		return "", fmt.Errorf("reading %s: %w", key, err)
	}
	content, err := io.ReadAll(io.LimitReader(out.Body, store.MaxBlob+1))
	if err := errors.Join(err, out.Body.Close()); err != nil {
		return "", fmt.Errorf("reading %s: %w", key, err)
	}
	ref, err := f.Blobs.PutBlob(ctx, content)
	if errors.Is(err, store.ErrTooLarge) {
		return "", fault(err.Error())
	}
	return ref, err
}
