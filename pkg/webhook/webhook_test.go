package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/webhook"
)

var now = time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)

func sum(key, content string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(content))
	return mac.Sum(nil)
}

func digits(key, content string) string { return hex.EncodeToString(sum(key, content)) }

func stamp(d time.Duration) string { return fmt.Sprint(now.Add(d).Unix()) }

const body = `{"id":"evt_1","event_id":"Ev1","amount":5}`

// sign makes the headers that a sender sends.
func sign(way, secret, body string, at time.Duration) map[string]string {
	t := stamp(at)
	switch way {
	case webhook.GitHub:
		return map[string]string{"x-hub-signature-256": "sha256=" + digits(secret, body), "x-github-delivery": "d-1"}
	case webhook.Stripe:
		return map[string]string{"stripe-signature": "t=" + t + ",v1=" + digits(secret, t+"."+body) + ",v0=00"}
	case webhook.Slack:
		return map[string]string{"x-slack-request-timestamp": t, "x-slack-signature": "v0=" + digits(secret, "v0:"+t+":"+body)}
	case "standard":
		return map[string]string{"webhook-id": "msg-1", "webhook-timestamp": t, "webhook-signature": "v2,xx v1," + base64.StdEncoding.EncodeToString(sum(secret, "msg-1."+t+"."+body))}
	}
	return map[string]string{"x-signature-256": digits(secret, body)}
}

func wayOf(name string) string {
	if name == "standard" || name == "plain" {
		return webhook.HMAC
	}
	return name
}

var senders = []string{webhook.GitHub, webhook.Stripe, webhook.Slack, "standard", "plain"}

func timed(sender string) bool { return sender != webhook.GitHub && sender != "plain" }

// Known answers, computed with openssl dgst -sha256 -hmac.
func TestKnownAnswers(t *testing.T) {
	t.Parallel()
	for sender, headers := range map[string]map[string]string{
		webhook.GitHub: {"x-hub-signature-256": "sha256=" + githubVector},
		webhook.Stripe: {"stripe-signature": "t=1796022000,v1=" + stripeVector},
		webhook.Slack:  {"x-slack-request-timestamp": "1796022000", "x-slack-signature": "v0=" + slackVector},
		"standard":     {"webhook-id": "msg-1", "webhook-timestamp": "1796022000", "webhook-signature": "v1," + standardVector},
	} {
		if _, err := webhook.Verify(wayOf(sender), []string{"it's a secret"}, webhook.Delivery{Body: []byte(body), Headers: headers}, time.Unix(1796022000, 0)); err != nil {
			t.Errorf("%s: %v", sender, err)
		}
	}
}

// A delivery verifies with either secret of a rotation, over the raw body,
// within the window, and has the ID that cannot be changed on the way.
func TestVerify(t *testing.T) {
	t.Parallel()
	ids := map[string]string{webhook.Stripe: "evt_1", webhook.Slack: "Ev1", "standard": "msg-1"}
	for _, sender := range senders {
		verify := func(secrets []string, body string, headers map[string]string) (webhook.Verified, error) {
			return webhook.Verify(wayOf(sender), secrets, webhook.Delivery{Body: []byte(body), Headers: headers}, now)
		}
		for _, signer := range []string{"new", "old"} {
			out, err := verify([]string{"new", "old"}, body, sign(sender, signer, body, 0))
			if err != nil || ids[sender] != "" && out.ID != ids[sender] || out.ID == "" {
				t.Errorf("%s signed with %s: %+v, %v", sender, signer, out, err)
			}
		}
		for what, wrong := range map[string]error{
			"another secret": second(verify([]string{"other"}, body, sign(sender, "key", body, 0))),
			"no secret":      second(verify(nil, body, sign(sender, "", body, 0))),
			"empty secret":   second(verify([]string{""}, body, sign(sender, "", body, 0))),
			"another body":   second(verify([]string{"key"}, body+" ", sign(sender, "key", body, 0))),
			"no headers":     second(verify([]string{"key"}, body, nil)),
		} {
			if !errors.Is(wrong, webhook.ErrSignature) {
				t.Errorf("%s, %s: %v", sender, what, wrong)
			}
		}
		for _, at := range []time.Duration{-301 * time.Second, 301 * time.Second} {
			if err := second(verify([]string{"key"}, body, sign(sender, "key", body, at))); timed(sender) && !errors.Is(err, webhook.ErrTime) {
				t.Errorf("%s at %s: %v", sender, at, err)
			}
		}
		if err := second(verify([]string{"key"}, body, sign(sender, "key", body, -299*time.Second))); err != nil {
			t.Errorf("%s within the window: %v", sender, err)
		}
		large := strings.Repeat(" ", webhook.MaxBody+1)
		if err := second(verify([]string{"key"}, large, sign(sender, "key", large, 0))); !errors.Is(err, webhook.ErrTooLarge) {
			t.Errorf("%s, too large: %v", sender, err)
		}
	}
	if _, err := webhook.Verify("md5", []string{"key"}, webhook.Delivery{}, now); !errors.Is(err, webhook.ErrWay) {
		t.Errorf("unknown way: %v", err)
	}
}

