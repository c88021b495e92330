package dynamostore_test

import (
	"crypto/rand"
	"os"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
)

// BenchmarkStoreOnFake shows what the adapter itself costs, without a network.
func BenchmarkStoreOnFake(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store {
		return benchStore(b, dynamofake.New("loops"), "loops")
	})
}

// BenchmarkStoreOnEndpoint measures the endpoint named in the environment.
func BenchmarkStoreOnEndpoint(b *testing.B) {
	if os.Getenv("OUTERLOOP_DYNAMODB_ENDPOINT") == "" {
		b.Skip("OUTERLOOP_DYNAMODB_ENDPOINT is not set (see localstack/ministack.sh)")
	}
	storetest.Benchmark(b, func(b *testing.B) store.Store {
		client := connect()
		table := "bench-" + rand.Text()
		if err := dynamofake.MakeTable(b.Context(), client, table); err != nil {
			b.Fatal(err)
		}
		return benchStore(b, client, table)
	})
}

func benchStore(b *testing.B, client dynamostore.Client, table string) store.Store {
	b.Helper()
	s, err := dynamostore.New(dynamostore.Config{Client: client, Table: table})
	if err != nil {
		b.Fatal(err)
	}
	return s
}
