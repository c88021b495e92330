package coordinator_test

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
)

// backEnd is a store as a deployment has it.
type backEnd struct {
	store store.Store
	blobs store.Blobs
	scan  store.Scanner
	// fake is there where the back end is one.
	fake *dynamofake.Fake
	// ids is where a world's ids begin: an account knows a write by its id.
	ids int
}

const lagging = "dynamodb fake, lagging indexes"

// backEnds are those that the coordinator must work on alike.
var backEnds = map[string]func(testing.TB) backEnd{
	"sqlite": onSQLite, "dynamodb fake": onFake, lagging: onLaggingFake, "dynamodb endpoint": onEndpoint,
}

func onSQLite(t testing.TB) backEnd {
	t.Helper()
	db, err := sqlitestore.Open(filepath.Join(t.TempDir(), "state.db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return backEnd{store: db.Relaxed(), blobs: db.Relaxed(), scan: db}
}

func onFake(t testing.TB) backEnd {
	t.Helper()
	fake := dynamofake.New("loops")
	b := overDynamo(t, fake, fake, "loops")
	b.fake = fake
	return b
}

func onLaggingFake(t testing.TB) backEnd {
	t.Helper()
	b := onFake(t)
	b.fake.Lagging = true
	return b
}

// onEndpoint is the one named in the environment; its blobs are in memory.
func onEndpoint(t testing.TB) backEnd {
	t.Helper()
	url := os.Getenv("OUTERLOOP_DYNAMODB_ENDPOINT")
	if url == "" {
		t.Skip("OUTERLOOP_DYNAMODB_ENDPOINT is not set")
	}
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(url), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	table := "coordinator-" + strings.ToLower(rand.Text())
	if err := dynamofake.MakeTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	b := overDynamo(t, client, client, table)
	b.ids = mathrand.IntN(1 << 40)
	return b
}

func overDynamo(t testing.TB, client dynamostore.Client, scan dynamostore.ScanClient, table string) backEnd {
	t.Helper()
	config := dynamostore.Config{Client: client, Table: table, Objects: dynamofake.NewObjects(), Bucket: "blobs"}
	s, err := dynamostore.New(config)
	if err != nil {
		t.Fatal(err)
	}
	scanner, err := dynamostore.NewScanner(scan, config)
	if err != nil {
		t.Fatal(err)
	}
	return backEnd{store: s, blobs: s, scan: scanner}
}

// worldOver is a world whose coordinator works on a back end.
func worldOver(t testing.TB, b backEnd, files map[string]string) *world {
	t.Helper()
	w := newWorld(t, files)
	w.store, w.blobs = b.store, b.blobs
	w.ids = b.ids
	w.boot()
	return w
}
