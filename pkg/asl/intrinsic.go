package asl

import (
	"errors"
	"fmt"
	"math"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// intrinsic is one of the States.* functions.
type intrinsic struct {
	least, most int // number of arguments; most -1 for any
	apply       func(in *invocation) ([]byte, error)
}

// invocation is one call with its arguments evaluated.
type invocation struct {
	call   *call
	args   [][]byte
	random *random
}

// intrinsics are the functions by name.
var intrinsics = map[string]intrinsic{
	"States.Array":          {0, -1, array},
	"States.ArrayPartition": {2, 2, arrayPartition},
	"States.ArrayContains":  {2, 2, arrayContains},
	"States.ArrayRange":     {3, 3, arrayRange},
	"States.ArrayGetItem":   {2, 2, arrayGetItem},
	"States.ArrayLength":    {1, 1, arrayLength},
	"States.ArrayUnique":    {1, 1, arrayUnique},
	"States.Base64Encode":   {1, 1, base64Encode},
	"States.Base64Decode":   {1, 1, base64Decode},
	"States.Hash":           {2, 2, hashText},
	"States.JsonMerge":      {3, 3, jsonMerge},
	"States.JsonToString":   {1, 1, jsonToString},
	"States.StringToJson":   {1, 1, stringToJSON},
	"States.MathRandom":     {2, 3, mathRandom},
	"States.MathAdd":        {2, 2, mathAdd},
	"States.StringSplit":    {2, 2, stringSplit},
	"States.Format":         {1, -1, format},
	"States.UUID":           {0, 0, func(in *invocation) ([]byte, error) { return rawjson.Quote(in.random.uuid()), nil }},
}

// array is the first argument, which must be one.
func (in *invocation) array() ([]byte, error) {
	if rawjson.KindOf(in.args[0]) != rawjson.Array {
		return nil, fmt.Errorf("Argument 1 must be an array but was: %s", in.args[0])
	}
	return in.args[0], nil
}

// text argument i.
func (in *invocation) text(i int) (string, error) {
	if rawjson.KindOf(in.args[i]) != rawjson.String {
		return "", fmt.Errorf("Argument %d must be a string but was: %s", i+1, in.args[i])
	}
	return rawjson.Text(in.args[i]), nil
}

// whole returns argument i rounded as Java's Math.round does.
func (in *invocation) whole(i int) (int64, error) {
	v := in.args[i]
	if rawjson.KindOf(v) != rawjson.Number {
		return 0, fmt.Errorf("Argument %d must be a number but was: %s", i+1, v)
	}
	if n, ok := rawjson.Int(v); ok {
		return n, nil
	}
	f := math.Floor(rawjson.Float(v) + 0.5)
	if math.Abs(f) > math.MaxInt32*2 {
		return 0, fmt.Errorf("Argument %d is out of range: %s", i+1, v)
	}
	return int64(f), nil
}

// maxText is the longest text that Base64 and Hash functions take.
const maxText = 10000

var errLong = errors.New("The input must not have more than 10000 characters")
