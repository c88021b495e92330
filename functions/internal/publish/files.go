package publish

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// files puts every file of an archive under a prefix of the bucket. Files that
// are there and not in the archive stay: workers may have written them.
func (f *Function) files(ctx context.Context, kind string, p properties) (answer, error) {
	out := answer{PhysicalResourceId: "files-" + p.Prefix}
	if kind == requestDelete {
		return out, nil
	}
	if !strings.HasSuffix(p.Prefix, "/") {
		return out, fmt.Errorf("the prefix %q does not end in a slash", p.Prefix)
	}
	content, err := f.fetch(ctx, p.Archive)
	if err != nil {
		return out, err
	}
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return out, fmt.Errorf("reading the archive for %s: %w", p.Prefix, err)
	}
	for _, file := range archive.File {
		if file.FileInfo().IsDir() {
			continue
		}
		if err := f.putFile(ctx, p.Prefix, file); err != nil {
			return out, fmt.Errorf("putting %s%s: %w", p.Prefix, file.Name, err)
		}
	}
	return out, nil
}

var errEscapes = errors.New("its name leads out of the prefix")

func (f *Function) putFile(ctx context.Context, prefix string, file *zip.File) error {
	if name := path.Clean(file.Name); name != file.Name || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/") {
		return errEscapes
	}
	r, err := file.Open()
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(r, largestAsset))
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	_, err = f.cfg.Objects.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &f.cfg.Bucket, Key: aws.String(prefix + file.Name), Body: bytes.NewReader(content),
	})
	return err
}
