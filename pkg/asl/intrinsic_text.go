package asl

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/jsonpath"
	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

func base64Encode(in *invocation) ([]byte, error) {
	s, err := in.text(0)
	if err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(s) > maxText {
		return nil, errLong
	}
	return rawjson.Quote(base64.StdEncoding.EncodeToString([]byte(s))), nil
}

func base64Decode(in *invocation) ([]byte, error) {
	s, err := in.text(0)
	if err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(s) > maxText {
		return nil, errLong
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		if b, err = base64.RawStdEncoding.DecodeString(s); err != nil {
			return nil, errors.New("The input is not valid Base64")
		}
	}
	return rawjson.Quote(string(b)), nil
}

var hashes = map[string]func() hash.Hash{
	"MD5": md5.New, "SHA-1": sha1.New, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New,
}

func hashText(in *invocation) ([]byte, error) {
	data := string(in.args[0])
	if rawjson.KindOf(in.args[0]) == rawjson.String {
		data = rawjson.Text(in.args[0])
	}
	if utf8.RuneCountInString(data) > maxText {
		return nil, errLong
	}
	name, err := in.text(1)
	if err != nil {
		return nil, err
	}
	algorithm, ok := hashes[name]
	if !ok {
		return nil, fmt.Errorf("Unsupported hash algorithm: %s", name)
	}
	h := algorithm()
	h.Write([]byte(data))
	return rawjson.Quote(hex.EncodeToString(h.Sum(nil))), nil
}

func jsonMerge(in *invocation) ([]byte, error) {
	for i := range 2 {
		if rawjson.KindOf(in.args[i]) != rawjson.Object {
			return nil, fmt.Errorf("Argument %d must be an object but was: %s", i+1, in.args[i])
		}
	}
	if string(in.args[2]) != "false" {
		return nil, errors.New("Only the shallow merging mode, false, is supported")
	}
	out := in.args[0]
	for k, v := range rawjson.Members(in.args[1]) {
		out = rawjson.With(out, rawjson.Text(k), v)
	}
	return out, nil
}

func jsonToString(in *invocation) ([]byte, error) {
	return rawjson.Quote(string(in.args[0])), nil
}

func stringToJSON(in *invocation) ([]byte, error) {
	s, err := in.text(0)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(s) == "" {
		return rawjson.Null, nil
	}
	v, err := rawjson.Normalize([]byte(s))
	if err != nil {
		return nil, errors.New("The input is not valid JSON")
	}
	return v, nil
}

// stringSplit splits at each character of the second argument and leaves empty
// parts out.
func stringSplit(in *invocation) ([]byte, error) {
	s, err := in.text(0)
	if err != nil {
		return nil, err
	}
	separators, err := in.text(1)
	if err != nil {
		return nil, err
	}
	var parts [][]byte
	for _, p := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		parts = append(parts, rawjson.Quote(p))
	}
	return rawjson.Join(parts), nil
}

// format puts the arguments where {} stands. \{ and \} are braces.
func format(in *invocation) ([]byte, error) {
	template, err := in.text(0)
	if err != nil {
		return nil, err
	}
	if in.call.args[0].expr == nil {
		template = in.call.args[0].raw
	}
	var b strings.Builder
	next := 1
	for i := 0; i < len(template); i++ {
		c := template[i]
		switch {
		case c == '\\' && i+1 < len(template) && strings.IndexByte(`{}\`, template[i+1]) >= 0:
			i++
			b.WriteByte(template[i])
		case c == '{' && i+1 < len(template) && template[i+1] == '}':
			if next == len(in.args) {
				return nil, errors.New("There are more occurrences of {} than arguments")
			}
			b.WriteString(jsonpath.JavaString(in.args[next]))
			next++
			i++
		default:
			b.WriteByte(c)
		}
	}
	if next < len(in.args) {
		return nil, errors.New("There are more arguments than occurrences of {}")
	}
	return rawjson.Quote(b.String()), nil
}
