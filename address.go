package outerloop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// RunID is the id of the run of a loop for a business key: a hash of both, so
// that creating the run is the deduplication of its triggers (R38), and legal
// as the name of a Step Functions execution, a generation's "-g12345" included
// (80 characters). It is the loop's name (cut to 40 bytes) and 32 hex digits.
func RunID(loop, subject string) string {
	sum := sha256.Sum256([]byte(loop + "\x00" + subject))
	if len(loop) > 40 {
		loop = loop[:40]
	}
	return loop + "-" + hex.EncodeToString(sum[:16])
}

// StepRef names a step of a run: the static path in the loop ("follow_up/draft",
// blocks separated by slashes) and, inside `each`, the indexes of the items from
// the outermost block inwards.
type StepRef struct {
	Path  string
	Items []int
}

// ParseItem reads the item address that a machine carries: "" outside `each`,
// "3." for item 3 of a block, "3.12." for item 12 of a block inside it.
func ParseItem(item string) ([]int, error) {
	if item == "" {
		return nil, nil
	}
	parts := strings.Split(strings.TrimSuffix(item, "."), ".")
	out := make([]int, len(parts))
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("reading item address %q: part %d is not a whole number from 0", item, i+1)
		}
		out[i] = n
	}
	return out, nil
}

// FormatItem writes the address that ParseItem reads.
func FormatItem(items []int) string {
	var b strings.Builder
	for _, n := range items {
		b.WriteString(strconv.Itoa(n))
		b.WriteByte('.')
	}
	return b.String()
}

// ActionEntry is the name of a business action in the action log:
// "BK-1042:send-confirmation" (R37).
func ActionEntry(key, action string) string { return key + ":" + action }
