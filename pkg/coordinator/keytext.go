package coordinator

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// notKey says why a text made of data cannot stand in a record's key; "": it can.
func notKey(what, text string) string {
	switch {
	case len(text) > record.MaxEntry:
		return fmt.Sprintf("%s is %d bytes long, at most %d are possible", what, len(text), record.MaxEntry)
	case strings.ContainsRune(text, 0):
		return fmt.Sprintf("%s has a zero byte: %q", what, text)
	case !utf8.ValidString(text):
		return fmt.Sprintf("%s is not UTF-8: %q", what, text)
	}
	return ""
}

// keyed is a text that a record's key is made of. One that cannot be is what the
// data lacks: no later attempt makes it better.
func keyed(what, text string) (string, error) {
	if why := notKey(what, text); why != "" {
		return "", &fault{class: outerloop.ClassMissingInput, final: true, cause: cut(why, causeLimit)}
	}
	return text, nil
}

// keyText is text for a record's key.
func (v *view) keyText(ctx context.Context, what string, t *loop.Phrase, at texting) (string, error) {
	text, err := v.text(ctx, t, at.items, at.work, "")
	if err != nil {
		return "", err
	}
	return keyed(what, text)
}

// texting is where and over what a text is computed.
type texting struct {
	items []int
	work  *after
}
