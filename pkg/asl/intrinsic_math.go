package asl

import (
	"errors"
	"strconv"
)

func mathAdd(in *invocation) ([]byte, error) {
	a, err := in.whole(0)
	if err != nil {
		return nil, err
	}
	b, err := in.whole(1)
	if err != nil {
		return nil, err
	}
	sum := a + b
	if a > 0 && b > 0 && sum < 0 || a < 0 && b < 0 && sum >= 0 {
		return nil, errors.New("The sum is out of range")
	}
	return strconv.AppendInt(nil, sum, 10), nil
}

// mathRandom returns a number from the first argument up to, without, the
// second. With a seed it is that of Java's generator.
func mathRandom(in *invocation) ([]byte, error) {
	from, err := in.whole(0)
	if err != nil {
		return nil, err
	}
	to, err := in.whole(1)
	if err != nil {
		return nil, err
	}
	if to <= from || to-from > 1<<31-1 || to-from <= 0 {
		return nil, errors.New("The end must be greater than the start")
	}
	if len(in.args) == 2 {
		return strconv.AppendInt(nil, from+int64(in.random.float()*float64(to-from)), 10), nil
	}
	seed, err := in.whole(2)
	if err != nil {
		return nil, err
	}
	return strconv.AppendInt(nil, from+int64(javaNextInt(seed, int32(to-from))), 10), nil
}

// javaNextInt is the first nextInt(bound) of java.util.Random with a seed.
func javaNextInt(seed int64, bound int32) int32 {
	const multiplier, mask = 0x5DEECE66D, 1<<48 - 1
	state := (uint64(seed) ^ multiplier) & mask
	next := func() int32 {
		state = (state*multiplier + 0xB) & mask
		return int32(state >> 17)
	}
	r := next()
	m := bound - 1
	if bound&m == 0 {
		return int32(int64(bound) * int64(r) >> 31)
	}
	for u := r; ; u = next() {
		r = u % bound
		if u-r+m >= 0 {
			return r
		}
	}
}
