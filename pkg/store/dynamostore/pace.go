package dynamostore

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// pace decides when a call is repeated. It is the only one that does: the SDK's
// own retries are off, because a repeated Add must not count twice.
type pace struct {
	patience time.Duration
	now      func() time.Time
	sleep    func(context.Context, time.Duration) error
	random   func() float64
}

const (
	firstPause = 25 * time.Millisecond
	maxPause   = time.Second
)

func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// again waits with full jitter before attempt n+1 and answers false when the
// bound or the caller's context leaves no time for it.
func (p pace) again(ctx context.Context, n int, until time.Time) bool {
	if gone(ctx) {
		return false
	}
	pause := min(maxPause, firstPause<<min(n, 10))
	pause = time.Duration(p.random() * float64(pause))
	if p.now().Add(pause).After(until) {
		return false
	}
	return p.sleep(ctx, pause) == nil
}

// read runs a call that changes nothing until it is answered.
func (p pace) read(ctx context.Context, call func() error) error {
	until := p.now().Add(p.patience)
	for n := 0; ; n++ {
		what, err := judge(call())
		if what != throttled && what != unclear {
			return err
		}
		if !p.again(ctx, n, until) {
			if gone(ctx) {
				return ctx.Err()
			}
			return err
		}
	}
}
