// Package webhook verifies the signatures of webhooks over the raw body as it
// came: GitHub, Stripe, Slack, and HMAC-SHA-256 in general. It is pure: secrets
// and time are arguments, nothing is kept.
//
// What it guarantees: a delivery that verifies was signed with one of the
// secrets, within the sender's time window where the sender signs a time, and
// has an ID. What it does not: a delivery may come twice, and one of a sender
// that signs no time may be replayed at any time. Whoever takes deliveries
// remembers their IDs.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ways of signing, as the project file names them.
const (
	// GitHub signs the body and no time.
	GitHub = "github"
	// Stripe signs time and body; several signatures during a rotation.
	Stripe = "stripe"
	// Slack signs time and body, and asks once for a challenge.
	Slack = "slack"
	// HMAC is HMAC-SHA-256 in general: either webhook-id, webhook-timestamp and
	// webhook-signature (the convention named Standard Webhooks), or the hex
	// digits of the body's HMAC in x-signature-256 or x-hub-signature-256. Where
	// the body alone is signed, two equal bodies are one delivery.
	HMAC = "hmac-sha256"
)

// Ways lists the ways of signing, sorted.
func Ways() []string { return slices.Sorted(maps.Keys(ways)) }

// Window is how old, or how far ahead, a signed time may be.
const Window = 5 * time.Minute

// MaxBody is the largest body in bytes: what a queue's message of 256 KB can
// carry beside its headers.
const MaxBody = 240_000

// Errors of verifying. None of them may be told to the sender.
var (
	// ErrSignature says that no secret gives the signature, or that there is none.
	ErrSignature = errors.New("signature does not fit")
	// ErrTime says that the signed time is outside the window.
	ErrTime = errors.New("signed time is outside the window")
	// ErrTooLarge says that the body is over MaxBody.
	ErrTooLarge = errors.New("body is too large")
	// ErrWay says that a way of signing is not known.
	ErrWay = errors.New("unknown way of signing")
)

// Delivery is a webhook's request. Header names are in lower case.
type Delivery struct {
	Body    []byte
	Headers map[string]string
}

// Verified is a delivery whose signature is right.
type Verified struct {
	// ID is the same for every repetition of the delivery: the sender's where it
	// is signed too, else a hash of what was signed. So nobody who has seen a
	// delivery can give it another one.
	ID string
	// Challenge, where it is not empty, is to be answered in plain text; the
	// delivery is nothing else.
	Challenge string
}

// signed is what a way finds in a delivery: the bytes that were signed, and the
// signatures of which one must fit.
type signed struct {
	content    []byte
	signatures [][]byte
	id         string
	at         time.Time // zero: no time is signed
}

var ways = map[string]func(Delivery) (signed, error){GitHub: github, Stripe: stripe, Slack: slack, HMAC: generic}

// Verify checks a delivery against the secrets, any of which may have signed.
// Errors: ErrTooLarge, ErrSignature, ErrTime, ErrWay.
func Verify(way string, secrets []string, d Delivery, now time.Time) (Verified, error) {
	find, known := ways[way]
	if !known {
		return Verified{}, fmt.Errorf("%w: %q", ErrWay, way)
	}
	if len(d.Body) > MaxBody {
		return Verified{}, ErrTooLarge
	}
	s, err := find(d)
	if err != nil {
		return Verified{}, err
	}
	if !s.fits(keys(way, secrets)) {
		return Verified{}, ErrSignature
	}
	if !s.at.IsZero() && now.Sub(s.at).Abs() > Window {
		return Verified{}, ErrTime
	}
	v := Verified{ID: s.id}
	if v.ID == "" {
		sum := sha256.Sum256(s.content)
		v.ID = hex.EncodeToString(sum[:])
	}
	if way == Slack {
		v.Challenge = challenge(d.Body)
	}
	return v, nil
}

// keys are the secrets as keys. An empty secret is no key: everybody knows it.
func keys(way string, secrets []string) [][]byte {
	var out [][]byte
	for _, secret := range secrets {
		encoded, prefixed := strings.CutPrefix(secret, "whsec_")
		if way == HMAC && prefixed {
			if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
				out = append(out, key)
			}
			continue
		}
		if secret != "" {
			out = append(out, []byte(secret))
		}
	}
	return out
}

