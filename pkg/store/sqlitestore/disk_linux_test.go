package sqlitestore_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

const limitVariable = "SQLITESTORE_TEST_FILE_LIMIT"

// limitFiles makes the system refuse to write beyond a size, as a full disk
// does, in the middle of a commit.
func limitFiles() {
	limit, err := strconv.ParseUint(os.Getenv(limitVariable), 10, 64)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		panic(err)
	}
}

// TestCommitFails: the disk refuses a commit. What was synced before stays,
// the error says what happened, and nothing is there that came after.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), victimVariable+"="+path, limitVariable+"=3000000")
	var said strings.Builder
	command.Stderr = &said
	printed, err := command.Output()
	if err == nil || !strings.Contains(said.String(), sqlitestore.ErrBroken.Error()) {
		t.Fatalf("the program ended with %v and said %q", err, said.String())
	}
	lines := strings.Fields(string(printed))
	synced, err := strconv.Atoi(lines[len(lines)-1])
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n, err := count(t.Context(), s); err != nil || n <= synced {
		t.Fatalf("%d writes are left, number %d was synced, %v", n, synced, err)
	}
	t.Logf("the program said: %s", said.String())
}
