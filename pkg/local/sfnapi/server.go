package sfnapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Config is what a server is made of; all is required.
type Config struct {
	Core  *durable.Core
	Store store.Store
	Blobs store.Blobs
	// Settle is called after every change and before its answer: it lets the
	// engine go on and returns when the change is durable.
	Settle func(ctx context.Context) error
	Clock  func() time.Time
}

// Server answers the API's requests.
type Server struct {
	cfg    Config
	reader durable.Reader
}

// New returns a server.
func New(cfg Config) *Server {
	return &Server{cfg: cfg, reader: durable.Reader{Store: cfg.Store}}
}

// ErrNotLoopback says that an address can be reached from other machines.
var ErrNotLoopback = errors.New("the endpoint checks no signatures and is served on the loopback interface only")

// Listen opens a loopback address, as in "127.0.0.1:8083" or "localhost:0".
// Error: ErrNotLoopback.
func Listen(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", address, err)
	}
	if !loopback(host) {
		return nil, fmt.Errorf("listening on %q: %w", address, ErrNotLoopback)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	return net.Listen("tcp", net.JoinHostPort(host, port))
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

const (
	target     = "AWSStepFunctions."
	maxRequest = 4 << 20
)

// fault is an error as the API reports it.
type fault struct {
	Type    string `json:"__type"`
	Message string `json:"message"`
}

// Error is type and message.
func (f *fault) Error() string { return f.Type + ": " + f.Message }

func faultf(kind, format string, args ...any) *fault {
	return &fault{kind, fmt.Sprintf(format, args...)}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	answer, err := s.serve(r)
	status := http.StatusOK
	if err != nil {
		found := faultOf(err)
		status, answer = http.StatusBadRequest, found
		if found.Type == "InternalServerError" {
			status = http.StatusInternalServerError
		}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, `{"__type":"InternalServerError"}`, http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone if this fails
}

func (s *Server) serve(r *http.Request) (any, error) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	// The SDKs put "sync-" before the host for TestState.
	host = strings.TrimPrefix(strings.Trim(host, "[]"), "sync-")
	// A page in a browser must not reach it: neither as another origin nor by
	// a name that was pointed at this machine.
	if r.Header.Get("Origin") != "" || !loopback(host) {
		return nil, faultf("AccessDeniedException", "requests of browsers and for other hosts are refused")
	}
	name, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), target)
	operation := operations[name]
	if !ok || operation == nil || r.Method != http.MethodPost {
		return nil, faultf("UnknownOperationException", "%s %s", r.Method, r.Header.Get("X-Amz-Target"))
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest+1))
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	if len(body) > maxRequest {
		return nil, faultf("ValidationException", "request is over %d bytes", maxRequest)
	}
	return operation(r.Context(), s, body)
}

// operations are the API's actions.
var operations = map[string]func(context.Context, *Server, []byte) (any, error){
	"StartExecution":                 operation((*Server).startExecution),
	"StopExecution":                  operation((*Server).stopExecution),
	"DescribeExecution":              operation((*Server).describeExecution),
	"ListExecutions":                 operation((*Server).listExecutions),
	"GetExecutionHistory":            operation((*Server).history),
	"SendTaskSuccess":                operation((*Server).taskSuccess),
	"SendTaskFailure":                operation((*Server).taskFailure),
	"SendTaskHeartbeat":              operation((*Server).taskHeartbeat),
	"CreateStateMachine":             operation((*Server).createMachine),
	"DescribeStateMachine":           operation((*Server).describeMachine),
	"ValidateStateMachineDefinition": operation((*Server).validate),
	"TestState":                      operation((*Server).testState),
}

func operation[Req any](do func(*Server, context.Context, Req) (any, error)) func(context.Context, *Server, []byte) (any, error) {
	return func(ctx context.Context, s *Server, body []byte) (any, error) {
		var req Req
		if err := json.Unmarshal(body, &req); err != nil {
			return nil, faultf("SerializationException", "%v", err)
		}
		return do(s, ctx, req)
	}
}

// faults are the engine's errors in the API's words.
var faults = []struct {
	err  error
	kind string
}{
	{durable.ErrName, "InvalidName"},
	{durable.ErrExists, "ExecutionAlreadyExists"},
	{durable.ErrAbsent, "ExecutionDoesNotExist"},
	{durable.ErrNoMachine, "StateMachineDoesNotExist"},
	{durable.ErrTokenGone, "TaskTimedOut"},
	{durable.ErrToken, "InvalidToken"},
	{durable.ErrOutput, "InvalidOutput"},
	{durable.ErrTooLarge, "ValidationException"},
	{asl.ErrDefinition, "InvalidDefinition"},
	{durable.ErrResource, "InvalidDefinition"},
}

func faultOf(err error) *fault {
	var found *fault
	if errors.As(err, &found) {
		return found
	}
	for _, f := range faults {
		if errors.Is(err, f.err) {
			return &fault{f.kind, err.Error()}
		}
	}
	return &fault{"InternalServerError", err.Error()}
}

// changed lets the engine go on after a change and answers when it is durable.
func (s *Server) changed(ctx context.Context, answer any) (any, error) {
	return answer, s.cfg.Settle(ctx)
}

// epoch is a time on the wire.
func epoch(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// lastPart is the part of an ARN after its last colon.
func lastPart(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }
