package mailer

import (
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
)

// outbox is a directory of mails. It takes every mail and knows no duplicates.
type outbox struct {
	dir  string
	from *mail.Address
}

// messageID is the Message-ID of an action's mail: the same for every try.
func (b outbox) messageID(providerKey string) string {
	domain := b.from.Address[strings.LastIndexByte(b.from.Address, '@')+1:]
	return "<" + key(providerKey) + "@" + domain + ">"
}

// stem is the beginning of a mail's file name: whom it is to, and its key.
func stem(to, id string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@.-_+", r) {
			return r
		}
		return '_'
	}, to)
	key, _, _ := strings.Cut(strings.TrimPrefix(id, "<"), "@")
	return strings.TrimLeft(name[:min(len(name), 80)], ".") + "-" + key
}

// copies bounds how many mails of one Message-ID an outbox can hold.
const copies = 1000

// put adds a mail under a name of its own, all of it or nothing, and returns
// when it is on the disk. An error that is errNotPut says that it is not there.
func (b outbox) put(l letter) error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return notPut(err)
	}
	name := stem(l.to, l.id)
	draft := filepath.Join(b.dir, "."+name+".draft")
	if err := writeSynced(draft, l.bytes); err != nil {
		_ = os.Remove(draft)
		return notPut(err)
	}
	defer os.Remove(draft)
	for n := 1; n <= copies; n++ {
		err := publish(draft, filepath.Join(b.dir, fileName(name, n)))
		switch {
		case err == nil:
			return syncDirectory(b.dir)
		case !errors.Is(err, fs.ErrExist):
			return notPut(err)
		}
	}
	return notPut(fmt.Errorf("it holds %d copies of %s already", copies, l.id))
}

// publish gives a written file its name, if nothing has that name yet. A file
// system without hard links leaves a moment between looking and naming; the
// action's owner is alone in it.
func publish(draft, name string) error {
	err := os.Link(draft, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, there := os.Lstat(name); there == nil {
		return fs.ErrExist
	}
	return os.Rename(draft, name)
}

func fileName(stem string, n int) string {
	if n == 1 {
		return stem + ".eml"
	}
	return fmt.Sprintf("%s-%d.eml", stem, n)
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing the outbox: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("syncing the outbox: %w", err)
	}
	return nil
}

// holds tells whether the outbox holds a mail of a Message-ID. A draft that a
// dead process left is no mail and is removed.
func (b outbox) holds(to, id string) (bool, error) {
	name := stem(to, id)
	_ = os.Remove(filepath.Join(b.dir, "."+name+".draft"))
	f, err := os.Open(filepath.Join(b.dir, fileName(name, 1)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	m, err := mail.ReadMessage(f)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return m.Header.Get("Message-ID") == id, nil
}
