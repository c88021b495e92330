package dynamostore_test

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
)

// TestStoreOnEndpoint holds a real endpoint to the suite.
func TestStoreOnEndpoint(t *testing.T) {
	t.Parallel()
	client, table := endpoint(t)
	config := dynamostore.Config{Client: client, Table: table}
	if url := os.Getenv("OUTERLOOP_S3_ENDPOINT"); url != "" {
		config.Objects, config.Bucket = bucket(t, url)
	}
	s, err := dynamostore.New(config)
	if err != nil {
		t.Fatal(err)
	}
	scanner, err := dynamostore.NewScanner(client, config)
	if err != nil {
		t.Fatal(err)
	}
	bundle := storetest.Bundle{Store: s, Scan: scanner, Features: storetest.Features{
		Remote: true, LaggingIndexes: true, GrowsUnchecked: os.Getenv("OUTERLOOP_DYNAMODB_EMULATED") != "",
	}}
	if config.Objects != nil {
		bundle.Blobs, bundle.Damage = s, func(t *testing.T, ref string) { overwrite(t, config, ref) }
	}
	storetest.Run(t, func(*testing.T) storetest.Bundle { return bundle })
}

// endpoint makes a table for one test at the endpoint named in the environment.
func endpoint(t *testing.T) (*dynamodb.Client, string) {
	t.Helper()
	if os.Getenv("OUTERLOOP_DYNAMODB_ENDPOINT") == "" {
		t.Skip("OUTERLOOP_DYNAMODB_ENDPOINT is not set: not compared with a real DynamoDB (see localstack/ministack.sh)")
	}
	client := connect()
	table := "storetest-" + rand.Text()
	if err := dynamofake.MakeTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	return client, table
}

func connect() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(os.Getenv("OUTERLOOP_DYNAMODB_ENDPOINT")),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

func bucket(t *testing.T, url string) (*s3.Client, string) {
	t.Helper()
	client := s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &url, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	name := "storetest-" + strings.ToLower(rand.Text())
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return client, name
}

func overwrite(t *testing.T, config dynamostore.Config, ref string) {
	t.Helper()
	digits := strings.TrimPrefix(ref, "sha256:")
	_, err := config.Objects.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &config.Bucket, Key: aws.String("sha256/" + digits[:2] + "/" + digits), Body: strings.NewReader("damaged"),
	})
	if err != nil {
		t.Fatal(err)
	}
}
