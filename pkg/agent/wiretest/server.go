// Package wiretest is a local HTTP server that speaks the wire formats of
// OpenAI's chat completions and of Amazon Bedrock's Converse, for tests of what
// lies above them, faults included: throttling, slow bodies, cut connections,
// responses that are no JSON.
package wiretest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/agent"
)

// Wire is a format.
type Wire string

// The formats.
const (
	OpenAI  Wire = "openai"
	Bedrock Wire = "bedrock"
)

// Seen is a request as it came.
type Seen struct {
	Wire   Wire
	Model  string
	Header http.Header
	// Path is the request's, escaped.
	Path string
	// Body is the request's JSON.
	Body map[string]any
	// Number counts the requests from 1, in the order of their arrival.
	Number int
}

// Reply is what the server does with a request.
type Reply struct {
	// Answer is sent in the request's format, with Answer.Usage.
	Answer agent.Answer
	// AsTool sends the text of the answer as input of the tool that was forced
	// (Bedrock).
	AsTool bool
	// Status other than 0 and 200 sends an error in the request's format.
	Status        int
	Code, Message string
	// Header is added to the response: Retry-After, for instance.
	Header map[string]string
	// Body is sent as it is instead of the answer.
	Body string
	// Cut closes the connection after so many bytes of the body; 0: not.
	Cut int
	// Hang sends the head and nothing more, until the client goes away.
	Hang bool
}

// Server is a running server.
type Server struct {
	// URL is the server's root: for OpenAI the base URL, for Bedrock the endpoint.
	URL string

	mu   sync.Mutex
	seen []Seen
}

// Start starts a server that respond answers for. It stops with the test. respond
// may be called by several goroutines at once.
func Start(t testing.TB, respond func(Seen) Reply) *Server {
	t.Helper()
	s := &Server{}
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, respond) }))
	t.Cleanup(http.Close)
	s.URL = http.URL
	return s
}

// Always replies the same to all requests.
func Always(reply Reply) func(Seen) Reply { return func(Seen) Reply { return reply } }

// InTurn replies with one after the other; the last one stays.
func InTurn(replies ...Reply) func(Seen) Reply {
	return func(s Seen) Reply { return replies[min(s.Number, len(replies))-1] }
}

// Requests are the requests so far.
func (s *Server) Requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.seen...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, respond func(Seen) Reply) {
	seen := Seen{Header: r.Header, Path: r.URL.EscapedPath()}
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(raw, &seen.Body)
	}
	switch path := r.URL.EscapedPath(); {
	case err != nil || r.Method != http.MethodPost:
		http.Error(w, "not a JSON request", http.StatusBadRequest)
		return
	case path == "/v1/chat/completions":
		seen.Wire = OpenAI
		seen.Model, _ = seen.Body["model"].(string)
	case strings.HasPrefix(path, "/model/") && strings.HasSuffix(path, "/converse"):
		seen.Wire = Bedrock
		seen.Model, _ = url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(path, "/model/"), "/converse"))
	default:
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	seen.Number = len(s.seen) + 1
	s.seen = append(s.seen, seen)
	s.mu.Unlock()
	respond(seen).send(w, r, seen)
}

func (reply Reply) send(w http.ResponseWriter, r *http.Request, seen Seen) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	body, status := reply.Body, http.StatusOK
	switch {
	case reply.Status != 0 && reply.Status != http.StatusOK:
		status = reply.Status
		if body == "" {
			body = reply.failure(w, seen.Wire)
		}
	case body == "" && seen.Wire == OpenAI:
		body = reply.completion(seen.Model)
	case body == "":
		body = reply.converse()
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	flush := http.NewResponseController(w).Flush
	switch {
	case reply.Hang:
		_ = flush()
		<-r.Context().Done()
	case reply.Cut > 0:
		_, _ = io.WriteString(w, body[:min(reply.Cut, len(body)-1)])
		_ = flush()
		panic(http.ErrAbortHandler)
	default:
		_, _ = io.WriteString(w, body)
	}
}
