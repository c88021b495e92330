package rule

import (
	"sync"

	"cel.dev/cel-go/cel"
)

// memoLimit bounds the parsed expressions that are kept; beyond it they are forgotten all at once.
const memoLimit = 4096

// memo keeps parsed expressions: each is parsed to find what it reads, and again to be compiled, and parsing takes most of the
// time of both. The trees are the same in every zone and must not be changed.
var memo = struct {
	sync.Mutex
	trees map[string]*cel.Ast
}{trees: map[string]*cel.Ast{}}

func remembered(source string) *cel.Ast {
	memo.Lock()
	defer memo.Unlock()
	return memo.trees[source]
}

func remember(source string, parsed *cel.Ast) {
	memo.Lock()
	defer memo.Unlock()
	if len(memo.trees) >= memoLimit {
		clear(memo.trees)
	}
	memo.trees[source] = parsed
}
