package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

const victimVariable = "SQLITESTORE_TEST_VICTIM"

// TestMain lets the test binary be the program that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv(victimVariable); path != "" {
		limitFiles()
		fmt.Fprintln(os.Stderr, victim(path))
		os.Exit(1)
	}
	if path := os.Getenv(crowdVariable); path != "" {
		crowd(path)
		return
	}
	os.Exit(m.Run())
}

// victim writes numbers in order for as long as it lives and prints each that
// is durable. Bodies of all sizes let the log be moved into the file often.
func victim(path string) error {
	ctx := context.Background()
	s, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		return err
	}
	n, err := count(ctx, s)
	if err != nil {
		return err
	}
	for ; ; n++ {
		op := numbered(n)
		op.Item.Body = []byte(strings.Repeat("x", n%37*1000))
		if err := s.Apply(ctx, strconv.Itoa(n), op); err != nil {
			return err
		}
		if n%5 == 0 {
			if err := s.Sync(ctx); err != nil {
				return err
			}
			fmt.Println(n)
		}
	}
}

// count demands that the first so many numbers stand there and no other.
func count(ctx context.Context, s *sqlitestore.Store) (int, error) {
	n := 0
	for q := (store.Query{Part: "P", Limit: 500}); ; {
		page, err := s.List(ctx, q)
		if err != nil {
			return n, err
		}
		for _, item := range page.Items {
			if want := numbered(n).Item.Sort; item.Sort != want || len(item.Body) != n%37*1000 {
				return n, fmt.Errorf("write %s is missing or incomplete, %s is there", want, item.Sort)
			}
			n++
		}
		if q.After = page.Next; q.After == "" {
			return n, nil
		}
	}
}

// TestKill: after a kill at any moment everything synced is there, and nothing
// that came after something missing.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	written := 0
	for kill := range 20 {
		synced := runAndKill(t, path, rand.IntN(150))
		s, err := sqlitestore.Open(path, sqlitestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n, err := count(t.Context(), s)
		if err != nil || n <= synced {
			t.Fatalf("kill %d: %d writes are left, number %d was synced, %v", kill, n, synced, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		written = n
	}
	t.Logf("20 kills, %d writes", written)
}

// runAndKill lets the victim sync so many times and kills it at once.
func runAndKill(t *testing.T, path string, syncs int) (last int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), victimVariable+"="+path)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	last = -1
	for i := 0; ; i++ {
		if i == syncs {
			_ = command.Process.Kill() // it is waited for below
		}
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if last, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
			t.Fatal(err)
		}
	}
	_ = command.Wait() // killed
	return last
}
