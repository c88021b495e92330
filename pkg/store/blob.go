package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

const blobScheme = "sha256:"

// BlobRef is the reference of content: "sha256:" and 64 lower-case hex digits.
func BlobRef(content []byte) string {
	sum := sha256.Sum256(content)
	return FormatBlobRef(sum[:])
}

// FormatBlobRef is the reference of content with a SHA-256 hash.
func FormatBlobRef(hash []byte) string { return blobScheme + hex.EncodeToString(hash) }

// ParseBlobRef gives the hash in a reference. Errors wrap ErrInvalid.
func ParseBlobRef(ref string) ([]byte, error) {
	digits, found := strings.CutPrefix(ref, blobScheme)
	hash, err := hex.DecodeString(digits)
	if !found || err != nil || len(hash) != sha256.Size || digits != strings.ToLower(digits) {
		return nil, fmt.Errorf("%w: %q is no reference of a blob", ErrInvalid, ref)
	}
	return hash, nil
}

// BlobEntry describes a stored blob.
type BlobEntry struct {
	Ref    string
	Size   int64
	Stored time.Time // last put, to the second
}
