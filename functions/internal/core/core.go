// Package core is the coordinator of a deployed system: the shared state in
// DynamoDB and S3, machines in Step Functions, workers in Lambda, alerts in SNS.
package core

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/machines"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
)

// BlobPrefix stands before the names of blobs in the bucket; other prefixes
// hold connections and the files that schedules name.
const BlobPrefix = "blobs/"

// Parts are what a core is made of. Store, Machines, Settings and Now are
// required; without Lambda no worker is called, without Topic alerts are logged.
type Parts struct {
	Settings boot.Settings
	Store    *dynamostore.Store
	Machines machines.StepFunctions
	Lambda   Lambda
	Topic    Topic
	// Inputs has the files that triggers name, in Bucket; nil: there are none.
	Inputs Inputs
	Bucket string
	Now    func() time.Time
	Log    *slog.Logger
}

// Core is the coordinator with what functions need beside it.
type Core struct {
	*coordinator.Coordinator
	Store       *dynamostore.Store
	Definitions *machines.Definitions
	Executions  machines.Executions
	Tokens      machines.Tokens
	Workers     Workers
	Alerts      *Alerts
	// Files keeps what inputs of triggered runs name; of no use without Parts.Inputs.
	Files Files
	Now   func() time.Time
	Log   *slog.Logger
}

// Open makes the core of a function from its surroundings.
func Open(f *boot.Function) (*Core, error) {
	db, err := OpenStore(f)
	if err != nil {
		return nil, err
	}
	parts := Parts{
		Settings: f.Settings, Store: db, Machines: sfn.NewFromConfig(f.AWS), Lambda: lambda.NewFromConfig(f.AWS), Now: f.Now, Log: f.Log,
		Inputs: s3.NewFromConfig(f.AWS), Bucket: f.Bucket,
	}
	if f.AlertTopic != "" {
		parts.Topic = sns.NewFromConfig(f.AWS)
	}
	return New(parts)
}

// OpenStore is the shared state of a function's surroundings.
func OpenStore(f *boot.Function) (*dynamostore.Store, error) {
	return dynamostore.New(dynamostore.Config{
		Client: dynamodb.NewFromConfig(f.AWS), Table: f.Table,
		Objects: s3.NewFromConfig(f.AWS), Bucket: f.Bucket, Prefix: BlobPrefix, Now: f.Now,
	})
}

// New makes a core.
func New(p Parts) (*Core, error) {
	if p.Store == nil || p.Machines == nil || p.Now == nil {
		return nil, errors.New("core: Store, Machines and Now are required")
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	definitions := machines.NewDefinitions(p.Store, p.Store, p.Now)
	c := &Core{
		Store: p.Store, Definitions: definitions, Now: p.Now, Log: p.Log,
		Executions: machines.Executions{Client: p.Machines, Definitions: definitions},
		Tokens:     machines.Tokens{Client: p.Machines},
		Workers:    Workers{Client: p.Lambda, Settings: p.Settings},
		Alerts: &Alerts{
			Store: p.Store, Definitions: definitions, Client: p.Topic, Topic: p.Settings.AlertTopic, Now: p.Now, Log: p.Log,
		},
	}
	c.Files = Files{Definitions: definitions, Objects: p.Inputs, Bucket: p.Bucket, Blobs: p.Store}
	var keep func(context.Context, string, json.RawMessage) (json.RawMessage, error)
	if p.Inputs != nil {
		keep = c.Files.Keep
	}
	made, err := coordinator.New(coordinator.Config{
		Store: p.Store, Blobs: p.Store, Definitions: definitions, Loops: definitions.Loops,
		Executions: c.Executions, Tokens: c.Tokens, Clock: p.Now, IDs: NewID,
		Files: keep, Deliver: c.Workers.Deliver, Notify: c.Alerts.Notify, Log: p.Log,
	})
	c.Coordinator = made
	return c, err
}

// NewID is a new unique text of 26 characters.
func NewID() string { return rand.Text() }
