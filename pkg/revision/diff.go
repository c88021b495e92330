package revision

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ChangeKind says how a place changed.
type ChangeKind string

// The kinds of changes.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
)

// Change is one difference.
type Change struct {
	// ID is the place: keys and list positions, "steps.draft.limits[0].rule".
	ID   string     `json:"id"`
	Kind ChangeKind `json:"kind"`
	// Old and New are the values, as JSON; null where there is none.
	Old json.RawMessage `json:"old"`
	New json.RawMessage `json:"new"`
	// Meaning is false for what is only wording.
	Meaning bool `json:"meaning"`
}

// Bump says what has to happen to the version.
type Bump string

// The answers.
const (
	// BumpNeeded: the meaning changed under the same version.
	BumpNeeded Bump = "needed"
	// BumpDone: the meaning changed, and the version rose.
	BumpDone Bump = "done"
	// BumpBack: the version is lower than before.
	BumpBack Bump = "back"
	// BumpNot: nothing changed in meaning, or in what has no version.
	BumpNot Bump = "not needed"
)

// Difference is what changed in one declaration.
type Difference struct {
	// ID is the sort and name, "loop crm-followup".
	ID         string `json:"id"`
	Sort       Sort   `json:"sort"`
	Name       string `json:"name"`
	OldVersion int    `json:"old_version"`
	NewVersion int    `json:"new_version"`
	// Meaning tells whether any change is more than wording.
	Meaning bool     `json:"meaning"`
	Bump    Bump     `json:"bump"`
	Changes []Change `json:"changes"`
}

// Side is one version of a declaration: its tree, as LoopTree and CharterTree
// give it, or as its file says it.
type Side struct {
	Sort Sort
	Name string
	Tree map[string]any
}

// SideOf tells sort and name from a tree; false when it is none of a loop, a charter, a project file.
func SideOf(tree map[string]any) (Side, bool) {
	for _, sort := range []Sort{SortLoop, SortCharter, SortProject} {
		if name, ok := tree[string(sort)].(string); ok {
			return Side{sort, name, tree}, true
		}
	}
	return Side{}, false
}

func (s Side) version() int {
	switch v := s.Tree["version"].(type) {
	case int64:
		return int(v)
	case float64:
		return int(v)
	}
	return 0
}

// Compare lists what changed from one version of a declaration to the other,
// sorted by place. Entries of lists are matched by their content, so that an
// inserted one is one change.
func Compare(before, after Side) Difference {
	d := Difference{
		ID: string(after.Sort) + " " + after.Name, Sort: after.Sort, Name: after.Name,
		OldVersion: before.version(), NewVersion: after.version(), Changes: []Change{},
	}
	mappings(&d.Changes, "", before.Tree, after.Tree)
	d.Changes = slices.DeleteFunc(d.Changes, func(c Change) bool { return c.ID == "version" })
	for i := range d.Changes {
		key, _, _ := strings.Cut(d.Changes[i].ID, ".")
		key, _, _ = strings.Cut(key, "[")
		d.Changes[i].Meaning = !wording(key, true) && !strings.HasSuffix(d.Changes[i].ID, ".because")
		d.Meaning = d.Meaning || d.Changes[i].Meaning
	}
	switch {
	case d.NewVersion < d.OldVersion:
		d.Bump = BumpBack
	case !d.Meaning || after.Sort == SortProject:
		d.Bump = BumpNot
	case d.NewVersion == d.OldVersion:
		d.Bump = BumpNeeded
	default:
		d.Bump = BumpDone
	}
	return d
}

func mappings(out *[]Change, path string, before, after map[string]any) {
	keys := make([]string, 0, len(before)+len(after))
	for key := range before {
		keys = append(keys, key)
	}
	for key := range after {
		if _, both := before[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		place := key
		if path != "" {
			place = path + "." + key
		}
		old, had := before[key]
		now, has := after[key]
		switch {
		case !had:
			note(out, place, Added, nil, now)
		case !has:
			note(out, place, Removed, old, nil)
		default:
			values(out, place, old, now)
		}
	}
}

func values(out *[]Change, path string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	oldMap, isMap := before.(map[string]any)
	newMap, areMaps := after.(map[string]any)
	oldList, isList := before.([]any)
	newList, areLists := after.([]any)
	switch {
	case isMap && areMaps:
		mappings(out, path, oldMap, newMap)
	case isList && areLists:
		lists(out, path, oldList, newList)
	default:
		note(out, path, Changed, before, after)
	}
}

// lists keeps the longest run of equal entries in order; what stands between
// them is compared pair by pair, the rest was added or removed.
func lists(out *[]Change, path string, before, after []any) {
	i, j := 0, 0
	for _, pair := range append(common(before, after), [2]int{len(before), len(after)}) {
		for i < pair[0] && j < pair[1] {
			values(out, fmt.Sprintf("%s[%d]", path, j), before[i], after[j])
			i, j = i+1, j+1
		}
		for ; i < pair[0]; i++ {
			note(out, fmt.Sprintf("%s[%d]", path, i), Removed, before[i], nil)
		}
		for ; j < pair[1]; j++ {
			note(out, fmt.Sprintf("%s[%d]", path, j), Added, nil, after[j])
		}
		i, j = pair[0]+1, pair[1]+1
	}
}

// common are the positions of a longest common subsequence.
func common(a, b []any) [][2]int {
	best := make([][]int, len(a)+1)
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if reflect.DeepEqual(a[i], b[j]) {
				best[i][j] = best[i+1][j+1] + 1
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case reflect.DeepEqual(a[i], b[j]):
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case best[i+1][j] >= best[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

func note(out *[]Change, path string, kind ChangeKind, before, after any) {
	*out = append(*out, Change{ID: path, Kind: kind, Old: text(before), New: text(after)})
}

// text is a value as JSON, with < and > as they are: rules are read by people.
func text(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // trees of scalars, lists and maps have a JSON form
		panic("revision: " + err.Error())
	}
	return json.RawMessage(bytes.TrimSpace(b.Bytes()))
}

// CompareAll matches declarations by sort and name and compares each pair; one
// that is on one side only is a change of the whole. What did not change is
// left out.
func CompareAll(before, after []Side) []Difference {
	id := func(s Side) string { return string(s.Sort) + " " + s.Name }
	was, is := map[string]Side{}, map[string]Side{}
	for _, s := range before {
		was[id(s)] = s
	}
	out := []Difference{}
	for _, s := range after {
		is[id(s)] = s
		old, known := was[id(s)]
		if !known {
			out = append(out, whole(s, Added))
			continue
		}
		if d := Compare(old, s); len(d.Changes) > 0 || d.OldVersion != d.NewVersion {
			out = append(out, d)
		}
	}
	for _, s := range before {
		if _, kept := is[id(s)]; !kept {
			out = append(out, whole(s, Removed))
		}
	}
	slices.SortFunc(out, func(a, b Difference) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// whole is a declaration that came or went.
func whole(s Side, kind ChangeKind) Difference {
	d := Difference{ID: string(s.Sort) + " " + s.Name, Sort: s.Sort, Name: s.Name, Meaning: true, Bump: BumpDone}
	change := Change{ID: string(s.Sort), Kind: kind, Old: text(nil), New: text(nil), Meaning: true}
	if kind == Added {
		change.New, d.NewVersion = text(s.Name), s.version()
	} else {
		change.Old, d.OldVersion = text(s.Name), s.version()
	}
	d.Changes = []Change{change}
	return d
}
