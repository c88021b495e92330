package jsonpath

import (
	"math"
	"strconv"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// function is an aggregate at the end of a path, as in $.items.length().
type function func(found [][]byte, definite bool) ([]byte, error)

var functions = map[string]function{
	"length": length,
	"keys":   keys,
	"first":  func(f [][]byte, d bool) ([]byte, error) { return pick(f, d, 0) },
	"last":   func(f [][]byte, d bool) ([]byte, error) { return pick(f, d, -1) },
	"sum":    numeric(sum),
	"min":    numeric(minimum),
	"max":    numeric(maximum),
	"avg":    numeric(average),
	"stddev": numeric(deviation),
}

func length(found [][]byte, definite bool) ([]byte, error) {
	if !definite {
		return strconv.AppendInt(nil, int64(len(found)), 10), nil
	}
	if len(found) == 0 {
		return nil, &NotFoundError{Reason: "No results for path"}
	}
	switch rawjson.KindOf(found[0]) {
	case rawjson.Array, rawjson.Object:
		return strconv.AppendInt(nil, int64(rawjson.Len(found[0])), 10), nil
	}
	return rawjson.Null, nil
}

func keys(found [][]byte, _ bool) ([]byte, error) {
	if len(found) == 0 || rawjson.KindOf(found[0]) != rawjson.Object {
		return rawjson.Null, nil
	}
	var names [][]byte
	for k := range rawjson.Members(found[0]) {
		names = append(names, k)
	}
	return rawjson.Join(names), nil
}

// elements returns what an aggregate works on: the elements of the one array
// found, or all that was found.
func elements(found [][]byte, definite bool) [][]byte {
	if definite && len(found) == 1 && rawjson.KindOf(found[0]) == rawjson.Array {
		return rawjson.Split(found[0])
	}
	return found
}

func pick(found [][]byte, definite bool, n int) ([]byte, error) {
	all := elements(found, definite)
	if len(all) == 0 {
		return nil, &NotFoundError{Reason: "Aggregation function attempted to calculate value using empty array"}
	}
	if n < 0 {
		n = len(all) - 1
	}
	return all[n], nil
}

func numeric(calc func([]float64) float64) function {
	return func(found [][]byte, definite bool) ([]byte, error) {
		var numbers []float64
		for _, v := range elements(found, definite) {
			if rawjson.KindOf(v) == rawjson.Number {
				numbers = append(numbers, rawjson.Float(v))
			}
		}
		if len(numbers) == 0 {
			return nil, &NotFoundError{Reason: "Aggregation function attempted to calculate value using empty array"}
		}
		return rawjson.AppendFloat(nil, calc(numbers)), nil
	}
}

func sum(n []float64) float64 {
	total := 0.0
	for _, x := range n {
		total += x
	}
	return total
}

func average(n []float64) float64 { return sum(n) / float64(len(n)) }

func minimum(n []float64) float64 {
	least := n[0]
	for _, x := range n {
		least = math.Min(least, x)
	}
	return least
}

func maximum(n []float64) float64 {
	most := n[0]
	for _, x := range n {
		most = math.Max(most, x)
	}
	return most
}

func deviation(n []float64) float64 {
	mean, squares := average(n), 0.0
	for _, x := range n {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / float64(len(n)))
}
