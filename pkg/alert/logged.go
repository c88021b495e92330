package alert

import (
	"context"
	"log/slog"
)

// toLog writes messages to the log, where there is no other channel.
type toLog struct {
	log     *slog.Logger
	instead string
}

// Log is the log as a channel.
func Log(log *slog.Logger) Channel { return toLog{log: log, instead: Logged} }

// Send writes one line for each thing.
func (c toLog) Send(_ context.Context, m Message) error {
	for _, l := range m.Lines {
		args := []any{"group", m.Group, "kind", l.Kind, "id", l.ID}
		for _, pair := range [][2]string{{"loop", l.Loop}, {"run", l.Run}, {"step", l.Step}, {"go_on", l.Command}} {
			if pair[1] != "" {
				args = append(args, pair[0], pair[1])
			}
		}
		if c.instead != Logged {
			args = append(args, "instead_of", c.instead)
		}
		c.log.Warn("alert: "+l.Text, args...)
	}
	if m.More > 0 {
		c.log.Warn("alert: there are more", "group", m.Group, "more", m.More)
	}
	return nil
}
