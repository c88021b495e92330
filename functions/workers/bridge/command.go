package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// The exit codes of a program that say a class (sysexits.h); others are a tool
// that failed.
var exitClasses = map[int]outerloop.Class{
	65: outerloop.ClassMissingInput, // EX_DATAERR
	66: outerloop.ClassMissingInput, // EX_NOINPUT
	75: outerloop.ClassTransient,    // EX_TEMPFAIL
	77: outerloop.ClassRefused,      // EX_NOPERM
	78: outerloop.ClassFatal,        // EX_CONFIG
}

// Command runs programs of this machine: the body on their input, the answer on
// their output, About in the environment (OUTERLOOP_RUN, IDEMPOTENCY_KEY, …).
type Command struct {
	// Dir is the working directory: the project's root.
	Dir string
	// Env is the environment that programs get, beside About; nil: none.
	Env []string
}

// grace is how long a program that was told to end may take.
const grace = 2 * time.Second

// Call runs the program once. When the context ends, it and what it started are
// killed.
func (c Command) Call(ctx context.Context, req Request) ([]byte, error) {
	if len(req.Run) == 0 {
		return nil, worker.NotDone(worker.Fatal("the charter names no program"))
	}
	program := exec.CommandContext(ctx, req.Run[0], req.Run[1:]...) //nolint:gosec // the charter's program is what runs
	program.Dir, program.Env, program.WaitDelay = c.Dir, append([]string{}, c.Env...), grace
	for _, pair := range req.About.Pairs() {
		program.Env = append(program.Env, strings.ToUpper(strings.ReplaceAll(pair[0], "-", "_"))+"="+pair[1])
	}
	group(program)
	out, said := &bounded{limit: MaxAnswer}, &bounded{limit: longestReason}
	program.Stdin, program.Stdout, program.Stderr = bytes.NewReader(req.Body), out, said
	if err := program.Start(); err != nil {
		return nil, worker.NotDone(worker.Fatal("starting %s: %w", req.Run[0], err))
	}
	err := program.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil && out.over:
		return nil, worker.InvalidOutput("%s answers with over %d bytes", req.Run[0], MaxAnswer)
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not end in time: %w", req.Run[0], context.Cause(ctx))
	case errors.As(err, &exit):
		return nil, exited(req.Run[0], exit.ExitCode(), said.String())
	}
	return nil, worker.ToolFailed("running %s: %w", req.Run[0], err)
}

// exited classes a program that ended with a code.
func exited(program string, code int, said string) error {
	text := fmt.Sprintf("%s ended with code %d", program, code)
	if said = strings.TrimSpace(said); said != "" {
		text += ": " + said
	}
	class, known := exitClasses[code]
	if !known {
		return worker.ToolFailed("%s", text)
	}
	return Classed(class, text)
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	limit int
	over  bool
}

// Write never fails, so that the program ends by itself.
func (b *bounded) Write(p []byte) (int, error) {
	keep := min(len(p), b.limit-b.Len())
	b.over = b.over || keep < len(p)
	_, _ = b.Buffer.Write(p[:keep])
	return len(p), nil
}
