package mailer

import (
	"bytes"
	"context"
	"fmt"
	"net/mail"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// outbox takes mails: a directory, or a mail service. It takes every mail and
// knows no duplicates.
type outbox struct {
	files worker.Directory
	// service, where it is not nil, sends in place of files.
	service worker.Mail
	from    *mail.Address
}

const extension = ".eml"

// messageID is the Message-ID of an action's mail: the same for every try.
func (b outbox) messageID(providerKey string) string {
	domain := b.from.Address[strings.LastIndexByte(b.from.Address, '@')+1:]
	return "<" + outside.Key(providerKey) + "@" + domain + ">"
}

// name is a mail's file name: whom it is to, and its key.
func name(to, id string) outside.Name {
	key, _, _ := strings.Cut(strings.TrimPrefix(id, "<"), "@")
	return outside.Name{Stem: outside.Safe(to, 80) + "-" + key, Extension: extension}
}

// put hands a mail over and gives its Message-ID: of a service, the one that it
// gave. An error of a class, or that is worker.ErrNotCreated, says what is known.
func (b outbox) put(ctx context.Context, l letter) (string, error) {
	if b.service == nil {
		return l.id, outside.Put(ctx, b.files, name(l.to, l.id), l.bytes)
	}
	id, err := b.service.Send(ctx, b.from.Address, l.to, l.bytes)
	if err != nil {
		return "", err
	}
	return "<" + id + "@amazonses.com>", nil
}

// holds tells whether the outbox holds a mail of a Message-ID.
func (b outbox) holds(ctx context.Context, to, id string) (bool, error) {
	content, err := outside.Find(ctx, b.files, name(to, id))
	if content == nil || err != nil {
		return false, err
	}
	m, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		return false, fmt.Errorf("reading the mail %s: %w", id, err)
	}
	return m.Header.Get("Message-ID") == id, nil
}
