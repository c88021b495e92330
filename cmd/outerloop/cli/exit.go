package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// The exit codes of every command.
const (
	// ExitDone: the work is done, or the decision recorded.
	ExitDone = 0
	// ExitFailed: the work failed, is blocked, or came too late.
	ExitFailed = 1
	// ExitUsage: the command line or what it names is not valid; nothing was done.
	ExitUsage = 2
	// ExitWaiting: an approval or a question waits for a person.
	ExitWaiting = 3
)

// exit is an error that knows its exit code. A nil err prints nothing: the
// command has said everything already.
type exit struct {
	code int
	err  error
	// remedies are lines that say what to do, printed below the error.
	remedies []string
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// silent ends the program with a code and says no more.
func silent(code int) error {
	if code == ExitDone {
		return nil
	}
	return &exit{code: code}
}

// usage is an error of the command line, with what to write instead.
func usage(message string, remedies ...string) error {
	return &exit{code: ExitUsage, err: errors.New(message), remedies: remedies}
}

// exitCode is the one mapping of errors to exit codes.
func exitCode(err error) int {
	var e *exit
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, coordinator.ErrInput), errors.Is(err, coordinator.ErrOtherInput),
		errors.Is(err, coordinator.ErrNoLoop), errors.Is(err, coordinator.ErrNoRun),
		errors.Is(err, coordinator.ErrNoApproval), errors.Is(err, coordinator.ErrNoException),
		errors.Is(err, asl.ErrDefinition):
		return ExitUsage
	}
	return ExitFailed
}

// remediesOf are the lines to print below an error.
func remediesOf(err error) []string {
	var e *exit
	var overlap *coordinator.OverlapError
	switch {
	case errors.As(err, &e):
		return e.remedies
	case errors.Is(err, coordinator.ErrNoRun):
		return []string{"outerloop runs   lists the runs"}
	case errors.Is(err, coordinator.ErrNoApproval):
		return []string{"outerloop approvals   lists what waits for a person"}
	case errors.Is(err, coordinator.ErrNoException):
		return []string{"outerloop exceptions   lists what needs a decision"}
	case errors.As(err, &overlap):
		return []string{
			"outerloop show " + overlap.Open + "   says how it stands",
			"outerloop approvals " + overlap.Open + "   lists what waits in it; outerloop exceptions " + overlap.Open + " what went wrong",
			"it goes on with each decision, with outerloop dev, or with the command that started it",
			"outerloop cancel " + overlap.Open + " --by ADDRESS --reason TEXT   gives it up",
		}
	case errors.Is(err, asl.ErrDefinition):
		return []string{"outerloop asl validate FILE   checks a machine; outerloop compile writes it anew"}
	}
	for _, remedy := range []string{storeRemedy(err), farRemedy(err)} {
		if remedy != "" {
			return []string{remedy}
		}
	}
	return nil
}

// backupRemedy is how a state file that is lost is put right.
const backupRemedy = "put a backup in its place (outerloop backup made it), without the -wal and -shm that stand beside it"

// storeRemedy is what to do about a state file that cannot be used; "" where
// the error is none of the store's.
func storeRemedy(err error) string {
	var foreign *sqlitestore.ForeignLogError
	switch {
	case errors.As(err, &foreign):
		return "move it away, then the same command goes on: mv " + shellWord(foreign.Log) + " " + shellWord(foreign.Log+".old")
	case errors.Is(err, sqlitestore.ErrFull), errors.Is(err, syscall.ENOSPC):
		return "nothing that was recorded is lost: make room on the disk (outerloop doctor says how much there is), then the same command goes on"
	case errors.Is(err, sqlitestore.ErrDisk), errors.Is(err, syscall.EFBIG):
		return "nothing that was recorded is lost: see that the disk is sound, has room and lets files grow (ulimit -f), then the same command goes on"
	case errors.Is(err, sqlitestore.ErrNewer):
		return "use the program that wrote it, or a later one"
	case errors.Is(err, sqlitestore.ErrNotStore):
		return "name another state file: --state FILE; if this one was a state file, " + backupRemedy
	case errors.Is(err, store.ErrReadOnly):
		return "make the state file and its directory writable for this user, or name another: --state FILE"
	case errors.Is(err, store.ErrCorrupt):
		return backupRemedy
	case errors.Is(err, fs.ErrPermission):
		return "make it readable for this user"
	}
	return ""
}

// interrupted says what a command that was told to stop left behind: everything
// that is recorded. Errors with a reason of their own stay.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return &exit{code: ExitFailed, err: errors.New("stopped; nothing is lost"), remedies: []string{"the same command goes on from here"}}
}

// also adds an error that followed another, such as that of closing what failed,
// unless it only says the same again.
func also(err, more error) error {
	if err != nil && more != nil && (strings.Contains(err.Error(), more.Error()) || errors.Is(err, sqlitestore.ErrFull) && errors.Is(more, sqlitestore.ErrFull)) {
		return err
	}
	return errors.Join(err, more)
}
