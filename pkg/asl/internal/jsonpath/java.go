package jsonpath

import (
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// JavaString returns a value as Java prints it: strings bare, objects as
// {a=1, b=[]}.
func JavaString(v []byte) string {
	var b strings.Builder
	writeJava(&b, v)
	return b.String()
}

func writeJava(b *strings.Builder, v []byte) {
	switch rawjson.KindOf(v) {
	case rawjson.String:
		b.WriteString(rawjson.Text(v))
	case rawjson.Array:
		b.WriteByte('[')
		first := true
		for e := range rawjson.Elements(v) {
			if !first {
				b.WriteString(", ")
			}
			first = false
			writeJava(b, e)
		}
		b.WriteByte(']')
	case rawjson.Object:
		b.WriteByte('{')
		first := true
		for k, e := range rawjson.Members(v) {
			if !first {
				b.WriteString(", ")
			}
			first = false
			b.WriteString(rawjson.Text(k))
			b.WriteByte('=')
			writeJava(b, e)
		}
		b.WriteByte('}')
	default:
		b.Write(v)
	}
}