// fits tells whether one of the keys gives one of the signatures. Every pair is
// compared in full, so that the time says nothing about which.
func (s signed) fits(keys [][]byte) bool {
	found := false
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write(s.content)
		want := mac.Sum(nil)
		for _, signature := range s.signatures {
			if hmac.Equal(want, signature) {
				found = true
			}
		}
	}
	return found
}

// maxSignatures bounds how many signatures of one delivery are looked at.
const maxSignatures = 8

func hexadecimal(text string) ([]byte, bool) {
	sum, err := hex.DecodeString(text)
	return sum, err == nil && len(sum) == sha256.Size
}

func github(d Delivery) (signed, error) {
	digits, ok := strings.CutPrefix(d.Headers["x-hub-signature-256"], "sha256=")
	sum, right := hexadecimal(digits)
	if !ok || !right {
		return signed{}, ErrSignature
	}
	return signed{content: d.Body, signatures: [][]byte{sum}}, nil
}

func stripe(d Delivery) (signed, error) {
	s := signed{}
	stamp := ""
	for part := range strings.SplitSeq(d.Headers["stripe-signature"], ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch key {
		case "t":
			stamp = value
		case "v1":
			if sum, ok := hexadecimal(value); ok && len(s.signatures) < maxSignatures {
				s.signatures = append(s.signatures, sum)
			}
		}
	}
	at, ok := unix(stamp)
	if !ok || len(s.signatures) == 0 {
		return signed{}, ErrSignature
	}
	s.at, s.content, s.id = at, join(stamp, ".", d.Body), idOf(d.Body)
	return s, nil
}

func slack(d Delivery) (signed, error) {
	stamp := d.Headers["x-slack-request-timestamp"]
	digits, versioned := strings.CutPrefix(d.Headers["x-slack-signature"], "v0=")
	sum, right := hexadecimal(digits)
	at, timed := unix(stamp)
	if !versioned || !right || !timed {
		return signed{}, ErrSignature
	}
	return signed{at: at, content: join("v0:"+stamp, ":", d.Body), signatures: [][]byte{sum}, id: eventID(d.Body)}, nil
}

func generic(d Delivery) (signed, error) {
	if d.Headers["webhook-signature"] != "" {
		return standard(d)
	}
	for _, header := range []string{"x-signature-256", "x-hub-signature-256"} {
		text, prefixed := strings.CutPrefix(d.Headers[header], "sha256=")
		if sum, ok := hexadecimal(text); ok || prefixed {
			if !ok {
				return signed{}, ErrSignature
			}
			return signed{content: d.Body, signatures: [][]byte{sum}}, nil
		}
	}
	return signed{}, ErrSignature
}

func standard(d Delivery) (signed, error) {
	id, stamp := d.Headers["webhook-id"], d.Headers["webhook-timestamp"]
	at, ok := unix(stamp)
	if !ok || id == "" {
		return signed{}, ErrSignature
	}
	s := signed{at: at, id: id, content: join(id+"."+stamp, ".", d.Body)}
	for part := range strings.FieldsSeq(d.Headers["webhook-signature"]) {
		encoded, versioned := strings.CutPrefix(part, "v1,")
		sum, err := base64.StdEncoding.DecodeString(encoded)
		if versioned && err == nil && len(sum) == sha256.Size && len(s.signatures) < maxSignatures {
			s.signatures = append(s.signatures, sum)
		}
	}
	if len(s.signatures) == 0 {
		return signed{}, ErrSignature
	}
	return s, nil
}

// unix reads seconds since 1970 as senders write them: digits only.
func unix(text string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds <= 0 || len(text) > 12 || text[0] == '+' {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0), true
}

func join(head, sep string, body []byte) []byte {
	return append(append([]byte(head), sep...), body...)
}

// idOf is the id of a Stripe event, eventID of a Slack event; empty: none.
func idOf(body []byte) string {
	var event struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(body, &event) // a body without an id has the hash
	return event.ID
}

func eventID(body []byte) string {
	var event struct {
		ID string `json:"event_id"`
	}
	_ = json.Unmarshal(body, &event) // a body without an id has the hash
	return event.ID
}

// challenge is what Slack wants to be told when an address is registered.
func challenge(body []byte) string {
	var asked struct {
		Type, Challenge string
	}
	if json.Unmarshal(body, &asked) != nil || asked.Type != "url_verification" {
		return ""
	}
	return asked.Challenge
}
