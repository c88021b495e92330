package mailer

import (
	"bytes"
	"fmt"
	"net/mail"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
)

// outbox is a directory of mails. It takes every mail and knows no duplicates.
type outbox struct {
	dir  string
	from *mail.Address
}

const extension = ".eml"

// messageID is the Message-ID of an action's mail: the same for every try.
func (b outbox) messageID(providerKey string) string {
	domain := b.from.Address[strings.LastIndexByte(b.from.Address, '@')+1:]
	return "<" + outside.Key(providerKey) + "@" + domain + ">"
}

// stem is the beginning of a mail's file name: whom it is to, and its key.
func stem(to, id string) string {
	key, _, _ := strings.Cut(strings.TrimPrefix(id, "<"), "@")
	return outside.Safe(to, 80) + "-" + key
}

// put adds a mail; an error that is outside.ErrNotPut says that it is not there.
func (b outbox) put(l letter) error { return outside.Put(b.dir, stem(l.to, l.id), extension, l.bytes) }

// holds tells whether the outbox holds a mail of a Message-ID.
func (b outbox) holds(to, id string) (bool, error) {
	content, err := outside.Find(b.dir, stem(to, id), extension)
	if content == nil || err != nil {
		return false, err
	}
	m, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		return false, fmt.Errorf("reading the mail %s: %w", id, err)
	}
	return m.Header.Get("Message-ID") == id, nil
}
