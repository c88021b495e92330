// Package schema holds JSON Schema 2020-12 documents: compiled once by content, they check values strictly, and they give
// a view of their types against which rules and mappings are checked before anything runs.
//
// A schema never loads anything: a $ref points into its own document. The formats date, date-time, email, uri and uuid are
// asserted; file and duration are annotations only.
package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled JSON Schema, immutable and safe for concurrent use.
type Schema struct {
	name string
	*body
}

// body is what schemas with the same content share.
type body struct {
	hash     string
	raw      []byte
	doc      any
	compiled *jsonschema.Schema
	quick    *quick
	view     func() *Type
}

// cacheLimit bounds the process-wide cache; beyond it an arbitrary entry makes room.
const cacheLimit = 4096

var cache = struct {
	sync.Mutex
	bodies map[string]*body
}{bodies: map[string]*body{}}

// Compile makes a Schema of a JSON document. The name is used in messages only. Documents with equal content are compiled
// once in a process. Errors are *InvalidSchemaError.
func Compile(name string, doc []byte) (*Schema, error) {
	value, faults := Decode(doc)
	if len(faults) > 0 {
		return nil, &InvalidSchemaError{Name: name, Faults: faults}
	}
	return FromValue(name, value)
}

// FromValue is Compile for a document that is already a tree of maps, lists and scalars, such as an inline schema in YAML.
// The tree must not change afterwards.
func FromValue(name string, doc any) (*Schema, error) {
	raw, err := canonical(doc)
	if err != nil {
		return nil, &InvalidSchemaError{Name: name, Faults: []Fault{{Keyword: keywordJSON, Message: "is not JSON: " + err.Error()}}}
	}
	sum := sha256.Sum256(raw)
	hash := hex.EncodeToString(sum[:])
	cache.Lock()
	b, ok := cache.bodies[hash]
	cache.Unlock()
	if !ok {
		if b, err = build(name, raw); err != nil {
			return nil, err
		}
		b.hash = hash
		b = remember(b)
	}
	return &Schema{name: name, body: b}, nil
}

func remember(b *body) *body {
	cache.Lock()
	defer cache.Unlock()
	if won, ok := cache.bodies[b.hash]; ok {
		return won
	}
	if len(cache.bodies) >= cacheLimit {
		for hash := range cache.bodies {
			delete(cache.bodies, hash)
			break
		}
	}
	cache.bodies[b.hash] = b
	return b
}

// canonical is the content's one spelling: sorted keys, no white space, shortest numbers.
func canonical(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// Name is the name given to Compile.
func (s *Schema) Name() string { return s.name }

// Hash is the lower-case hex SHA-256 of the canonical document.
func (s *Schema) Hash() string { return s.hash }

// Raw is the canonical document (sorted keys, no white space). Do not change it.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// Type is the view of the values that the schema allows, computed on first use. It is shared: do not change it.
func (s *Schema) Type() *Type { return s.view() }

// Check decodes a value strictly (see Decode) and validates it. It gives all faults, sorted by path, or the value with
// numbers as the schema types them: int64 where it says integer, else float64 (int64 still, where the schema does not
// say number and float64 could not hold the integer exactly).
func (s *Schema) Check(raw json.RawMessage) (any, []Fault) {
	v, faults := Decode(raw)
	if len(faults) > 0 {
		return nil, faults
	}
	if faults := s.CheckValue(v); len(faults) > 0 {
		return nil, faults
	}
	return s.Type().Normalize(v), nil
}

// CheckValue validates a decoded value: maps, lists, strings, bools, nil and any of int64, float64, json.Number.
// It changes nothing.
func (s *Schema) CheckValue(v any) []Fault {
	if s.quick != nil && s.quick.passes(v) {
		return nil
	}
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	return s.faults(err)
}

// FileProperty names the only top-level property whose format is file: the one an input file fills.
// It is false when there is none or more than one.
func (s *Schema) FileProperty() (string, bool) {
	found := ""
	for _, f := range s.Type().Fields() {
		if f.Type.Format != "file" {
			continue
		}
		if found != "" {
			return "", false
		}
		found = f.Name
	}
	return found, found != ""
}

// String names the schema and its hash for messages.
func (s *Schema) String() string { return fmt.Sprintf("%s#%s", s.name, s.hash[:12]) }
