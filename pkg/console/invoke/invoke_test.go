package invoke_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/outerloop-dev/outerloop/pkg/console/invoke"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// wire is Lambda's Invoke over HTTP as one script of answers, the last of which
// is given for ever.
type wire struct {
	answers []func(http.ResponseWriter, *http.Request)
	asked   atomic.Int32
}

func (w *wire) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	n := int(w.asked.Add(1)) - 1
	w.answers[min(n, len(w.answers)-1)](out, r)
}

func says(status int, kind, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if kind == "FunctionError" {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
		} else if kind != "" {
			w.Header().Set("X-Amzn-ErrorType", kind)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangs answers when nobody listens any more.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func function(t *testing.T, answers ...func(http.ResponseWriter, *http.Request)) (invoke.Function, *wire) {
	t.Helper()
	w := &wire{answers: answers}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	return invoke.Function{Client: lambda.New(lambda.Options{
		Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
		}),
	}), Name: "acme-console", Patience: 5 * time.Second}, w
}

// What must not be done twice is sent once, unless Lambda says that it was not
// begun; and an error says whether it may have been done.
func TestCalls(t *testing.T) {
	t.Parallel()
	busy := says(429, "TooManyRequestsException", `{"Reason":"ConcurrentInvocationLimitExceeded","message":"Rate Exceeded."}`)
	broken := says(500, "ServiceException", `{"Message":"internal"}`)
	fine := says(200, "", `{"a":1}`)
	ended := says(200, "FunctionError", `{"errorType":"Sandbox.Timedout","errorMessage":"Task timed out after 30.00 seconds"}`)
	for _, c := range []struct {
		name       string
		answers    []func(http.ResponseWriter, *http.Request)
		repeatable bool
		asked      int32
		is         []error
		not        error
	}{
		{"fine", []func(http.ResponseWriter, *http.Request){fine}, false, 1, nil, nil},
		{"busy once, a read", []func(http.ResponseWriter, *http.Request){busy, fine}, true, 2, nil, nil},
		{"busy once, a write", []func(http.ResponseWriter, *http.Request){busy, fine}, false, 2, nil, nil},
		{"busy for ever", []func(http.ResponseWriter, *http.Request){busy}, true, 3, []error{remote.ErrBusy}, remote.ErrUnknown},
		{"broken once, a read", []func(http.ResponseWriter, *http.Request){broken, fine}, true, 2, nil, nil},
		{"broken, a write", []func(http.ResponseWriter, *http.Request){broken, fine}, false, 1, []error{remote.ErrUnknown}, remote.ErrBusy},
		{"ended, a read", []func(http.ResponseWriter, *http.Request){ended}, true, 1, []error{invoke.ErrFailed}, remote.ErrUnknown},
		{"ended, a write", []func(http.ResponseWriter, *http.Request){ended}, false, 1, []error{invoke.ErrFailed, remote.ErrUnknown}, remote.ErrBusy},
		{"absent", []func(http.ResponseWriter, *http.Request){says(404, "ResourceNotFoundException", `{"Message":"Function not found"}`)}, false, 1, []error{invoke.ErrAbsent}, remote.ErrUnknown},
		{"denied", []func(http.ResponseWriter, *http.Request){says(403, "AccessDeniedException", `{"Message":"not authorized"}`)}, false, 1, []error{invoke.ErrDenied}, remote.ErrUnknown},
		{"too large", []func(http.ResponseWriter, *http.Request){says(413, "RequestTooLargeException", `{"Message":"large"}`)}, false, 1, []error{remote.ErrTooLarge}, remote.ErrUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, w := function(t, c.answers...)
			raw, err := f.Call(t.Context(), []byte(`{}`), c.repeatable)
			if asked := w.asked.Load(); asked != c.asked {
				t.Errorf("asked %d times, want %d: %v", asked, c.asked, err)
			}
			if len(c.is) == 0 && (err != nil || string(raw) != `{"a":1}`) {
				t.Errorf("%s, %v", raw, err)
			}
			for _, want := range c.is {
				if !errors.Is(err, want) {
					t.Errorf("%v is not %v", err, want)
				}
			}
			if c.not != nil && errors.Is(err, c.not) {
				t.Errorf("%v is %v", err, c.not)
			}
		})
	}
}

// A call that gets no answer in time may have been done; one that reaches
// nobody was not.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	f, _ := function(t, hangs)
	f.Patience = 200 * time.Millisecond
	if _, err := f.Call(t.Context(), []byte(`{}`), false); !errors.Is(err, remote.ErrUnknown) {
		t.Errorf("a write without an answer: %v", err)
	}
	if _, err := f.Call(t.Context(), []byte(`{}`), true); err == nil || errors.Is(err, remote.ErrUnknown) {
		t.Errorf("a read without an answer: %v", err)
	}
	f.Client = lambda.New(lambda.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
	})
	if _, err := f.Call(t.Context(), []byte(`{}`), false); err == nil || errors.Is(err, remote.ErrUnknown) || !strings.Contains(err.Error(), "acme-console") {
		t.Errorf("nobody there: %v", err)
	}
}
