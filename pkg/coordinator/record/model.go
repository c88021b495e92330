package record

import (
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Model is what a provider has called a model, of all runs together (R56): the
// same declared model under another reported name is another version of it.
type Model struct {
	// Kind, URL and ID are where it is asked, and under which name.
	Kind string `json:"kind"`
	URL  string `json:"url,omitempty"`
	ID   string `json:"model"`
	// Reported are the names in the order in which they were first seen.
	Reported []Reported `json:"reported"`

	Stored int64 `json:"-"`
}

// Reported is a name that a provider gave, and the run that saw it first.
type Reported struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
	Run   string    `json:"run"`
}

// ModelKey addresses what is known of a model.
func ModelKey(kind, url, id string) store.Key {
	return store.Key{Part: "MODEL#" + ShortID("model", kind, url, id), Sort: "MODEL"}
}

// DecodeModel reads what is known of a model; nil gives nil.
func DecodeModel(item *store.Item) (*Model, error) {
	if item == nil {
		return nil, nil
	}
	m := &Model{Stored: item.Version}
	return m, decode(item, m)
}

// See takes a reported name; fresh tells that it was not seen before.
func (m *Model) See(name, run string, at time.Time) (fresh bool) {
	if slices.ContainsFunc(m.Reported, func(r Reported) bool { return r.Name == name }) {
		return false
	}
	m.Reported = append(m.Reported, Reported{name, at, run})
	return true
}

// Put writes it at the version it was read at, or creates it.
func (m *Model) Put() store.Op {
	return put(store.Item{Key: ModelKey(m.Kind, m.URL, m.ID), Version: m.Stored, Body: encode(m)})
}