func second(_ webhook.Verified, err error) error { return err }

// A replay has the same ID whatever its unsigned headers say.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, sender := range senders {
		headers := sign(sender, "key", body, 0)
		first, err := webhook.Verify(wayOf(sender), []string{"key"}, webhook.Delivery{Body: []byte(body), Headers: headers}, now)
		for _, name := range []string{"x-github-delivery", "x-request-id", "x-webhook-id"} {
			headers[name] = "another"
		}
		again, err2 := webhook.Verify(wayOf(sender), []string{"key"}, webhook.Delivery{Body: []byte(body), Headers: headers}, now)
		if err != nil || err2 != nil || first != again {
			t.Errorf("%s: %+v, %v; then %+v, %v", sender, first, err, again, err2)
		}
	}
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	asked := `{"type":"url_verification","challenge":"3eZ"}`
	out, err := webhook.Verify(webhook.Slack, []string{"key"}, webhook.Delivery{Body: []byte(asked), Headers: sign(webhook.Slack, "key", asked, 0)}, now)
	if err != nil || out.Challenge != "3eZ" {
		t.Errorf("%+v, %v", out, err)
	}
}

// A key of the convention named Standard Webhooks is base64 behind whsec_.
func TestEncodedKey(t *testing.T) {
	t.Parallel()
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("raw key"))
	if _, err := webhook.Verify(webhook.HMAC, []string{secret}, webhook.Delivery{Body: []byte(body), Headers: sign("standard", "raw key", body, 0)}, now); err != nil {
		t.Error(err)
	}
	if _, err := webhook.Verify(webhook.HMAC, []string{"whsec_!"}, webhook.Delivery{Body: []byte(body), Headers: sign("standard", "!", body, 0)}, now); !errors.Is(err, webhook.ErrSignature) {
		t.Error(err)
	}
}

// Nothing that a stranger sends verifies, or panics.
func FuzzVerify(f *testing.F) {
	for _, sender := range senders {
		for name, value := range sign(sender, "key", body, 0) {
			f.Add(name, value, name, value, body)
		}
	}
	f.Fuzz(func(t *testing.T, name, value, other, otherValue, body string) {
		d := webhook.Delivery{Body: []byte(body), Headers: map[string]string{name: value, other: otherValue}}
		for _, way := range webhook.Ways() {
			if _, err := webhook.Verify(way, []string{"nobody's"}, d, now); err == nil {
				t.Errorf("%s: verified without the secret", way)
			}
		}
	})
}

const (
	githubVector   = "30dffe6ba811de5ba9c1ea9f2b1ec487896ce396c46daf6f80e41b07c502ad1b"
	stripeVector   = "1877947a70afd8f8fe7a0e9269f5527b766736ffd0cd777cfb5934c0decd5e54"
	slackVector    = "3b79a7424e50f8ff58bcab0d2741f540b382ea173537fafea2303291d02a0ca0"
	standardVector = "sTaKRIkH8CaRAh9o/MWI7RWOpm9kAoJrDTpGK+lyqeM="
)
