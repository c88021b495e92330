package lambdawork

import (
	"context"

	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Outside makes connections as workers use them.
type Outside struct {
	Objects Objects
	Bucket  string
	// Mail is asked for connections of kind ses.
	Mail worker.Mail
	// Secret reads a secret by its name.
	Secret func(ctx context.Context, name string) (string, error)
}

// Connect makes a connection of what the project file declares. A secret that
// cannot be read is told when the connection is used.
func (o Outside) Connect(ctx context.Context, c gatewire.Connection) worker.Connection {
	made := worker.Connection{Name: c.Name, Kind: c.Kind, Settings: map[string]string{"url": c.URL, "from": c.From}}
	switch c.Kind {
	case "files", "outbox", "scripted":
		made.Directory = Folder{o.Objects, o.Bucket, ConnectionPrefix(c.Name)}
	case "ses":
		made.Mail = o.Mail
	}
	if c.Secret != "" {
		made.Settings["secret"], made.Fault = o.Secret(ctx, c.Secret)
	}
	return made
}

// taken is where the surroundings of one invocation go.
type taken struct {
	files       *Files
	connections map[string]worker.Connection
}

func (o Outside) take(ctx context.Context, with gatewire.Surroundings, to taken) {
	to.files.Know(with.Files)
	for _, c := range with.Connections {
		to.connections[c.Name] = o.Connect(ctx, c)
	}
}
