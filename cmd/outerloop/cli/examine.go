package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
	"github.com/outerloop-dev/outerloop/pkg/transfer"
)

// examineProgram says which program looks.
func (a *app) examineProgram() finding {
	v := a.versionView()
	return finding{ID: "program", OK: true, Detail: fmt.Sprintf("outerloop %s (%s, %s)", v.Version, v.Go, v.System)}
}

// examineState reads the whole state file.
func (a *app) examineState(ctx context.Context) []finding {
	file := a.stateFile()
	state := finding{ID: "state", OK: true, Detail: "no state file yet: " + a.here(file)}
	var seal *transfer.Seal
	var size sqlitestore.Size
	var broken []coordinator.BreakerView
	err := a.readingFile(ctx, func(r *local.Reader) (err error) {
		if size, err = r.Store().Size(ctx); err != nil {
			return err
		}
		if seal, err = transfer.Sealed(ctx, r.Store()); err != nil {
			return err
		}
		if broken, err = r.Coordinator().Breakers(ctx); err != nil {
			return err
		}
		state.Detail = fmt.Sprintf("%s: %s, whole", a.here(file), bytesText(size.File+size.Log))
		if size.Free > size.File/4 && size.Free > 16<<20 {
			state.Detail += fmt.Sprintf("; %s are free: outerloop prune gives them back", bytesText(size.Free))
		}
		return r.Store().Check(ctx)
	})
	if err != nil && !errors.Is(err, local.ErrNoState) {
		state = finding{ID: "state", Detail: err.Error(), Remedy: stateRemedy(err)}
	}
	list := []finding{state}
	if seal != nil {
		list = append(list, finding{
			ID: "moved", Detail: fmt.Sprintf("it was moved to %s at %s; nothing moves here", seal.To, seal.At.Format("2006-01-02 15:04 MST")),
			Remedy: "work where that file was imported, or: outerloop export --take-back",
		})
	}
	list = append(list, examineBreakers(broken)...)
	return append(list, a.examineOwner(), examineDirectory(file), examineDisk(filepath.Dir(file), size.File))
}

// examineBreakers names the workers that are let alone since they failed again and again (R31).
func examineBreakers(all []coordinator.BreakerView) []finding {
	var list []finding
	for _, b := range all {
		if b.OpenedAt == nil {
			continue
		}
		list = append(list, finding{
			ID: "breaker " + b.Worker, Remedy: "put the worker right; the next attempt then closes its breaker by itself",
			Detail: fmt.Sprintf("%s since %s, %d failures in a row, the last: %s; the next attempt from %s",
				b.State, b.OpenedAt.Format("2006-01-02 15:04 MST"), b.Fails, b.Cause, b.Until.Format("15:04:05 MST")),
		})
	}
	return list
}

func stateRemedy(err error) string {
	if remedy := storeRemedy(err); remedy != "" {
		return remedy
	}
	return backupRemedy
}

// examineOwner says which process works on the state file.
func (a *app) examineOwner() finding {
	f := finding{ID: "owner", OK: true, Detail: "no process works on the state file"}
	owner, err := local.OwnerOf(a.stateFile())
	switch {
	case err != nil:
		return finding{ID: "owner", Detail: err.Error(), Remedy: "make the directory writable"}
	case owner == nil:
	case owner.PID == 0:
		f.Detail = "a process is just taking over the state file"
	default:
		f.Detail = fmt.Sprintf("process %d works on it since %s", owner.PID, owner.Since.UTC().Format("2006-01-02 15:04 MST"))
		if _, err := os.Stat(owner.Socket); err != nil {
			f.OK, f.Detail = false, f.Detail+", but cannot be asked for anything"
			f.Remedy = "stop that process and start it again"
		}
	}
	return f
}

// spaceWanted is free space below which a full disk is near: what a backup or a
// migration of the file takes, and this at least.
const spaceWanted = 256 << 20

// examineDisk looks at the volume of the nearest directory that exists.
func examineDisk(dir string, file int64) finding {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, known := freeSpace(dir)
	f := finding{ID: "disk", OK: true, Detail: "free space is not known on this system"}
	if !known {
		return f
	}
	f.Detail = bytesText(free) + " free"
	if wanted := max(file, spaceWanted); free < wanted {
		f.OK, f.Detail = false, fmt.Sprintf("%s free, %s should be", bytesText(free), bytesText(wanted))
		f.Remedy = "make room; outerloop prune shrinks the state file"
	}
	return f
}
