// Package revision tells what declarations mean apart from their wording, and
// what changed between two of them. A changed meaning needs a new version: a
// run keeps the loop and the charters of its start, and people must be able to
// say which of them it ran under.
//
// Comments, the order of keys, and the keys that Wording lists are no meaning.
// Rules are compared as written: a rule that is spelt otherwise counts as
// changed.
package revision

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// Sort is what is declared.
type Sort string

// The sorts of declarations that have versions.
const (
	SortLoop    Sort = "loop"
	SortCharter Sort = "worker"
	// SortProject is the project file, which has no version: runs keep the one of
	// their start, too.
	SortProject Sort = "project"
)

// Wording are the keys whose change is none of meaning: what people compare a
// loop with, and how they are alerted.
var Wording = []string{"version", "baseline", "score", "alert", "because"}

// Stamp is a version and the hash of what is meant by it.
type Stamp struct {
	// Sort is empty in stamps that were read from a machine: the first is the loop's.
	Sort    Sort   `json:"sort"`
	Name    string `json:"name"`
	Version int    `json:"version"`
	// Meaning is the beginning of a SHA-256, twelve hexadecimal digits.
	Meaning string `json:"meaning"`
}

// Stamps are a loop's own and those of its workers, by name.
func Stamps(d *loop.Definition) []Stamp {
	out := []Stamp{{SortLoop, d.Loop.Name, d.Loop.Version, hash(LoopTree(d))}}
	names := make([]string, 0, len(d.Workers))
	for name := range d.Workers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w := d.Workers[name]
		out = append(out, Stamp{SortCharter, name, w.Charter.Version, hash(CharterTree(w))})
	}
	return out
}

// LoopTree is a loop's declaration with its schema in place of the path.
func LoopTree(d *loop.Definition) map[string]any {
	tree := plain(d.Loop.Source)
	replace(tree, "input", d.Input)
	return tree
}

// CharterTree is a charter with its schemas and prompt in place of their paths.
func CharterTree(w *loop.Worker) map[string]any {
	tree := plain(w.Charter.Source)
	replace(tree, "input", w.Input)
	replace(tree, "output", w.Output)
	if agent, ok := tree["agent"].(map[string]any); ok && w.Prompt != "" {
		agent["prompt"] = w.Prompt
	}
	return tree
}

// ProjectTree is the project file's declaration.
func ProjectTree(p *registry.Project) map[string]any { return plain(p.Source) }

func plain(n *source.Node) map[string]any {
	tree, ok := n.Plain().(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return tree
}

// replace puts a schema's content where its path stands.
func replace(tree map[string]any, key string, s *schema.Schema) {
	var content any
	if s != nil && json.Unmarshal(s.Raw(), &content) == nil {
		tree[key] = content
	}
}

// hash is over canonical JSON without the keys that are wording.
func hash(tree map[string]any) string {
	text, err := json.Marshal(meant(tree, true))
	if err != nil { // trees of scalars, lists and maps have a JSON form
		panic("revision: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// meant copies a tree without wording; `because` is wording wherever it stands,
// the other keys at the top only.
func meant(v any, top bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if !wording(key, top) {
				out[key] = meant(value, false)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = meant(value, false)
		}
		return out
	}
	return v
}

func wording(key string, top bool) bool {
	return key == "because" || top && slices.Contains(Wording, key)
}

// Comment writes stamps as the end of a compiled machine's comment.
func Comment(stamps []Stamp) string {
	parts := make([]string, len(stamps))
	for i, s := range stamps {
		parts[i] = fmt.Sprintf("%s %d %s", s.Name, s.Version, s.Meaning)
	}
	return "[" + strings.Join(parts, "; ") + "]"
}

var stamped = regexp.MustCompile(`\[([^\[\]]*)\]$`)
var oneStamp = regexp.MustCompile(`^([a-z0-9][a-z0-9-]*) ([0-9]{1,9}) ([0-9a-f]{12})$`)

// Read finds the stamps in a compiled machine; nil where it has none (it was
// compiled before there were any, or it is no machine). The loop's own is first.
func Read(machine []byte) []Stamp {
	found := stamped.FindStringSubmatch(comment(machine))
	if found == nil {
		return nil
	}
	var out []Stamp
	for i, part := range strings.Split(found[1], "; ") {
		fields := oneStamp.FindStringSubmatch(part)
		if fields == nil {
			return nil
		}
		version, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil
		}
		sort := SortCharter
		if i == 0 {
			sort = SortLoop
		}
		out = append(out, Stamp{sort, fields[1], version, fields[3]})
	}
	return out
}

// comment reads no further than the machine's comment, which stands first.
func comment(machine []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(machine))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return ""
		}
		var text string
		if key == "Comment" && json.Unmarshal(value, &text) == nil {
			return text
		}
	}
	return ""
}
