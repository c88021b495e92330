package crashtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

var (
	kills = flag.Int("kills", 20, "how often each test kills the program")
	seed  = flag.Uint64("seed", 0, "the random moments of the kills; 0: new ones")
)

// killsPerRun keeps below the crashes that a step survives (three): a step that
// dies in the same place again and again is the machine's, not the test's, fault.
const killsPerRun = 3

// killsInARound bounds the projects that stand side by side on the disk.
const killsInARound = 60

// TestKill kills the program with SIGKILL at random moments after its first
// write, and starts it again by the same command until it ends: the final store
// and the outbox are those of an undisturbed run (R37, R46).
func TestKill(t *testing.T) {
	p := newProgram(t, "./cmd/outerloop")
	p.loop, p.parts = "crm-followup", map[string]string{".": root}
	p.script = func(_ *program, do command) {
		do(waitingForPeople, "run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30")
	}
	p.test()
}

// TestKillFanOut does the same with a loop whose branches fail and are tried
// again, and whose mails people approve.
func TestKillFanOut(t *testing.T) {
	p := newProgram(t, "./internal/crashtest/program")
	p.loop = "fan-out"
	p.parts = map[string]string{".": "testdata/project", "functions/workers/mailer": filepath.Join(root, "functions/workers/mailer")}
	p.script = func(p *program, do command) {
		do(done, "compile")
		do(waitingForPeople, "run", "fan-out", "--input", "input.json", "--as-of", "2026-11-30")
		var asked []struct{ ID string }
		p.ok(json.Unmarshal([]byte(do(done, "approvals", "-o", "json")), &asked))
		for _, a := range asked {
			// A decision that was recorded before the kill is final: 1.
			do(done, "approve", a.ID, "--by", "me@example.com", "--reason", "it is right")
		}
		do(done, "run", "fan-out", "--input", "input.json", "--as-of", "2026-11-30")
	}
	p.test()
}

// Exit codes of the program.
const (
	done             = 0
	late             = 1
	waitingForPeople = 3
)

// command runs the program until it ends by itself, with the exit code that is
// wanted, and gives what it printed. A decision that an earlier try recorded
// may answer that it was late.
type command func(code int, args ...string) (printed string)

// program is the program under test.
type program struct {
	*testing.T
	binary string
	loop   string
	// parts are the directories of the project, by where they are copied to.
	parts  map[string]string
	script func(p *program, do command)
	rng    *rand.Rand
	length time.Duration
	// mails is how many an undisturbed run sends.
	mails  int
	kills  int
	killed int
	inside int
	// begun are the actions that an earlier kill had interrupted.
	begun map[string]bool
}

func newProgram(t *testing.T, source string) *program {
	t.Helper()
	if testing.Short() {
		t.Skip("kills take a while")
	}
	number := *seed
	if number == 0 {
		number = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", number)
	return &program{T: t, kills: *kills, binary: build(t, source), rng: rand.New(rand.NewPCG(number, 0)), begun: map[string]bool{}}
}

// test compares runs that are killed with one that is not.
func (p *program) test() {
	p.Helper()
	calm := p.project()
	began := time.Now()
	p.script(p, p.calmly(calm))
	p.length = time.Since(began)
	want := p.outcome(calm)
	if len(want.Mails) == 0 || len(want.Actions) != len(want.Mails) {
		p.Fatalf("the undisturbed run sent %d mails by %d actions", len(want.Mails), len(want.Actions))
	}
	p.mails = len(want.Mails)
	for round := 1; p.killed < p.kills && !p.Failed(); round++ {
		p.Run(fmt.Sprint("round ", round), func(t *testing.T) { p.round(t, want) })
	}
	p.Logf("%d kills, %d of them between begin and settle of an action; undisturbed it takes %s", p.killed, p.inside, p.length)
	if p.inside == 0 {
		p.Error("no kill fell between begin and settle: the test proves nothing about actions")
	}
}

// round kills as many projects at once as the test may have in parallel (-parallel).
func (p *program) round(t *testing.T, want outcome) {
	var mu sync.Mutex
	for left := min(p.kills-p.killed, killsInARound); left > 0; left -= killsPerRun {
		one := *p
		one.rng, one.begun, one.killed, one.inside = rand.New(rand.NewPCG(p.rng.Uint64(), 0)), map[string]bool{}, 0, 0
		t.Run("", func(t *testing.T) {
			t.Parallel()
			one.T = t
			dir := one.project()
			one.script(&one, one.killing(dir, min(killsPerRun, left)))
			if diff := cmp.Diff(want, one.outcome(dir)); diff != "" {
				t.Fatalf("after %d kills (undisturbed -, killed +):\n%s", one.killed, diff)
			}
			mu.Lock()
			defer mu.Unlock()
			p.killed, p.inside = p.killed+one.killed, p.inside+one.inside
		})
	}
}

// calmly lets every command come to its end.
func (p *program) calmly(dir string) command {
	return func(code int, args ...string) string {
		p.Helper()
		try := p.try(dir, args, nil)
		p.want(try, code, args)
		return try.out.String()
	}
}

// killing kills commands, so many times in all, and repeats them.
func (p *program) killing(dir string, budget int) command {
	return func(code int, args ...string) string {
		p.Helper()
		killed := false
		for {
			var moment func(<-chan struct{}) bool
			if budget > 0 && (args[0] == "run" || args[0] == "approve") {
				moment = p.moment(dir)
			}
			try := p.try(dir, args, moment)
			if !try.killed {
				if !killed || args[0] != "approve" || try.code != late {
					p.want(try, code, args)
				}
				return try.out.String()
			}
			killed = true
			budget--
			p.killed++
			if p.interrupted(dir) {
				p.inside++
			}
		}
	}
}

func (p *program) want(try *try, code int, args []string) {
	p.Helper()
	if try.code != code {
		p.Fatalf("%s ended with %d, want %d:\n%s%s", args, try.code, code, &try.out, &try.err)
	}
}

func build(t *testing.T, source string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "outerloop")
	cmd := exec.Command("go", "build", "-o", binary, source)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	return binary
}

