package wiretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Now is the clock that adapters get in the suite.
var Now = time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)

// Open makes an adapter's model that asks a server at url, with Now as clock.
type Open func(t testing.TB, url string) agent.Model

// Suite is the definition of an adapter: what each must do with what comes over
// the wire. It runs in parallel.
func Suite(t *testing.T, open Open) {
	t.Run("answers", func(t *testing.T) { t.Parallel(); answers(t, open) })
	t.Run("tools", func(t *testing.T) { t.Parallel(); tools(t, open) })
	t.Run("errors", func(t *testing.T) { t.Parallel(); errorAnswers(t, open) })
	t.Run("lies", func(t *testing.T) { t.Parallel(); lies(t, open) })
	t.Run("connection", func(t *testing.T) { t.Parallel(); connection(t, open) })
	t.Run("at once", func(t *testing.T) { t.Parallel(); atOnce(t, open) })
}

// Question is a request with everything but tools.
func Question() agent.Request {
	cold := 0.0
	return agent.Request{
		System: "Answer in one word.", MaxTokens: 50, Temperature: &cold,
		Messages: []agent.Message{{Role: agent.RoleUser, Text: "Capital of France?"}},
		Output:   &agent.Form{Name: "capital", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)},
	}
}

func answers(t *testing.T, open Open) {
	usage := gate.Tokens{Input: 100, Output: 7, CacheRead: 30}
	for _, stop := range []agent.Stop{agent.StopEnd, agent.StopLength, agent.StopFiltered} {
		s := Start(t, Always(Reply{Answer: agent.Answer{Text: `{"city":"Paris"}`, Stop: stop, Usage: usage}}))
		a, err := open(t, s.URL).Ask(t.Context(), Question())
		if err != nil {
			t.Fatalf("%s: %v", stop, err)
		}
		if a.Text != `{"city":"Paris"}` || a.Stop != stop || len(a.Calls) > 0 {
			t.Errorf("%s: %+v", stop, a)
		}
		if a.Usage.Model == "" {
			t.Error("the model that answered is not named")
		}
		a.Usage.Model = ""
		if a.Usage != usage {
			t.Errorf("usage %+v, want %+v: each token counts once", a.Usage, usage)
		}
		if n := len(s.Requests()); n != 1 {
			t.Errorf("%d requests for one call", n)
		}
	}
}

