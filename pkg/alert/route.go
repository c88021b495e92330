package alert

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/registry"
)

// email is the channel of that name in a group: by a connection that mails.
const email = "email"

// Secret gives the value of a secret by its name. Its error must not hold the value.
type Secret func(name string) (string, error)

// With is what Channels needs beside the project.
type With struct {
	Secret Secret
	Log    *slog.Logger
	// Clock is for Retry-After; nil: the system's.
	Clock func() time.Time
}

// Channels makes the channels that the project's groups name, of its
// connections: kinds slack, teams and webhook post JSON, smtp mails. "email" is
// the first connection of kind smtp. What cannot be made (a secret that is not
// set, a kind that sends nothing) is named in the faults; its messages go to the
// log then. The secret of a slack, teams or webhook connection is its URL where
// it declares none, else a bearer token; that of smtp is USER:PASSWORD.
func Channels(p *registry.Project, with With) (map[string]Channel, []error) {
	channels := map[string]Channel{}
	var faults []error
	for _, group := range p.Groups {
		for _, name := range group.Alert {
			if channels[name] != nil {
				continue
			}
			c, err := open(p, name, with)
			if err != nil {
				faults = append(faults, fmt.Errorf("alerts over %s go to the log: %w", name, err))
				c = toLog{log: with.Log, instead: name}
			}
			channels[name] = c
		}
	}
	return channels, faults
}

// open makes the channel of a name.
func open(p *registry.Project, name string, with With) (Channel, error) {
	conn, known := p.Connection(name)
	if !known && name == email {
		for _, c := range p.Connections {
			if c.Kind == "smtp" {
				return openMail(c, with)
			}
		}
		return nil, fmt.Errorf("no connection of kind smtp is declared")
	}
	switch conn.Kind {
	case "slack", "teams", "webhook":
		return openWebhook(conn, with)
	case "smtp":
		return openMail(conn, with)
	}
	return nil, fmt.Errorf("a connection of kind %q sends no alerts here", conn.Kind)
}

func openWebhook(c registry.Connection, with With) (Channel, error) {
	w := Webhook{URL: c.URL, Plain: c.Kind != "webhook", Clock: with.Clock}
	if c.Secret == "" {
		if c.URL == "" {
			return nil, fmt.Errorf("connection %s has neither url nor secret", c.Name)
		}
		return w, nil
	}
	value, err := with.secret(c.Secret)
	if err != nil {
		return nil, err
	}
	if c.URL == "" {
		w.URL = value
	} else {
		w.Bearer = value
	}
	return w, nil
}

func openMail(c registry.Connection, with With) (Channel, error) {
	m := Mail{Address: strings.TrimPrefix(c.URL, "smtp://"), From: c.From}
	if m.From == "" || m.Address == "" {
		return nil, fmt.Errorf("connection %s needs url (smtp://host:port) and from", c.Name)
	}
	if c.Secret == "" {
		return m, nil
	}
	value, err := with.secret(c.Secret)
	if err != nil {
		return nil, err
	}
	var ok bool
	if m.User, m.Password, ok = strings.Cut(value, ":"); !ok {
		return nil, fmt.Errorf("the secret %s is not of the form USER:PASSWORD", c.Secret)
	}
	return m, nil
}

func (w With) secret(name string) (string, error) {
	if w.Secret == nil {
		return "", fmt.Errorf("secret %s: no secrets are read here", name)
	}
	value, err := w.Secret(name)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(value), nil
}

func tlsFor(host string) *tls.Config {
	return &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
}
