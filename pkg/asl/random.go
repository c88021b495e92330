package asl

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// random is the stream of randomness that a seed stands for. Streams do not
// change between versions: journals are replayed with them.
type random struct {
	seed    Seed
	counter uint64
}

func newRandom(s Seed) random { return random{seed: s} }

// bytes returns the next 32 bytes.
func (r *random) bytes() [32]byte {
	var block [24]byte
	copy(block[:16], r.seed[:])
	binary.BigEndian.PutUint64(block[16:], r.counter)
	r.counter++
	return sha256.Sum256(block[:])
}

// float returns a number in [0, 1).
func (r *random) float() float64 {
	b := r.bytes()
	return float64(binary.BigEndian.Uint64(b[:8])>>11) / (1 << 53)
}

// token returns a task token of the execution: the secret, a dot, the name.
func (r *random) token(execution string) string {
	b := r.bytes()
	return hex.EncodeToString(b[:]) + "." + base64.RawURLEncoding.EncodeToString([]byte(execution))
}

// TokenExecution returns the name of the execution that a task token belongs to,
// false for a text that is no token. Whether the token is open is for the
// execution to say.
func TokenExecution(token string) (name string, ok bool) {
	secret, rest, found := strings.Cut(token, ".")
	if _, err := hex.DecodeString(secret); err != nil || !found || len(secret) != 64 {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(rest)
	return string(raw), err == nil
}

// uuid returns a version 4 UUID.
func (r *random) uuid() string {
	b := r.bytes()
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
