package alert

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"
)

// Mail sends messages to the people of a group by SMTP.
type Mail struct {
	// Address is host:port. TLS is used where the server offers it, and demanded
	// where User is set, except at this machine.
	Address string
	From    string
	// User and Password are given where User is set.
	User, Password string
}

// Send mails the message once, to all members of the group together. The
// message's id is the Message-ID, so that a repeated one can be recognised.
func (c Mail) Send(ctx context.Context, m Message) error {
	if len(m.To) == 0 {
		return fmt.Errorf("group %s has no addresses: %w", m.Group, ErrRefused)
	}
	conn, err := (&net.Dialer{Timeout: sendWithin}).DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return fmt.Errorf("reaching the mail server: %w", err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(2 * sendWithin)); err != nil {
		return fmt.Errorf("reaching the mail server: %w", err)
	}
	if err := c.send(conn, m); err != nil {
		var said *textproto.Error
		if errors.As(err, &said) && said.Code/100 == 5 {
			return fmt.Errorf("the mail server says %d: %w", said.Code, ErrRefused)
		}
		return fmt.Errorf("mailing the alert: %w", err)
	}
	return nil
}

func (c Mail) send(conn net.Conn, m Message) error {
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return err
	}
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	if ok, _ := client.Extension("STARTTLS"); ok {
		if err := client.StartTLS(tlsFor(host)); err != nil {
			return err
		}
	}
	if c.User != "" {
		if err := client.Auth(smtp.PlainAuth("", c.User, c.Password, host)); err != nil {
			return err
		}
	}
	if err := client.Mail(c.From); err != nil {
		return err
	}
	for _, to := range m.To {
		if err := client.Rcpt(to); err != nil {
			return err
		}
	}
	body, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := body.Write([]byte(c.letter(m))); err != nil {
		return err
	}
	if err := body.Close(); err != nil {
		return err
	}
	return client.Quit()
}

// letter is the mail with its head. What people and models wrote stands in the
// encoded parts only.
func (c Mail) letter(m Message) string {
	var b strings.Builder
	_, domain, _ := strings.Cut(c.From, "@")
	for _, line := range [][2]string{
		{"From", c.From}, {"To", strings.Join(m.To, ", ")}, {"Subject", mime.QEncoding.Encode("utf-8", m.Subject)},
		{"Date", m.At.Format(time.RFC1123Z)}, {"Message-ID", "<" + m.ID + "@" + domain + ">"}, {"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "base64"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", line[0], line[1])
	}
	b.WriteString("\r\n")
	text := base64.StdEncoding.EncodeToString([]byte(m.Text()))
	for len(text) > 0 {
		n := min(76, len(text))
		b.WriteString(text[:n] + "\r\n")
		text = text[n:]
	}
	return b.String()
}
