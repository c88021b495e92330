// Package dynamostore keeps the shared state in one DynamoDB table and its
// blobs in an S3 bucket.
//
// A single operation is a plain conditional write, several are a transaction
// with a client request token. The two indexes project keys only: a list over
// them reads the items themselves strongly consistent, so that an index that
// lags may miss an item for a while but never shows an old one.
package dynamostore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Config names what the store works on.
type Config struct {
	// Client and Table are required.
	Client Client
	Table  string
	// Objects and Bucket are required for blobs; Prefix stands before their names.
	Objects Objects
	Bucket  string
	Prefix  string
	// Patience bounds how long one call repeats what was throttled or unclear;
	// default 5 s. A context with less time ends it earlier.
	Patience time.Duration
	// Now, Sleep and Random are the clock, the waiting and the jitter (0 to 1);
	// default the real ones.
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	Random func() float64
}

// Store is a store in DynamoDB. It is safe for concurrent use.
type Store struct {
	client  Client
	table   string
	objects Objects
	bucket  string
	prefix  string
	pace    pace
}

var (
	_ store.Store = (*Store)(nil)
	_ store.Blobs = (*Store)(nil)
)

// New checks the configuration. The table is not touched.
func New(c Config) (*Store, error) {
	var errs []error
	if c.Client == nil || c.Table == "" {
		errs = append(errs, errors.New("dynamostore: Client and Table are required"))
	}
	if (c.Objects == nil) != (c.Bucket == "") {
		errs = append(errs, errors.New("dynamostore: Objects and Bucket go together"))
	}
	if c.Patience < 0 {
		errs = append(errs, errors.New("dynamostore: Patience is negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s := &Store{client: c.Client, table: c.Table, objects: c.Objects, bucket: c.Bucket, prefix: c.Prefix}
	s.pace = c.pace()
	return s, nil
}

// pace fills in the defaults of what decides when a call is repeated.
func (c Config) pace() pace {
	p := pace{patience: c.Patience, now: c.Now, sleep: c.Sleep, random: c.Random}
	if p.patience == 0 {
		p.patience = 5 * time.Second
	}
	if p.now == nil {
		p.now = time.Now
	}
	if p.sleep == nil {
		p.sleep = sleep
	}
	if p.random == nil {
		p.random = rand.Float64
	}
	return p
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
