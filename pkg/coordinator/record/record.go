package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// DuePart is the partition of the due index; its sort keys begin with the time.
const DuePart = "DUE"

// Value is a JSON value kept inline up to InlineLimit, or as a blob.
type Value struct {
	Inline json.RawMessage `json:"inline,omitempty"`
	Ref    string          `json:"ref,omitempty"`
	Hash   string          `json:"hash,omitempty"`
	Size   int             `json:"size,omitempty"`
}

// InlineLimit is the largest value in bytes that an item holds itself.
const InlineLimit = 4096

// IsZero tells whether nothing is known of a value, not even its hash.
func (v Value) IsZero() bool { return v.Inline == nil && v.Ref == "" && v.Hash == "" }

// HashOf is the hash under which a canonical JSON text or any other content is recorded.
func HashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ShortID is a stable id of 16 hex digits made from the parts.
func ShortID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// earlierTokens bounds the tokens that are kept beside the last one.
const earlierTokens = 4

// Earlier adds a token that another takes the place of to those before it.
func Earlier(before []string, old, token string) []string {
	if old == "" || old == token {
		return before
	}
	out := append(slices.Clone(before), old)
	return out[max(0, len(out)-earlierTokens):]
}

// Entry is one decision of the coordinator, kept with what it was about (R53).
type Entry struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Worker  string    `json:"worker,omitempty"`
	Rule    string    `json:"rule,omitempty"`
	Outcome string    `json:"outcome,omitempty"`
	Input   string    `json:"input,omitempty"`
	Output  string    `json:"output,omitempty"`
	Ms      int64     `json:"ms,omitempty"`
	By      string    `json:"by,omitempty"`
}

// maxEntries bounds the log of one record; the oldest but the first are dropped.
const maxEntries = 40

// hashShown is how much of a hash a log entry keeps: enough to find it by.
const hashShown = len("sha256:") + 16

func shortHash(hash string) string { return hash[:min(len(hash), hashShown)] }

func addEntry(log []Entry, e Entry) []Entry {
	e.Input, e.Output = shortHash(e.Input), shortHash(e.Output)
	if len(log) >= maxEntries {
		log = append(log[:1:1], log[2:]...)
	}
	return append(log, e)
}

func encode(record any) []byte {
	if long, ok := record.(lean); ok {
		record = long.lean()
	}
	body, err := JSON(record)
	if err != nil { // records hold only plain fields and JSON that was read as such
		panic(fmt.Sprintf("encoding %T: %v", record, err))
	}
	return body
}

// writers are encoders at rest with what they write to.
var writers = sync.Pool{New: func() any {
	w := &writer{}
	w.Encoder = json.NewEncoder(&w.text)
	w.SetEscapeHTML(false)
	return w
}}

type writer struct {
	*json.Encoder
	text bytes.Buffer
}

// largeText is how much an encoder at rest keeps at most.
const largeText = 64 << 10

// JSON is a value as it is stored: members of maps in the order of their names, no
// white space, nothing escaped that need not be.
func JSON(value any) ([]byte, error) {
	w := writers.Get().(*writer)
	w.text.Reset()
	if err := w.Encode(value); err != nil {
		return nil, err // and not used again
	}
	body := bytes.Clone(bytes.TrimRight(w.text.Bytes(), "\n"))
	if w.text.Cap() <= largeText {
		writers.Put(w)
	}
	return body, nil
}

func decode(item *store.Item, into any) error {
	var err error
	if long, ok := into.(lean); ok {
		err = long.unlean(item.Body)
	} else {
		err = json.Unmarshal(item.Body, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s/%s: %w", item.Part, item.Sort, err)
	}
	return nil
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func due(at time.Time, key store.Key) *store.IndexKey {
	return &store.IndexKey{Part: DuePart, Sort: store.TimeKey(at) + "#" + key.Part + "#" + key.Sort}
}

// put is a Create of a record that was not read, else a Replace at the version read.
func put(item store.Item) store.Op {
	if item.Version == 0 {
		return store.Create(item)
	}
	return store.Replace(item)
}
