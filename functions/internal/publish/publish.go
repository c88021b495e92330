// Package publish is the function by which a deployment brings into the shared
// state what machines point at: a CloudFormation custom resource, and a release
// by hand. Everything it does can be done again.
package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/core"
	"github.com/outerloop-dev/outerloop/functions/internal/machines"
)

// Objects is what is called of *s3.Client.
type Objects interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
}

// Config is what the function is made of; all but Log and Respond is required.
type Config struct {
	Publisher   machines.Publisher
	Definitions *machines.Definitions
	Versions    machines.Versions
	Objects     Objects
	// Bucket takes the files of connections.
	Bucket string
	// Respond answers CloudFormation at an address; nil: over HTTP.
	Respond func(ctx context.Context, url string, answer []byte) error
	Log     *slog.Logger
}

// Function serves deployments.
type Function struct{ cfg Config }

// New makes the function.
func New(cfg Config) *Function {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Respond == nil {
		cfg.Respond = respond
	}
	return &Function{cfg}
}

// Open makes it of a function's surroundings.
func Open(_ context.Context, f *boot.Function) (boot.Handler, error) {
	db, err := core.OpenStore(f)
	if err != nil {
		return nil, err
	}
	return New(Config{
		Publisher:   machines.Publisher{Store: db, Blobs: db, IDs: core.NewID},
		Definitions: machines.NewDefinitions(db, db, f.Now),
		Versions:    machines.Versions{Client: sfn.NewFromConfig(f.AWS)},
		Objects:     s3.NewFromConfig(f.AWS), Bucket: f.Bucket, Log: f.Log,
	}).Handle, nil
}

// asset is a file that the deployment has put into a bucket of its own.
type asset struct{ Bucket, Key string }

// properties are those of the custom resource. Publish says which of them count.
type properties struct {
	// Publish is definition, latest, workers or files.
	Publish string
	Loop    string
	Hash    string
	Bundle  asset
	// StateMachine is the machine's ARN; Machine a version's, where one was made
	// by the deployment itself.
	StateMachine string
	Machine      string
	// Workers and Loops are all that are deployed.
	Workers []string
	Loops   []string
	// Archive is a zip whose files are put under Prefix.
	Prefix  string
	Archive asset
}

// answer is what a custom resource is told.
type answer struct {
	PhysicalResourceId string            //nolint:revive // CloudFormation's word
	Data               map[string]string `json:",omitempty"`
}

// do does what a resource asks.
func (f *Function) do(ctx context.Context, kind string, p properties) (answer, error) {
	switch p.Publish {
	case "definition":
		return f.definition(ctx, kind, p)
	case "latest":
		return f.latest(ctx, kind, p)
	case "workers":
		out := answer{PhysicalResourceId: "workers"}
		if kind == requestDelete {
			return out, nil
		}
		return out, f.cfg.Publisher.Workers(ctx, machines.Deployed{Workers: p.Workers, Loops: p.Loops}, f.cfg.Definitions)
	case "files":
		return f.files(ctx, kind, p)
	}
	return answer{}, fmt.Errorf("there is nothing called %q to publish", p.Publish)
}

func (f *Function) definition(ctx context.Context, kind string, p properties) (answer, error) {
	out := answer{PhysicalResourceId: "definition-" + p.Loop + "-" + p.Hash, Data: map[string]string{"Hash": p.Hash}}
	if kind == requestDelete { // runs may have pinned it
		return out, nil
	}
	bundle, err := f.fetch(ctx, p.Bundle)
	if err != nil {
		return out, err
	}
	return out, f.cfg.Publisher.Definition(ctx, p.Loop, p.Hash, bundle)
}

func (f *Function) latest(ctx context.Context, kind string, p properties) (answer, error) {
	out := answer{PhysicalResourceId: "latest-" + p.Loop}
	if kind == requestDelete {
		return out, f.cfg.Publisher.Withdraw(ctx, p.Loop)
	}
	version := p.Machine
	if version == "" {
		var err error
		if version, err = f.cfg.Versions.Publish(ctx, p.StateMachine, p.Hash); err != nil {
			return out, err
		}
	}
	out.Data = map[string]string{"Version": version}
	if err := f.release(ctx, machines.Latest{Loop: p.Loop, Hash: p.Hash, Machine: version}); err != nil || p.StateMachine == "" {
		return out, err
	}
	f.retire(ctx, p)
	return out, nil
}

// retire deletes versions that nobody needs. A deployment does not fail for it.
func (f *Function) retire(ctx context.Context, p properties) {
	deleted, err := f.cfg.Publisher.Retire(ctx, p.Loop, p.StateMachine, f.cfg.Versions)
	if err != nil {
		f.cfg.Log.WarnContext(ctx, "old versions of a machine stay", "loop", p.Loop, "error", err)
	}
	if len(deleted) > 0 {
		f.cfg.Log.InfoContext(ctx, "old versions of a machine are deleted", "loop", p.Loop, "versions", deleted)
	}
}

// release lets new runs pin a definition, and moves the alias that people see.
func (f *Function) release(ctx context.Context, l machines.Latest) error {
	if err := f.cfg.Publisher.Latest(ctx, l); err != nil {
		return err
	}
	return f.cfg.Versions.Point(ctx, l.Machine)
}

// largestAsset bounds what is read of a deployment, in bytes.
const largestAsset = 64 << 20

func (f *Function) fetch(ctx context.Context, from asset) ([]byte, error) {
	out, err := f.cfg.Objects.GetObject(ctx, &s3.GetObjectInput{Bucket: &from.Bucket, Key: &from.Key})
	if err != nil {
		return nil, fmt.Errorf("reading the asset %s: %w", from.Key, err)
	}
	var content bytes.Buffer
	n, err := io.Copy(&content, io.LimitReader(out.Body, largestAsset+1))
	if err := errors.Join(err, out.Body.Close()); err != nil {
		return nil, fmt.Errorf("reading the asset %s: %w", from.Key, err)
	}
	if n > largestAsset {
		return nil, fmt.Errorf("the asset %s is over %d bytes", from.Key, largestAsset)
	}
	return content.Bytes(), nil
}

// Handle serves a request of CloudFormation, or {"use":"release","request":{loop, hash}}.
func (f *Function) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	var by struct {
		Use     string `json:"use"`
		Request struct {
			Loop string `json:"loop"`
			Hash string `json:"hash"`
		} `json:"request"`
	}
	if err := json.Unmarshal(event, &by); err == nil && by.Use == "release" {
		return f.releaseByHand(ctx, by.Request.Loop, by.Request.Hash)
	}
	return f.serve(ctx, event)
}

// releaseByHand goes back, or forward, to a definition that has been published.
func (f *Function) releaseByHand(ctx context.Context, loop, hash string) (any, error) {
	machine, err := f.cfg.Definitions.MachineOf(ctx, hash)
	if err != nil {
		return nil, err
	}
	l := machines.Latest{Loop: loop, Hash: hash, Machine: machine}
	// The alias first: it cannot point at a version that is gone.
	if err := f.cfg.Versions.Point(ctx, machine); err != nil {
		return nil, fmt.Errorf("%w (old versions are deleted in time: deploy the commit that has this definition)", err)
	}
	f.cfg.Log.InfoContext(ctx, "released", "loop", loop, "hash", hash, "machine", machine)
	return l, f.cfg.Publisher.Latest(ctx, l)
}
