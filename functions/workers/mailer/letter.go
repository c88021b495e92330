package mailer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
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

// subject encodes a subject where it is not plain ASCII (RFC 2047) and folds it
// into lines of at most 78 characters where it has spaces to fold at.
func subject(text string) string {
	encoded := text
	if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) || strings.Contains(text, "=?") {
		encoded = mime.QEncoding.Encode("utf-8", text)
	}
	const limit = 78
	var b strings.Builder
	width := len("Subject: ")
	for i, word := range strings.Split(encoded, " ") {
		switch {
		case i == 0:
		case width+1+len(word) > limit && word != "":
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