func tools(t *testing.T, open Open) {
	call := agent.ToolCall{ID: "call_1", Name: "order-lookup", Input: `{"order":"A-7"}`}
	s := Start(t, InTurn(
		Reply{Answer: agent.Answer{Calls: []agent.ToolCall{call}, Stop: agent.StopTools, Usage: gate.Tokens{Input: 10, Output: 2}}},
		Reply{Answer: agent.Answer{Text: "{}", Stop: agent.StopEnd, Usage: gate.Tokens{Input: 10, Output: 2}}},
	))
	m, req := open(t, s.URL), Question()
	req.Tools = []agent.Tool{{Name: "order-lookup", Says: "Finds an order.", Input: json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}`)}}
	a, err := m.Ask(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Calls) != 1 || a.Calls[0] != call || a.Stop != agent.StopTools {
		t.Fatalf("the call came as %+v", a)
	}
	req.Messages = append(req.Messages,
		agent.Message{Role: agent.RoleModel, Text: "I look.", Calls: a.Calls},
		agent.Message{Role: agent.RoleUser, Results: []agent.Returned{{ID: call.ID, Text: `{"output":{"total":225}}`}}})
	if _, err := m.Ask(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	sent := encoded(s.Requests()[1].Body)
	for _, want := range []string{"Finds an order.", "call_1", "A-7", "225", "I look.", "Answer in one word."} {
		if !strings.Contains(sent, want) {
			t.Errorf("the second request lacks %q: %s", want, sent)
		}
	}
}

// errorAnswers: provider errors map to our classes, with Retry-After in both forms.
func errorAnswers(t *testing.T, open Open) {
	in30, none := Now.Add(30*time.Second), time.Time{}
	for name, c := range map[string]struct {
		reply Reply
		class outerloop.Class
		retry time.Time
	}{
		"throttled, seconds": {Reply{Status: 429, Code: "ThrottlingException", Message: "Too many requests", Header: map[string]string{"Retry-After": "30"}}, outerloop.ClassRateLimited, in30},
		"throttled, date":    {Reply{Status: 429, Code: "ThrottlingException", Message: "Too many requests", Header: map[string]string{"Retry-After": "Mon, 30 Nov 2026 07:00:30 GMT"}}, outerloop.ClassRateLimited, in30},
		"throttled, no word": {Reply{Status: 429, Code: "ThrottlingException", Message: "Too many requests"}, outerloop.ClassRateLimited, none},
		"quota":              {Reply{Status: 429, Code: "insufficient_quota", Message: "You exceeded your current quota"}, outerloop.ClassRateLimited, none},
		"filtered":           {Reply{Status: 400, Code: "content_filter", Message: "The prompt was withheld by the content filter"}, outerloop.ClassRefused, none},
		"context":            {Reply{Status: 400, Code: "ValidationException", Message: "This model's maximum context length is 8192 tokens"}, outerloop.ClassMissingInput, none},
		"context, other":     {Reply{Status: 400, Code: "ValidationException", Message: "Input is too long for requested model."}, outerloop.ClassMissingInput, none},
		"bad request":        {Reply{Status: 400, Code: "ValidationException", Message: "temperature: out of range"}, outerloop.ClassFatal, none},
		"wrong key":          {Reply{Status: 401, Code: "UnrecognizedClientException", Message: "Incorrect API key provided: sk-abc***xyz"}, outerloop.ClassFatal, none},
		"forbidden":          {Reply{Status: 403, Code: "AccessDeniedException", Message: "no access"}, outerloop.ClassFatal, none},
		"no such model":      {Reply{Status: 404, Code: "ResourceNotFoundException", Message: "The model does not exist"}, outerloop.ClassFatal, none},
		"broken":             {Reply{Status: 500, Code: "InternalServerException", Message: "oops"}, outerloop.ClassTransient, none},
		"away":               {Reply{Status: 503, Code: "ServiceUnavailableException", Message: "later"}, outerloop.ClassTransient, none},
		"away until":         {Reply{Status: 503, Code: "ServiceUnavailableException", Message: "later", Header: map[string]string{"Retry-After": "30"}}, outerloop.ClassRateLimited, in30},
		"model's timeout":    {Reply{Status: 408, Code: "ModelTimeoutException", Message: "too slow"}, outerloop.ClassTimeout, none},
		"a proxy's page":     {Reply{Status: 502, Body: "<html>Bad gateway</html>"}, outerloop.ClassTransient, none},
		"no JSON":            {Reply{Body: "<html>Welcome</html>"}, outerloop.ClassTransient, none},
		"half a JSON":        {Reply{Body: `{"choices": [{"message": {"content": "Par`}, outerloop.ClassTransient, none},
	} {
		s := Start(t, Always(c.reply))
		_, err := open(t, s.URL).Ask(t.Context(), Question())
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		f := worker.FailureOf(err)
		if f.Class != c.class || !f.RetryAfter.Equal(c.retry) {
			t.Errorf("%s: class %s, retry after %s; want %s, %s: %v", name, f.Class, f.RetryAfter, c.class, c.retry, err)
		}
		if strings.Contains(err.Error(), "sk-abc") {
			t.Errorf("%s: the message tells of a key: %v", name, err)
		}
		if n := len(s.Requests()); n != 1 {
			t.Errorf("%s: %d requests: an adapter does not retry", name, n)
		}
	}
}

var errStopped = errors.New("told to stop")

// connection: slow bodies, cut connections, nobody there.
func connection(t *testing.T, open Open) {
	good := agent.Answer{Text: `{"city":"Paris"}`, Stop: agent.StopEnd, Usage: gate.Tokens{Input: 10, Output: 2}}

	cut := Start(t, Always(Reply{Answer: good, Cut: 40}))
	_, err := open(t, cut.URL).Ask(t.Context(), Question())
	if f := worker.FailureOf(orNone(err)); f.Class != outerloop.ClassTransient || !errors.Is(err, agent.ErrUsageUnknown) {
		t.Errorf("a cut connection: %s: %v", f.Class, err)
	}

	slow := Start(t, Always(Reply{Answer: good, Hang: true}))
	req := Question()
	req.Timeout = 20 * time.Millisecond
	_, err = open(t, slow.URL).Ask(t.Context(), req)
	if f := worker.FailureOf(orNone(err)); f.Class != outerloop.ClassTimeout || !errors.Is(err, agent.ErrUsageUnknown) {
		t.Errorf("a slow body: %s: %v", f.Class, err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	hanging := Start(t, func(Seen) Reply {
		cancel(errStopped)
		return Reply{Answer: good, Hang: true}
	})
	_, err = open(t, hanging.URL).Ask(ctx, Question())
	if !errors.Is(err, errStopped) {
		t.Errorf("a stopped call does not say why: %v", err)
	}

	_, err = open(t, "http://127.0.0.1:1").Ask(t.Context(), Question())
	if f := worker.FailureOf(orNone(err)); f.Class != outerloop.ClassTransient || errors.Is(err, agent.ErrUsageUnknown) {
		t.Errorf("nobody there: %s: %v", f.Class, err)
	}
}

var errNone = errors.New("there was no error")

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// atOnce: 50 concurrent calls each get their own answer.
func atOnce(t *testing.T, open Open) {
	s := Start(t, func(seen Seen) Reply {
		city := "none"
		if _, after, found := strings.Cut(encoded(seen.Body), "city-"); found {
			city = after[:2]
		}
		return Reply{Answer: agent.Answer{Text: city, Stop: agent.StopEnd, Usage: gate.Tokens{Input: 10, Output: 2}}}
	})
	m := open(t, s.URL)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			req := Question()
			req.Messages[0].Text = fmt.Sprintf("city-%02d?", i)
			a, err := m.Ask(t.Context(), req)
			if err != nil || a.Text != fmt.Sprintf("%02d", i) {
				t.Errorf("call %d: %q, %v", i, a.Text, err)
			}
		})
	}
	wg.Wait()
}
