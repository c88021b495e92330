package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

// Every error of the store comes with what to do, a full disk also with the word
// that nothing is lost; a directory that cannot be written needs no backup.
func TestStoreErrorsHaveRemedies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w: COMMIT: %w", sqlitestore.ErrBroken, sqlitestore.ErrFull), "nothing that was recorded is lost: make room"},
		{store.ErrReadOnly, "make the state file and its directory writable"},
		{store.ErrCorrupt, "put a backup in its place"},
		{&sqlitestore.ForeignLogError{Log: "a b/state.db-wal"}, "mv 'a b/state.db-wal' 'a b/state.db-wal.old'"},
		{sqlitestore.ErrNewer, "use the program that wrote it"},
		{&coordinator.OverlapError{Loop: "l", Open: "l-1"}, "outerloop approvals l-1"},
	} {
		got := remediesOf(fmt.Errorf("running: %w", c.err))
		if !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%v: remedies %q, want %q", c.err, got, c.want)
		}
	}
	if got := stateRemedy(store.ErrReadOnly); strings.Contains(got, "backup") {
		t.Errorf("a read-only directory: %s", got)
	}
}

// An error that follows from another is told once.
func TestErrorsAreToldOnce(t *testing.T) {
	t.Parallel()
	full := fmt.Errorf("%w: COMMIT: %w", sqlitestore.ErrBroken, sqlitestore.ErrFull)
	joined := errors.Join(fmt.Errorf("an earlier write failed: %w", full), full)
	if got := once(joined.Error()); got != "an earlier write failed: "+full.Error() {
		t.Errorf("printed %q", got)
	}
	if got := once(errors.Join(full, fmt.Errorf("closing: %w", full)).Error()); strings.Contains(got, "\n") {
		t.Errorf("printed %q", got)
	}
	if got := once("one\n\ntwo"); got != "one\n\ntwo" {
		t.Errorf("different lines became %q", got)
	}
	if err := also(full, fmt.Errorf("closing: %w", sqlitestore.ErrFull)); err != full { //nolint:errorlint // the very same
		t.Errorf("the full disk is told twice: %v", err)
	}
	if err := also(nil, full); !errors.Is(err, full) {
		t.Errorf("closing's own error is lost: %v", err)
	}
}

// Whatever Ctrl-C broke off is exit 1 with a word of comfort; an error of its
// own stays what it is.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	stop()
	err := interrupted(ctx, fmt.Errorf("opening: %w", ctx.Err()))
	if exitCode(err) != ExitFailed || err.Error() != "stopped; nothing is lost" || len(remediesOf(err)) == 0 {
		t.Errorf("exit %d: %v", exitCode(err), err)
	}
	if err := interrupted(ctx, usage("wrong")); exitCode(err) != ExitUsage {
		t.Errorf("a usage error became %v", err)
	}
}

// Ids are cut to what tells them apart, and to eight characters at least.
func TestShortID(t *testing.T) {
	t.Parallel()
	all := []string{"crm-follow-0123456789ab", "crm-follow-0123456799ab", "crm-follow-ff"}
	for id, want := range map[string]string{all[0]: "crm-follow-012345678", all[1]: "crm-follow-012345679", all[2]: all[2]} {
		if got := shortID(id, all); got != want {
			t.Errorf("%s became %s, want %s", id, got, want)
		}
	}
}
