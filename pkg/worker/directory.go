package worker

import (
	"context"
	"errors"
)

// Directory is what stands behind a connection of kind files or outbox: files
// by name, in one place without places inside it. A runtime that keeps them
// elsewhere than on its disk gives one with the connection.
type Directory interface {
	// Read gives a file's content. Errors: fs.ErrNotExist (wrapped); one of a
	// class where asking again or not is known; any other is transient.
	Read(ctx context.Context, name string) ([]byte, error)
	// Names lists the files, sorted. Names that begin with a dot are not among them.
	Names(ctx context.Context) ([]string, error)
	// Create adds a file, all of it or nothing, and returns when it is durable.
	// It never replaces one. Errors: fs.ErrExist (wrapped); ErrNotCreated
	// (wrapped) where it certainly is not there; any other leaves it unknown.
	Create(ctx context.Context, name string, content []byte) error
}

// ErrNotCreated says that a file was certainly not added.
var ErrNotCreated = errors.New("the directory did not take the file")

// Mail is what stands behind a connection that sends mail over a service.
type Mail interface {
	// Send hands a whole message over, headers and all, and gives the service's
	// id of it. It is not deduplicated: two calls are two mails. Errors: of a
	// class (NotDone and the like where nothing was sent); any other leaves it unknown.
	Send(ctx context.Context, from, to string, message []byte) (id string, err error)
}
