package durable_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

const mixed = `{"StartAt":"a","States":{
	"a":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"flaky","Payload.$":"$"},
	     "ResultPath":null,"Retry":[{"ErrorEquals":["Again"],"IntervalSeconds":5,"MaxAttempts":9,"BackoffRate":1}],"Next":"m"},
	"m":{"Type":"Map","ItemsPath":"$.items","ItemProcessor":{"StartAt":"w","States":{"w":{"Type":"Task",
	     "Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","Parameters":{"QueueUrl":"https://queue.local/work",
	     "MessageBody":{"token.$":"$$.Task.Token","v.$":"$"}},"End":true}}},"Next":"d"},
	"d":{"Type":"Map","ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"f","States":{
	     "f":{"Type":"Task","Resource":"arn:aws:lambda:local:000000000000:function:double","End":true}}},"End":true}}}`

// The Map is wide enough for a journal beside its snapshot.
const (
	mixedInput  = `{"items":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}`
	mixedOutput = `[2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32]`
)

// world answers calls and messages; it lives outside of the store, as workers do.
type world struct{ rng *rand.Rand }

// move does one thing, if there is one, and may forget to sync.
func (w world) move(b *bench) (moved bool) {
	b.Helper()
	for _, call := range b.Calls() {
		b.ok(b.Answer(b.Context(), call, w.answer(call)))
		moved = true
	}
	if m, token := b.receive(); m != nil {
		var body struct{ V json.RawMessage }
		b.ok(json.Unmarshal(m.Body, &body))
		_ = b.Succeed(b.Context(), token, body.V) // a token of before the crash is gone
		b.ok(b.Delete(b.Context(), m))
		moved = true
	}
	if moved {
		return true
	}
	due, err := b.NextDue(b.Context())
	b.ok(err)
	if due.IsZero() {
		return false
	}
	if due.After(b.now) {
		b.now = due
	}
	n, err := b.Fire(b.Context())
	b.ok(err)
	m, err := b.NextDue(b.Context())
	b.ok(err)
	return n > 0 || !m.IsZero()
}

func (w world) answer(call durable.Call) durable.Result {
	if call.Function == "flaky" && w.rng.IntN(3) == 0 {
		return durable.Result{Error: "Again"}
	}
	var n int
	if json.Unmarshal(call.Payload, &n) == nil {
		return durable.Result{Output: json.RawMessage(fmt.Sprint(2 * n))}
	}
	return durable.Result{Output: json.RawMessage(`null`)}
}

// A crash of the machine loses a suffix of what was applied and not synced: the
// file is then as it was at some moment after the last sync, its log cut
// anywhere. Whatever was synced must come to the same end.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	for range rounds {
		powerLoss(t, rng)
	}
}

func powerLoss(t *testing.T, rng *rand.Rand) {
	b := setup(t)
	b.ok(b.store.Close()) // the log below is this store's own
	var err error
	b.store, err = sqlitestore.Open(b.path, sqlitestore.Options{Linger: time.Hour})
	b.ok(err)
	b.useStore()
	w := world{rng}
	var synced int
	var log int64
	cut := rng.IntN(200)
	for i := range 6 {
		b.start(fmt.Sprintf("x%d", i), mixed, mixedInput)
		if rng.IntN(2) == 0 {
			b.ok(b.store.Sync(t.Context()))
			synced, log = i+1, size(b, "-wal")
		}
	}
	for range cut {
		if !w.move(b) {
			break
		}
		if rng.IntN(3) == 0 {
			b.ok(b.store.Sync(t.Context()))
			synced, log = 6, size(b, "-wal")
		}
	}
	lost := filepath.Join(t.TempDir(), "state.db")
	copyFile(b, b.path, lost, -1)
	copyFile(b, b.path+"-wal", lost+"-wal", log+rng.Int64N(size(b, "-wal")-log+1))
	b.ok(b.store.Close())
	b.path = lost
	b.open()
	for w.move(b) {
	}
	for i := range synced {
		name := fmt.Sprintf("x%d", i)
		b.wants(name, asl.Succeeded, mixedOutput)
		b.types(name)
	}
	b.ok(b.store.Close())
}

func size(b *bench, suffix string) int64 {
	b.Helper()
	found, err := os.Stat(b.path + suffix)
	b.ok(err)
	return found.Size()
}

// copyFile copies the first n bytes, all if n is negative.
func copyFile(b *bench, from, to string, n int64) {
	b.Helper()
	in, err := os.Open(from)
	b.ok(err)
	defer in.Close()
	out, err := os.Create(to)
	b.ok(err)
	defer out.Close()
	if n < 0 {
		_, err = io.Copy(out, in)
	} else {
		_, err = io.CopyN(out, in, n)
	}
	b.ok(err)
}
