package hook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/hook"
	"github.com/outerloop-dev/outerloop/pkg/webhook"
)

var now = time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)

type queue struct {
	sent []string
	fail error
}

func (q *queue) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	if q.fail != nil {
		return nil, q.fail
	}
	q.sent = append(q.sent, *in.MessageBody)
	return &sqs.SendMessageOutput{}, nil
}

func secrets(_ context.Context, name string) (string, error) {
	if name == "lost" {
		return "", errors.New("no such secret")
	}
	return name, nil
}

func function(q *queue) *hook.Function {
	return hook.New(hook.Config{
		Webhooks: map[string]boot.Webhook{
			"payments": {Verify: webhook.Stripe, Secrets: []string{"lost", "pay-hook"}}, "chat": {Verify: webhook.Slack, Secrets: []string{"chat-hook"}},
			"closed": {Verify: webhook.GitHub, Secrets: []string{"lost"}},
		},
		Secret: secrets, Queue: q, URL: "https://sqs.example/queue", Now: func() time.Time { return now },
	})
}

func digits(key, content string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(content))
	return hex.EncodeToString(mac.Sum(nil))
}

func request(name, body string, headers map[string]string) events.LambdaFunctionURLRequest {
	req := events.LambdaFunctionURLRequest{RawPath: "/" + name, Body: body, Headers: headers}
	req.RequestContext.HTTP.Method = http.MethodPost
	return req
}

// paid is a delivery as Stripe signs it.
func paid(body string) events.LambdaFunctionURLRequest {
	stamp := fmt.Sprint(now.Unix())
	return request("payments", body, map[string]string{
		"stripe-signature": "t=" + stamp + ",v1=" + digits("pay-hook", stamp+"."+body), "user-agent": "Stripe/1.0", "authorization": "Bearer x",
		"x-forwarded-for": "1.2.3.4", "content-type": "application/json",
	})
}

func serve(t *testing.T, f *hook.Function, req events.LambdaFunctionURLRequest) events.LambdaFunctionURLResponse {
	t.Helper()
	raw, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Handle(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return out.(events.LambdaFunctionURLResponse)
}

// A delivery is in the queue before it is accepted, with its body as it came
// and without what is a credential.
func TestAccepted(t *testing.T) {
	t.Parallel()
	body := `{"id":"evt_1", "note":"<5 & more>"}`
	encoded := paid(body)
	encoded.Body, encoded.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(body)), true
	for _, req := range []events.LambdaFunctionURLRequest{paid(body), encoded} {
		q := &queue{}
		if out := serve(t, function(q), req); out.StatusCode != http.StatusAccepted || out.Body != "" || len(q.sent) != 1 {
			t.Fatalf("%+v, sent %v", out, q.sent)
		}
		want := `{"webhook":{"name":"payments","id":"evt_1","at":"2026-11-30T07:00:00Z","headers":{"content-type":"application/json","user-agent":"Stripe/1.0"},"body":{"id":"evt_1","note":"<5 & more>"}}}` + "\n"
		if q.sent[0] != want {
			t.Errorf("sent %s", q.sent[0])
		}
	}
}

// What is refused is told a status and nothing else; what may pass is 503, so
// that the sender tries again; nothing of it is queued.
func TestRefused(t *testing.T) {
	t.Parallel()
	get, forged, old := paid(`{}`), paid(`{}`), paid(`{}`)
	get.RequestContext.HTTP.Method = http.MethodGet
	forged.Body = `{"id":"evt_2"}`
	stamp := fmt.Sprint(now.Add(-time.Hour).Unix())
	old.Headers["stripe-signature"] = "t=" + stamp + ",v1=" + digits("pay-hook", stamp+".{}")
	broken := paid(`{}`)
	broken.Body, broken.IsBase64Encoded = "%", true
	for name, c := range map[string]struct {
		req    events.LambdaFunctionURLRequest
		fail   error
		status int
	}{
		"unknown":           {request("nobody", `{}`, nil), nil, http.StatusNotFound},
		"no name":           {request("", `{}`, nil), nil, http.StatusNotFound},
		"get":               {get, nil, http.StatusMethodNotAllowed},
		"forged":            {forged, nil, http.StatusUnauthorized},
		"unsigned":          {request("payments", `{}`, nil), nil, http.StatusUnauthorized},
		"old":               {old, nil, http.StatusUnauthorized},
		"not base64":        {broken, nil, http.StatusBadRequest},
		"no JSON":           {paid(`a=b`), nil, http.StatusBadRequest},
		"too large":         {paid(`"` + strings.Repeat("x", webhook.MaxBody) + `"`), nil, http.StatusRequestEntityTooLarge},
		"control character": {paid(`"` + "\u0001" + `"`), nil, http.StatusBadRequest},
		"no secret":         {request("closed", `{}`, nil), nil, http.StatusServiceUnavailable},
		"bad characters":    {paid(`"\ufffe"`), &types.InvalidMessageContents{}, http.StatusBadRequest},
		"queue is off":      {paid(`{}`), errors.New("down"), http.StatusServiceUnavailable},
	} {
		q := &queue{fail: c.fail}
		if out := serve(t, function(q), c.req); out.StatusCode != c.status || out.Body != "" || len(q.sent) != 0 {
			t.Errorf("%s: %d %q, sent %v; want %d", name, out.StatusCode, out.Body, q.sent, c.status)
		}
	}
}

// A body within the limit whose message is not is refused, not cut: sizes are bytes.
func TestMessageSize(t *testing.T) {
	t.Parallel()
	q := &queue{}
	req := paid(`"` + strings.Repeat("😀", (webhook.MaxBody-2)/4) + `"`)
	if out := serve(t, function(q), req); out.StatusCode != http.StatusAccepted || len(q.sent[0]) > 256*1024 {
		t.Errorf("%d, message of %d bytes", out.StatusCode, len(q.sent[0]))
	}
	req.Headers["x-large"] = strings.Repeat("h", 30_000)
	if out := serve(t, function(q), req); out.StatusCode != http.StatusRequestEntityTooLarge || len(q.sent) != 1 {
		t.Errorf("%d, %d sent", out.StatusCode, len(q.sent))
	}
}

// Slack's challenge is answered, and is no delivery.
func TestChallenge(t *testing.T) {
	t.Parallel()
	body, stamp := `{"type":"url_verification","challenge":"3eZ"}`, fmt.Sprint(now.Unix())
	q := &queue{}
	out := serve(t, function(q), request("chat", body, map[string]string{"x-slack-request-timestamp": stamp, "x-slack-signature": "v0=" + digits("chat-hook", "v0:"+stamp+":"+body)}))
	if out.StatusCode != http.StatusOK || out.Body != "3eZ" || len(q.sent) != 0 {
		t.Errorf("%+v, sent %v", out, q.sent)
	}
}
