package compile

import "github.com/outerloop-dev/outerloop/pkg/asl"

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	name  string
	value any
}

// set appends a member; set of a name that is there replaces it in its place.
func (o *object) set(name string, value any) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{name, value})
}

// encodable is the object as asl encodes it.
func (o object) encodable() asl.Object {
	out := make(asl.Object, len(o))
	for i, m := range o {
		out[i] = asl.Member{Name: m.name, Value: encodable(m.value)}
	}
	return out
}

func encodable(value any) any {
	switch v := value.(type) {
	case object:
		return v.encodable()
	case []object:
		return list(v)
	case []string:
		return list(v)
	}
	return value
}

func list[T any](values []T) asl.List {
	out := make(asl.List, len(values))
	for i, v := range values {
		out[i] = encodable(v)
	}
	return out
}

// text is the committed form of a machine.
func text(o object) ([]byte, error) { return asl.Encode(o.encodable()) }
