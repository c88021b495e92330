package crashtest

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

var (
	kills = flag.Int("kills", 20, "how often TestKill kills the program")
	seed  = flag.Uint64("seed", 0, "the random moments of TestKill; 0: new ones")
)

// killsPerRun keeps below the crashes that a step survives (three): a step that
// dies in the same place again and again is the machine's, not the test's, fault.
const killsPerRun = 3

// TestKill kills the program with SIGKILL at random moments after its first
// write, and starts it again by the same command until it ends: the final store
// and the outbox are those of an undisturbed run (R37, R46).
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills take a while")
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	p := &program{T: t, binary: build(t), rng: rand.New(rand.NewPCG(*seed, 0)), begun: map[string]bool{}}
	calm := p.project()
	began := time.Now()
	p.finish(calm)
	p.length = time.Since(began)
	want := p.outcome(calm)
	if len(want.Mails) == 0 || len(want.Actions) != len(want.Mails) {
		t.Fatalf("the undisturbed run sent %d mails by %d actions", len(want.Mails), len(want.Actions))
	}
	for p.killed < *kills {
		dir := p.project()
		for range min(killsPerRun, *kills-p.killed) {
			if !p.kill(dir) {
				break
			}
		}
		p.finish(dir)
		if diff := cmp.Diff(want, p.outcome(dir)); diff != "" {
			t.Fatalf("after %d kills (undisturbed -, killed +):\n%s", p.killed, diff)
		}
	}
	t.Logf("%d kills, %d of them between begin and settle of an action; an undisturbed run takes %s", p.killed, p.inside, p.length)
	if p.inside == 0 {
		t.Error("no kill fell between begin and settle: the test proves nothing about actions")
	}
}

// program is the program under test.
type program struct {
	*testing.T
	binary string
	rng    *rand.Rand
	length time.Duration
	killed int
	inside int
	// begun are the actions that an earlier kill had interrupted.
	begun map[string]bool
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "outerloop")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/outerloop")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	return binary
}

const root = "../.."

// project is a fresh copy of the sample project, without any state.
func (p *program) project() string {
	p.Helper()
	dir := p.TempDir()
	for _, part := range []string{"outerloop.yaml", "statemachines", "functions/workers", "exports"} {
		from := filepath.Join(root, part)
		info, err := os.Stat(from)
		p.ok(err)
		to := filepath.Join(dir, part)
		p.ok(os.MkdirAll(filepath.Dir(to), 0o755))
		if info.IsDir() {
			p.ok(os.CopyFS(to, os.DirFS(from)))
			continue
		}
		content, err := os.ReadFile(from)
		p.ok(err)
		p.ok(os.WriteFile(to, content, 0o644))
	}
	return dir
}

func (p *program) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *program) command(dir string) (*exec.Cmd, *strings.Builder) {
	cmd := exec.Command(p.binary, "run", "crm-followup", "--input", "exports/crm.csv", "--as-of", "2026-11-30")
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	return cmd, &said
}

// waitingForPeople is the exit code of a run that waits for a person.
const waitingForPeople = 3

// finish lets the command come to its end.
func (p *program) finish(dir string) {
	p.Helper()
	cmd, said := p.command(dir)
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != waitingForPeople {
		p.Fatalf("the run ended with %v:\n%s", err, said)
	}
}

// kill starts the command and kills it; false: it had come to its end before.
func (p *program) kill(dir string) bool {
	p.Helper()
	cmd, said := p.command(dir)
	moment := p.moment(dir)
	p.ok(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if !moment(ended) {
		return false
	}
	err := cmd.Process.Signal(syscall.SIGKILL)
	if errors.Is(err, os.ErrProcessDone) {
		return false
	}
	p.ok(err)
	var exit *exec.ExitError
	if err := <-ended; !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		return false // it ended in the same moment
	}
	if strings.Contains(said.String(), "panic") {
		p.Fatalf("the program panicked:\n%s", said)
	}
	p.killed++
	if p.interrupted(dir) {
		p.inside++
	}
	return true
}

// moment picks when to kill: anywhere in the run, or, every other time, while
// mails are written. It waits for that and answers whether the program still ran.
func (p *program) moment(dir string) func(ended <-chan error) bool {
	if p.rng.IntN(2) == 0 {
		have := len(mails(dir))
		more := 1 + p.rng.IntN(12)
		return func(ended <-chan error) bool {
			return p.until(ended, func() bool { return len(mails(dir)) >= have+more })
		}
	}
	after := time.Duration(p.rng.Int64N(int64(p.length)))
	return func(ended <-chan error) bool {
		if !p.until(ended, func() bool { return written(dir) }) {
			return false
		}
		select {
		case <-time.After(after):
			return true
		case <-ended: //nolint:errcheck // how it ended is for the next start to show
			return false
		}
	}
}

// until looks again and again; false when the program ended before.
func (p *program) until(ended <-chan error, happened func() bool) bool {
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-tick.C:
		case <-ended: //nolint:errcheck // how it ended is for the next start to show
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
	page, err := r.Store().List(p.Context(), store.Query{Index: store.ByList, Part: record.ActionListPart("crm-followup"), Limit: 1000})
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

// outcome is what must not depend on any crash.
type outcome struct {
	Runs      []string
	Steps     []string
	Actions   []string
	Approvals []string
	Mails     map[string]string
}

func (p *program) outcome(dir string) outcome {
	p.Helper()
	r, err := local.OpenReader(p.Context(), state(dir))
	p.ok(err)
	defer r.Close()
	out := outcome{Mails: map[string]string{}}
	runs, err := r.Coordinator().Runs(p.Context(), coordinator.RunsQuery{})
	p.ok(err)
	for _, run := range runs {
		out.Runs = append(out.Runs, line(run.ID, string(run.Status), run.Reason))
		shown, err := r.Coordinator().Show(p.Context(), run.ID)
		p.ok(err)
		for _, s := range shown.Steps {
			out.Steps = append(out.Steps, line(s.Path, s.Worker, string(s.Status), string(s.Outcome), s.Reason))
		}
	}
	actions, err := r.Coordinator().Actions(p.Context(), coordinator.ActionsQuery{})
	p.ok(err)
	for _, a := range actions {
		out.Actions = append(out.Actions, line(a.ID, a.State, a.ProviderKey, a.PayloadHash, string(a.Result), a.Step))
	}
	approvals, err := r.Coordinator().Approvals(p.Context(), coordinator.ApprovalsQuery{})
	p.ok(err)
	for _, a := range approvals {
		out.Approvals = append(out.Approvals, line(a.ID, a.Step, a.Ask, string(a.Content)))
	}
	for _, name := range mails(dir) {
		content, err := os.ReadFile(name)
		p.ok(err)
		out.Mails[filepath.Base(name)] = string(content)
	}
	return sorted(out)
}

func line(fields ...string) string { return strings.Join(fields, " | ") }
