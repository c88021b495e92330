package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

const (
	limitVariable = "SQLITESTORE_TEST_FILE_LIMIT"
	crowdVariable = "SQLITESTORE_TEST_CROWD"
)

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

// crowd is sixteen callers that write until they are told that it is over.
func crowd(path string) {
	limitFiles()
	s, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		panic(err)
	}
	var all sync.WaitGroup
	for caller := range 16 {
		all.Go(func() {
			for n := 0; ; n++ {
				op := numbered(1000*caller + n)
				op.Item.Body = []byte(strings.Repeat("x", 5000))
				if err := s.Write(context.Background(), fmt.Sprint(caller, n), op); err != nil {
					fmt.Println(errors.Is(err, sqlitestore.ErrBroken), n)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestEveryWaiterIsTold: a commit that fails is told to all who wait for it,
// and what any of them was told is done stays.
func TestEveryWaiterIsTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), crowdVariable+"="+path, limitVariable+"=3000000")
	printed, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(printed)), "\n")
	told := 0
	for _, line := range lines {
		broken, n, _ := strings.Cut(line, " ")
		done, err := strconv.Atoi(n)
		if err != nil || broken != "true" {
			t.Fatalf("a caller was told %q", line)
		}
		told += done
	}
	s, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	page, err := s.List(t.Context(), store.Query{Part: "P", Limit: 1000})
	if err != nil || len(lines) != 16 || len(page.Items) < told || told == 0 {
		t.Fatalf("%d callers ended; %d writes were told to be done, %d are left, %v", len(lines), told, len(page.Items), err)
	}
}
