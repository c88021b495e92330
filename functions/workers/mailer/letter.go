package mailer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"
	"unicode"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// letter is a mail as it is put into the outbox.
type letter struct {
	id, to string
	bytes  []byte
}

// compose writes a mail by RFC 5322. Its date is the run's as-of time, so that
// the same action always gives the same bytes. Errors say what of the input
// cannot stand in a mail.
func (b outbox) compose(in Input, providerKey string, asOf time.Time) (letter, error) {
	to, err := address(in.To)
	if err != nil {
		return letter{}, err
	}
	if in.Subject == "" || strings.ContainsFunc(in.Subject, unicode.IsControl) {
		return letter{}, errors.New("the subject is empty or holds a line break")
	}
	l := letter{id: b.messageID(providerKey), to: to}
	var out bytes.Buffer
	for _, field := range [][2]string{
		{"From", b.from.String()},
		{"To", to},
		{"Subject", subject(in.Subject)},
		{"Date", asOf.Format(time.RFC1123Z)},
		{"Message-ID", l.id},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&out, "%s: %s\r\n", field[0], field[1])
	}
	out.WriteString("\r\n")
	body := quotedprintable.NewWriter(&out)
	text := strings.ReplaceAll(strings.ReplaceAll(in.Body, "\r\n", "\n"), "\n", "\r\n")
	if _, err := body.Write([]byte(text)); err != nil {
		return letter{}, err
	}
	if err := body.Close(); err != nil {
		return letter{}, err
	}
	l.bytes = out.Bytes()
	return l, nil
}

// lineWidth is the longest line of a header that holds encoded words (RFC 2047).
const lineWidth = 76

// subject folds a subject into lines, and encodes it where it is not plain ASCII.
func subject(text string) string {
	plain := !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
	if plain && !strings.Contains(text, "=?") {
		return folded(text)
	}
	const begin, end = "=?utf-8?q?", "?="
	var words []string
	word, width := begin, len("Subject: ")
	for _, r := range text {
		letter := encoded(r)
		if width+len(word)+len(letter)+len(end) > lineWidth {
			words = append(words, word+end)
			word, width = begin, 1
		}
		word += letter
	}
	return strings.Join(append(words, word+end), "\r\n ")
}

// encoded is a character in the Q encoding.
func encoded(r rune) string {
	switch {
	case r == ' ':
		return "_"
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return string(r)
	}
	var b strings.Builder
	for _, c := range []byte(string(r)) {
		fmt.Fprintf(&b, "=%02X", c)
	}
	return b.String()
}

// folded breaks a plain subject at spaces, where it has any.
func folded(text string) string {
	var b strings.Builder
	width := len("Subject: ")
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
		case width+1+len(word) > lineWidth && word != "":
			b.WriteString("\r\n ")
			width = 1
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}

// address accepts one plain address.
func address(text string) (string, error) {
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || parsed.Name != "" || strings.ContainsFunc(text, unicode.IsControl) {
		return "", fmt.Errorf("%q is not one plain e-mail address", text)
	}
	return text, nil
}

// recipient is the address that an action's payload names.
func recipient(payload json.RawMessage) (string, error) {
	var in Input
	if err := json.Unmarshal(payload, &in); err != nil {
		return "", worker.Fatal("reading the action's payload: %w", err)
	}
	to, err := address(in.To)
	if err != nil {
		return "", worker.MissingInput("%w", err)
	}
	return to, nil
}
