package dynamofake_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
)

// TestFakeAnswersAsEndpoint sends random writes and reads to the fake and to
// an independent DynamoDB and compares every answer.
func TestFakeAnswersAsEndpoint(t *testing.T) {
	t.Parallel()
	url := os.Getenv("OUTERLOOP_DYNAMODB_ENDPOINT")
	if url == "" {
		t.Skip("OUTERLOOP_DYNAMODB_ENDPOINT is not set: the fake is not compared with a real DynamoDB (see localstack/ministack.sh)")
	}
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	table := "twin-" + rand.Text()
	if err := dynamofake.MakeTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	seed := mathrand.Uint64()
	w := &twin{t: t, fake: dynamofake.New(table), real: client, outcomes: map[string]int{}}
	s, err := dynamostore.New(dynamostore.Config{Client: w, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	script := &script{random: mathrand.New(mathrand.NewPCG(seed, 1)), versions: map[store.Key]int64{}}
	for range 3000 {
		script.step(t, s)
		if t.Failed() {
			break
		}
	}
	t.Logf("seed %d: compared %d writes and %d reads (%d answers were lost on the way); outcomes %v",
		seed, w.writes, w.reads, w.lost, w.outcomes)
}

// script makes random operations over few keys, so that they meet.
type script struct {
	random   *mathrand.Rand
	versions map[store.Key]int64 // as last seen
	sent     []sent
}

type sent struct {
	id  string
	ops []store.Op
}

func (s *script) step(t *testing.T, on *dynamostore.Store) {
	t.Helper()
	switch n := s.random.IntN(10); {
	case n < 7:
		s.write(t, on)
	case n == 7:
		items, err := on.Get(t.Context(), s.key(), store.Key{Part: "P0", Sort: "none"})
		if err != nil {
			t.Fatal(err)
		}
		if items[0] != nil {
			s.versions[items[0].Key] = items[0].Version
		}
	default:
		q := s.query()
		for {
			page, err := on.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if q.After = page.Next; q.After == "" {
				return
			}
		}
	}
}

func (s *script) write(t *testing.T, on *dynamostore.Store) {
	t.Helper()
	next := sent{id: rand.Text()}
	if len(s.sent) > 0 && s.random.IntN(6) == 0 { // a lost answer: the same again
		next = s.sent[s.random.IntN(len(s.sent))]
	} else {
		used := map[store.Key]bool{}
		for range 1 + s.random.IntN(4) {
			if op := s.op(); !used[op.Item.Key] {
				used[op.Item.Key] = true
				next.ops = append(next.ops, op)
			}
		}
		if s.random.IntN(10) == 0 {
			next.id = ""
		}
	}
	s.sent = append(s.sent[max(0, len(s.sent)-5):], next)
	err := on.Write(t.Context(), next.id, next.ops...)
	var failed *store.ConditionError
	switch {
	case err == nil:
		for _, op := range next.ops {
			s.versions[op.Item.Key] = op.Version + 1
		}
	case errors.As(err, &failed):
		s.versions[failed.Key] = 0
		if failed.Current != nil {
			s.versions[failed.Key] = failed.Current.Version
		}
	case !errors.Is(err, store.ErrTooLarge):
		t.Errorf("writing %+v: %v", next.ops, err)
	}
}

func (s *script) key() store.Key {
	return store.Key{Part: fmt.Sprintf("P%d", s.random.IntN(2)), Sort: []string{"a", "b", "ä#1", "日", "c d"}[s.random.IntN(5)]}
}

var names = []string{"left", "status", "res.1-x/y:z#", "n"}

func (s *script) amount() int64 {
	switch s.random.IntN(12) {
	case 0:
		return math.MaxInt64 - int64(s.random.IntN(3))
	case 1:
		return math.MinInt64 + int64(s.random.IntN(3))
	case 2:
		return 1<<53 + 1
	default:
		return int64(s.random.IntN(9)) - 3
	}
}

func (s *script) item(key store.Key) store.Item {
	item := store.Item{Key: key, Version: s.versions[key], Numbers: map[string]int64{}}
	switch n := s.random.IntN(8); {
	case n == 0:
	case n < 3 && key.Sort == "a": // so few that no query exceeds 1 MB, which emulators do not cut
		item.Body = []byte(strings.Repeat("x", store.MaxBody))
	default:
		item.Body = []byte(rand.Text())
	}
	for _, name := range names {
		if s.random.IntN(2) == 0 {
			item.Numbers[name] = s.amount()
		}
	}
	if s.random.IntN(2) == 0 {
		item.List = &store.IndexKey{Part: "L", Sort: key.Sort + fmt.Sprint(s.random.IntN(3), key.Part)}
	}
	if s.random.IntN(2) == 0 {
		item.Due = &store.IndexKey{Part: "D", Sort: fmt.Sprint(s.random.IntN(3), key.Sort, key.Part)}
	}
	if s.random.IntN(3) == 0 {
		item.Expires = 4_000_000_000
	}
	return item
}

func (s *script) conds() []store.Cond {
	var conds []store.Cond
	for range s.random.IntN(3) {
		conds = append(conds, store.Cond{
			Number: names[s.random.IntN(len(names))], Value: s.amount(),
			Is: []store.Comparison{store.IsEqual, store.IsAtLeast, store.IsAtMost, store.IsAbsent}[s.random.IntN(4)],
		})
	}
	return conds
}

func (s *script) op() store.Op {
	key := s.key()
	switch s.random.IntN(8) {
	case 0, 1:
		return store.Create(s.item(key))
	case 2, 3:
		if item := s.item(key); item.Version > 0 {
			return store.Replace(item, s.conds()...)
		}
		return store.Create(s.item(key))
	case 4:
		return store.Remove(key, s.versions[key])
	case 5:
		return store.Check(key, s.conds()...)
	default:
		deltas := map[string]int64{}
		for _, name := range names[:2] {
			if s.random.IntN(2) == 0 {
				deltas[name] = s.amount()
			}
		}
		return store.Add(key, deltas, s.conds()...).Dropping(names[2])
	}
}

func (s *script) query() store.Query {
	q := store.Query{Part: fmt.Sprintf("P%d", s.random.IntN(2)), Limit: 1 + s.random.IntN(6), Descending: s.random.IntN(2) == 0}
	switch s.random.IntN(4) {
	case 0:
		q.Index, q.Part = store.ByList, "L"
	case 1:
		q.Index, q.Part = store.ByDue, "D"
	}
	bounds := []string{"", "", "a", "b", "c", "ä", "日", "1", "2"}
	q.Prefix, q.From, q.To = bounds[s.random.IntN(len(bounds))], bounds[s.random.IntN(len(bounds))], bounds[s.random.IntN(len(bounds))]
	return q
}
