package compile

import (
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// TokenKind says what a token of a machine stands for.
type TokenKind string

// The kinds of tokens.
const (
	// TokenCoordinator is the coordinator's function.
	TokenCoordinator TokenKind = "coordinator"
	// TokenWorker is a worker's function, TokenQueue the URL of its queue.
	TokenWorker TokenKind = "worker"
	TokenQueue  TokenKind = "queue"
)

// Token is a placeholder in a machine's text.
type Token struct {
	// Text is the placeholder, "${QueueCrmScan}".
	Text string
	Kind TokenKind
	// Name is the worker's name; empty for the coordinator.
	Name string
}

const coordinatorToken = "${Coordinator}"

func workerToken(name string) string { return "${Worker" + camel(name) + "}" }
func queueToken(name string) string  { return "${Queue" + camel(name) + "}" }

// Substitutions lists the tokens that the loop's machine may hold, sorted by text.
func Substitutions(def *loop.Definition) []Token {
	tokens := []Token{{Text: coordinatorToken, Kind: TokenCoordinator}}
	for name := range def.Workers {
		tokens = append(tokens,
			Token{Text: workerToken(name), Kind: TokenWorker, Name: name},
			Token{Text: queueToken(name), Kind: TokenQueue, Name: name})
	}
	slices.SortFunc(tokens, func(a, b Token) int { return strings.Compare(a.Text, b.Text) })
	return tokens
}

// Substitute fills a machine's tokens in.
func Substitute(machine []byte, tokens []Token, value func(Token) string) []byte {
	pairs := make([]string, 0, 2*len(tokens))
	for _, token := range tokens {
		pairs = append(pairs, token.Text, value(token))
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(machine)))
}

// queued tells whether a state sends its work through a queue.
func queued(mode charter.Mode) bool { return mode == charter.ModeQueue }
