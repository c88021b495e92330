package rule

import (
	"fmt"
	"sync"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// objectPrefix begins the CEL name of an object type; no identifier can, so types and names never mix.
const objectPrefix = "#"

// provider gives CEL the object types of schemas and reads their fields from plain maps.
type provider struct {
	types.Provider // CEL's own

	mu    sync.RWMutex
	named map[string]*schema.Type
	cel   map[*schema.Type]*types.Type
}

func newProvider(own types.Provider) *provider {
	return &provider{Provider: own, named: map[string]*schema.Type{}, cel: map[*schema.Type]*types.Type{}}
}

// typed gives the CEL type of a schema type, which is first seen at path.
func (p *provider) typed(t *schema.Type, path string) *types.Type {
	p.mu.RLock()
	c, ok := p.cel[t]
	p.mu.RUnlock()
	if ok {
		return c
	}
	c = p.make(t, path)
	p.mu.Lock()
	defer p.mu.Unlock()
	if first, ok := p.cel[t]; ok {
		return first
	}
	p.cel[t] = c
	return c
}

func (p *provider) make(t *schema.Type, path string) *types.Type {
	nullable := func(c *types.Type) *types.Type {
		if t.Nullable {
			return types.NewNullableType(c)
		}
		return c
	}
	switch t.Kind {
	case schema.Bool:
		return nullable(types.BoolType)
	case schema.Int:
		return nullable(types.IntType)
	case schema.Number:
		return nullable(types.DoubleType)
	case schema.String:
		return nullable(types.StringType)
	case schema.Time:
		return types.TimestampType
	case schema.Span:
		return types.DurationType
	case schema.Null:
		return types.NullType
	}
	if t.Kind == schema.Object && len(t.Fields()) > 0 || t.Kind == schema.Object && t.Extra == nil && !t.Open {
		return p.object(t, path)
	}
	switch {
	case t.Kind == schema.List && !t.Nullable:
		return types.NewListType(p.typed(t.Elem, path+"[]"))
	case t.Kind == schema.Object && !t.Nullable && t.Extra != nil:
		return types.NewMapType(types.StringType, p.typed(t.Extra, path+"[]"))
	}
	return types.DynType
}

// object names an object type after the path where it was first seen.
func (p *provider) object(t *schema.Type, path string) *types.Type {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := objectPrefix + path
	for n := 2; p.named[name] != nil; n++ {
		name = fmt.Sprintf("%s%s~%d", objectPrefix, path, n)
	}
	p.named[name] = t
	return types.NewObjectType(name)
}

func (p *provider) lookup(name string) (*schema.Type, bool) {
	if len(name) == 0 || name[0] != objectPrefix[0] {
		return nil, false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	t, ok := p.named[name]
	return t, ok
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.lookup(name); ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if t, ok := p.lookup(name); ok {
		return t.FieldNames(), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (p *provider) FindStructFieldType(object, name string) (*types.FieldType, bool) {
	t, ok := p.lookup(object)
	if !ok {
		return p.Provider.FindStructFieldType(object, name)
	}
	f, ok := t.Field(name)
	if !ok {
		return nil, false
	}
	path := object[1:] + "." + name
	return &types.FieldType{
		Type:    p.typed(f.Type, path),
		IsSet:   func(target any) bool { _, ok := member(target, name); return ok },
		GetFrom: func(target any) (any, error) { return get(target, f, path) },
	}, true
}

func get(target any, f schema.Field, path string) (any, error) {
	v, ok := member(target, f.Name)
	if !ok {
		if f.Type.Nullable {
			return nil, nil
		}
		return nil, &AbsentError{Path: path}
	}
	return plain(f.Type, v)
}

// member reads a field of a plain map, or of a map that an expression made.
func member(target any, name string) (any, bool) {
	switch m := target.(type) {
	case map[string]any:
		v, ok := m[name]
		return v, ok
	case map[ref.Val]ref.Val:
		v, ok := m[types.String(name)]
		return v, ok
	}
	return nil, false
}
