package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// refuseLost refuses a state file that knows of nothing, since it is missing,
// empty or new, where a directory beside it already holds what connections
// wrote: the action log that says what was done is lost then, and everything
// would be done again. Nothing is created or changed.
func (a *app) refuseLost(ctx context.Context, cfg local.Config) error {
	at := slices.IndexFunc(writtenDirs(cfg), holdsFiles)
	if at < 0 {
		return nil
	}
	dir := writtenDirs(cfg)[at]
	r, err := local.OpenReader(ctx, cfg.State)
	if err == nil {
		known, knownErr := worked(ctx, r.Store())
		if err := errors.Join(knownErr, r.Close()); err != nil || known {
			return err
		}
	} else if !errors.Is(err, local.ErrNoState) {
		return nil // opening it for work says what is wrong
	}
	return &exit{
		code: ExitFailed,
		err: fmt.Errorf("the state file %s is new or empty, but %s already holds what was done: all of it would be done again; nothing was started",
			a.here(cfg.State), a.here(dir)),
		remedies: []string{
			"put a backup of the state file in its place (outerloop backup made it), or",
			fmt.Sprintf("to begin anew, move the directory away: mv %s %s", shellWord(a.here(dir)), shellWord(a.here(dir)+".old")),
		},
	}
}

// worked tells whether anything ever ran on a store: it has runs, actions, facts
// or the figures of days. Definitions and pauses alone are no work.
func worked(ctx context.Context, from store.Scanner) (bool, error) {
	const page = 100
	for after := (store.Key{}); ; {
		items, err := from.Scan(ctx, after, page)
		if err != nil || len(items) == 0 {
			return false, err
		}
		for _, item := range items {
			part, _, _ := strings.Cut(item.Key.Part, "#")
			if slices.Contains([]string{"ACT", "RUN", "FACT", "DAY"}, part) {
				return true, nil
			}
			after = item.Key
		}
	}
}

// writtenDirs are the directories beside the state file that workers' connections write to.
func writtenDirs(cfg local.Config) []string {
	var dirs []string
	for _, w := range cfg.Workers {
		for _, c := range w.Connections {
			dir := c.Settings["dir"]
			rel, err := filepath.Rel(filepath.Dir(cfg.State), dir)
			beside := dir != "" && err == nil && filepath.IsLocal(rel)
			source := c.Kind == kindFiles && c.Settings["url"] != "" // a directory of the project
			if beside && !source && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return dirs
}

// holdsFiles tells whether there is any file under a directory; drafts, whose
// names begin with a dot, do not count.
func holdsFiles(dir string) bool {
	found := errors.New("found")
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
			return found
		}
		return nil
	})
	return errors.Is(err, found)
}
