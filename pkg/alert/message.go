package alert

import (
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// Message is what a channel sends: one or more things about one incident.
type Message struct {
	// ID is the same when it is sent again: receivers may drop what they have.
	ID string `json:"id"`
	// Group is whom it is for, To their e-mail addresses.
	Group string   `json:"group"`
	To    []string `json:"-"`
	// Subject is one line.
	Subject string `json:"subject"`
	Lines   []Line `json:"alerts"`
	// More counts what is left out of Lines.
	More int       `json:"more,omitempty"`
	At   time.Time `json:"at"`
}

// Line is one thing that happened.
type Line struct {
	Kind string    `json:"kind"`
	ID   string    `json:"id"`
	Loop string    `json:"loop,omitempty"`
	Run  string    `json:"run,omitempty"`
	Step string    `json:"step,omitempty"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
	// Command goes on from here.
	Command string `json:"command,omitempty"`
}

// The bounds of a message.
const (
	// maxText bounds one line's text in bytes, maxSubject the subject.
	maxText    = 600
	maxSubject = 160
	// maxLines is how many things one message holds; the others are counted.
	maxLines = 20
)

// Text is the message for people, plain.
func (m Message) Text() string {
	var b strings.Builder
	b.WriteString(m.Subject)
	for _, l := range m.Lines {
		if len(m.Lines) > 1 || !strings.HasSuffix(m.Subject, l.sentence()) { // else the subject has said it
			fmt.Fprintf(&b, "\n- %s", l.sentence())
		}
		if l.Command != "" {
			fmt.Fprintf(&b, "\n  %s", l.Command)
		}
	}
	if m.More > 0 {
		fmt.Fprintf(&b, "\nand %d more", m.More)
	}
	return b.String()
}

// sentence is what happened, where, in one line.
func (l Line) sentence() string {
	where := strings.Join(strings.Fields(l.Loop+" "+l.Run), " ")
	if where == "" {
		return l.Kind + ": " + l.Text
	}
	return l.Kind + " in " + where + ": " + l.Text
}

// lineOf is an alert as one line of a message.
func (d *Desk) lineOf(a coordinator.Alert) Line {
	l := Line{
		Kind: a.Kind, ID: a.ID, Loop: a.Loop, Run: a.Run, Step: a.Step, At: d.now(),
		Text: cut(strings.Join(strings.Fields(a.Text), " "), maxText),
	}
	program := d.cfg.Commands
	switch a.Kind {
	case coordinator.KindException:
		l.Command = program + " exceptions   then: " + program + " resolve " + a.ID
	case coordinator.KindRequest:
		l.Command = program + " approvals " + a.Run
	case coordinator.KindReminder, coordinator.KindEscalation:
		l.Command = program + " approvals"
	case coordinator.KindBreaker:
		l.Command = program + " doctor"
	default:
		if a.Run != "" {
			l.Command = program + " show " + a.Run
		}
	}
	return l
}

// subject is the first line of a message.
func (d *Desk) subject(lines []Line, more int) string {
	project := ""
	if d.cfg.Project != nil {
		project = d.cfg.Project.Name + ": "
	}
	if n := len(lines) + more; n > 1 {
		what := "alerts"
		if lines[0].Kind == coordinator.KindRequest { // whose incident holds nothing else
			what = "requests for approval"
		}
		return cut(fmt.Sprintf("%s%d %s, the first: %s", project, n, what, lines[0].sentence()), maxSubject)
	}
	return cut(project+lines[0].sentence(), maxSubject)
}

// cut shortens a text to at most limit bytes, never within a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit] + "…"
}
