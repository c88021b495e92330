package asl_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// What FuzzGenerated looks for, on machines and answers of a fixed sequence;
// ASL_MACHINES says how many (default 150).
func TestGeneratedMachines(t *testing.T) {
	t.Parallel()
	n := 150
	if v, err := strconv.Atoi(os.Getenv("ASL_MACHINES")); err == nil {
		n = v
	}
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		random := func(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return b
		}
		g := &generator{bytes: random(200)}
		d, err := asl.Encode(g.machine())
		if err != nil {
			t.Fatal(err)
		}
		m, err := asl.Load(d)
		if err != nil {
			t.Fatalf("%v\n%s", err, d)
		}
		runScript(t, m, []byte(`{"items":[1,2,3],"a":{"a":1},"s":"abc"}`), random(60)).bounded()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