const root = "../.."

// project is a fresh copy of the project, without any state.
func (p *program) project() string {
	p.Helper()
	dir := p.TempDir()
	for _, to := range slices.Sorted(maps.Keys(p.parts)) {
		from := p.parts[to]
		if to != "." {
			p.ok(os.CopyFS(filepath.Join(dir, to), os.DirFS(from)))
			continue
		}
		for _, part := range []string{"outerloop.yaml", "input.json", "statemachines", "functions/workers", "exports"} {
			p.copy(filepath.Join(from, part), filepath.Join(dir, part))
		}
	}
	return dir
}

// copy copies a file or a directory, if there is one.
func (p *program) copy(from, to string) {
	p.Helper()
	info, err := os.Stat(from)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	p.ok(err)
	p.ok(os.MkdirAll(filepath.Dir(to), 0o755))
	if info.IsDir() {
		p.ok(os.CopyFS(to, os.DirFS(from)))
		return
	}
	content, err := os.ReadFile(from)
	p.ok(err)
	p.ok(os.WriteFile(to, content, 0o644))
}

func (p *program) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// try is one start of the program.
type try struct {
	out, err strings.Builder
	killed   bool
	code     int
}

// try starts the program and, at a moment, kills it; nil: never. When it ended
// before or in that moment, it was not killed.
func (p *program) try(dir string, args []string, moment func(ended <-chan struct{}) bool) *try {
	p.Helper()
	t := &try{}
	cmd := exec.Command(p.binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &t.out, &t.err
	p.ok(cmd.Start())
	ended := make(chan struct{})
	var err error
	go func() {
		err = cmd.Wait()
		close(ended)
	}()
	if moment != nil && moment(ended) {
		if err := cmd.Process.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
			p.ok(err)
		}
	}
	<-ended
	if strings.Contains(t.err.String(), "panic:") {
		p.Fatalf("the program panicked:\n%s", &t.err)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.code = exit.ExitCode()
		t.killed = exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		return t
	}
	p.ok(err)
	return t
}

// moment picks when to kill: anywhere in the run, or, every other time, while
// mails are written. It waits for that and answers whether the program still ran.
func (p *program) moment(dir string) func(ended <-chan struct{}) bool {
	have := len(mails(dir))
	if left := p.mails - have; left > 0 && p.rng.IntN(2) == 0 {
		wanted := have + 1 + p.rng.IntN(min(left, 12))
		return func(ended <-chan struct{}) bool {
			return p.until(ended, func() bool { return len(mails(dir)) >= wanted })
		}
	}
	after := time.Duration(p.rng.Int64N(int64(p.length)))
	return func(ended <-chan struct{}) bool {
		if !p.until(ended, func() bool { return written(dir) }) {
			return false
		}
		select {
		case <-time.After(after):
			return true
		case <-ended:
			return false
		}
	}
}

// until looks again and again; false when the program ended before.
func (p *program) until(ended <-chan struct{}, happened func() bool) bool {
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-tick.C:
		case <-ended:
			return false
		}
	}
	return true
}

func state(dir string) string { return filepath.Join(dir, local.DefaultState) }

// written tells whether anything was written to the state file.
func written(dir string) bool {
	info, err := os.Stat(state(dir) + "-wal")
	return err == nil && info.Size() > 0
}

func outbox(dir string) string { return filepath.Join(filepath.Dir(state(dir)), "outbox") }

// mails are the names of the mails in the outbox.
func mails(dir string) []string {
	found, err := filepath.Glob(filepath.Join(outbox(dir), "*.eml"))
	if err != nil {
		return nil // the pattern is right
	}
	return found
}

// interrupted tells whether the kill came between begin and settle of an
// action: it is executing, and was not before.
func (p *program) interrupted(dir string) (found bool) {
	p.Helper()
	r, err := local.OpenReader(p.Context(), state(dir))
	if errors.Is(err, local.ErrNoState) {
		return false
	}
	p.ok(err)
	defer r.Close()
	page, err := r.Store().List(p.Context(), store.Query{Index: store.ByList, Part: record.ActionListPart(p.loop), Limit: 1000})
	p.ok(err)
	for _, item := range page.Items {
		a, err := record.DecodeAction(&item)
		p.ok(err)
		begun := fmt.Sprintf("%s %s %d", dir, a.Entry, a.Fence)
		if a.State == record.ActionExecuting && !p.begun[begun] {
			p.begun[begun], found = true, true
		}
	}
	return found
}
