package gatedoor

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/core"
)

// Open makes a gate's function of its surroundings.
func Open(_ context.Context, f *boot.Function) (boot.Handler, error) {
	c, err := core.Open(f)
	if err != nil {
		return nil, err
	}
	return New(Config{
		Worker: f.Worker, Gate: c.For(f.Worker), Definition: c.DefinitionOf, Keep: c.Store.PutBlob,
		Signer: core.NewSigner(s3.NewFromConfig(f.AWS), f.Bucket), Log: f.Log,
	}).Handle, nil
}
