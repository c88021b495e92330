package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxSocketPath is what fits in the address of a unix socket on every system.
const maxSocketPath = 100

// socketPath stands beside the state file, or, where that path is too long for
// a socket, in a private directory of the user.
func socketPath(state string) (string, error) {
	path, err := filepath.Abs(state + ".sock")
	if err != nil || len(path) <= maxSocketPath {
		return path, err
	}
	base := os.Getenv("XDG_RUNTIME_DIR")
	if base == "" {
		base = os.TempDir()
	}
	dir := filepath.Join(base, fmt.Sprintf("outerloop-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	found, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !found.IsDir() || found.Mode().Perm() != 0o700 {
		return "", fmt.Errorf("%s is not a private directory", dir)
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(dir, hex.EncodeToString(sum[:8])+".sock"), nil
}

// listen opens the socket for visitors; one that a dead owner left is removed.
func (e *Engine) listen() error {
	path, err := socketPath(e.cfg.State)
	if err != nil {
		return fmt.Errorf("making the socket: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an old socket: %w", err)
	}
	// The directory is private or the file is: between the two calls nobody
	// else can connect to it.
	e.listener, err = net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("making the socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("making the socket private: %w", err)
	}
	if err := e.lock.name(Owner{PID: os.Getpid(), Socket: path, Since: time.Now().UTC()}); err != nil {
		return fmt.Errorf("naming the owner: %w", err)
	}
	e.visits.Add(1)
	go e.accept()
	return nil
}

func (e *Engine) accept() {
	defer e.visits.Done()
	for {
		conn, err := e.listener.Accept()
		if err != nil {
			return // closed
		}
		e.visits.Add(1)
		go func() {
			defer e.visits.Done()
			e.visit(conn)
		}()
	}
}

// visit serves one visitor: requests one after the other until it goes.
func (e *Engine) visit(conn net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer func() { _ = conn.Close() }()
	go func() { // the engine's end is the visitor's
		select {
		case <-e.closing:
		case <-ctx.Done():
		}
		cancel()
		_ = conn.Close()
	}()
	in := json.NewDecoder(io.LimitReader(conn, maxVisit))
	out := &replies{enc: json.NewEncoder(conn)}
	for {
		var req Request
		if err := in.Decode(&req); err != nil {
			return
		}
		stop := func() {}
		if req.Op == OpDrive {
			stop = e.watch(func(p Progress) { _ = out.send(Reply{Progress: &p}) })
		}
		body, err := e.serveRequest(ctx, req)
		stop()
		if out.send(Reply{Done: true, Body: body, Error: far(err)}) != nil {
			return
		}
	}
}

// maxVisit bounds what one visitor may send, in bytes.
const maxVisit = 1 << 30

// replies sends whole lines from several goroutines.
type replies struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func (r *replies) send(reply Reply) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.enc.Encode(reply)
}
