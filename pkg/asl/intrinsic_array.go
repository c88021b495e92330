package asl

import (
	"errors"
	"strconv"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

func array(in *invocation) ([]byte, error) { return rawjson.Join(in.args), nil }

func arrayPartition(in *invocation) ([]byte, error) {
	arr, err := in.array()
	if err != nil {
		return nil, err
	}
	size, err := in.whole(1)
	if err != nil {
		return nil, err
	}
	if size <= 0 {
		return nil, errors.New("The chunk size must be greater than 0")
	}
	all := rawjson.Split(arr)
	var chunks [][]byte
	for len(all) > 0 {
		n := min(int64(len(all)), size)
		chunks = append(chunks, rawjson.Join(all[:n]))
		all = all[n:]
	}
	return rawjson.Join(chunks), nil
}

func arrayContains(in *invocation) ([]byte, error) {
	arr, err := in.array()
	if err != nil {
		return nil, err
	}
	for e := range rawjson.Elements(arr) {
		if rawjson.Equal(e, in.args[1]) {
			return []byte("true"), nil
		}
	}
	return []byte("false"), nil
}

// maxRange is how many numbers an ArrayRange may have.
const maxRange = 1000

func arrayRange(in *invocation) ([]byte, error) {
	var n [3]int64
	for i := range n {
		var err error
		if n[i], err = in.whole(i); err != nil {
			return nil, err
		}
	}
	first, last, step := n[0], n[1], n[2]
	if step == 0 {
		return nil, errors.New("The step must not be 0")
	}
	const far = 1 << 53
	if first > far || first < -far || last > far || last < -far || step > far || step < -far {
		return nil, errors.New("A number is out of range")
	}
	out := []byte{'['}
	count := 0
	for k := first; step > 0 && k <= last || step < 0 && k >= last; k += step {
		if count++; count > maxRange {
			return nil, errors.New("An array range must not have more than 1000 elements")
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, k, 10)
	}
	return append(out, ']'), nil
}

func arrayGetItem(in *invocation) ([]byte, error) {
	arr, err := in.array()
	if err != nil {
		return nil, err
	}
	i, err := in.whole(1)
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= int64(len(arr)) {
		return nil, errors.New("The index is out of range")
	}
	v, ok := rawjson.Index(arr, int(i))
	if !ok {
		return nil, errors.New("The index is out of range")
	}
	return v, nil
}

func arrayLength(in *invocation) ([]byte, error) {
	arr, err := in.array()
	if err != nil {
		return nil, err
	}
	return strconv.AppendInt(nil, int64(rawjson.Len(arr)), 10), nil
}

func arrayUnique(in *invocation) ([]byte, error) {
	arr, err := in.array()
	if err != nil {
		return nil, err
	}
	var kept [][]byte
	seen := make(map[string]bool)
	for e := range rawjson.Elements(arr) {
		key := string(rawjson.AppendKey(nil, e))
		if !seen[key] {
			seen[key] = true
			kept = append(kept, e)
		}
	}
	return rawjson.Join(kept), nil
}
