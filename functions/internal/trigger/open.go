package trigger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/core"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// Open makes the function of its surroundings.
func Open(_ context.Context, f *boot.Function) (boot.Handler, error) {
	c, err := core.Open(f)
	if err != nil {
		return nil, err
	}
	client := s3.NewFromConfig(f.AWS)
	blobs := remote.Blobs{Blobs: c.Store, Upload: core.Uploads{Client: client, Bucket: f.Bucket, Now: f.Now}.Sign}
	uses := remote.Of(c.Coordinator).With(blobs).Only(remote.UseStart, remote.UsePublish, remote.UseBlob, remote.UseUpload)
	return New(Config{
		Coordinator: c.Coordinator, Definitions: c.Definitions, Files: c.Files.Keep,
		Probe: c.Workers.Probe, Surroundings: core.Surroundings, Uses: uses.Serve, Now: f.Now, Log: f.Log,
	}).Handle, nil
}
