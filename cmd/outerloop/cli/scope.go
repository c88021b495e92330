package cli

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/project"
)

// scope is a project's directory in which only some loops and workers are to be
// found: those that a few loop files can have to do with. Everything else that
// they name is read as ever.
type scope struct {
	fs.FS
	loops, workers []string // files
}

// Glob finds the declarations in scope.
func (s scope) Glob(pattern string) ([]string, error) {
	switch pattern {
	case project.LoopDir + "/*" + project.LoopSuffix:
		return s.loops, nil
	case project.WorkerDir + "/*/" + project.CharterFile:
		return s.workers, nil
	}
	return fs.Glob(s.FS, pattern)
}

// narrow makes the scope of loop files: with every loop and worker whose name
// occurs in them or in what was found so. That may be more than is needed,
// never less. It is false where loops may be tied by events, which have names of
// their own: then the whole project is needed.
func narrow(root string, files []string) (scope, bool) {
	s := scope{FS: os.DirFS(root)}
	loops, err := fs.Glob(s.FS, project.LoopDir+"/*"+project.LoopSuffix)
	if err != nil {
		return s, false
	}
	workers, err := fs.Glob(s.FS, project.WorkerDir+"/*/"+project.CharterFile)
	if err != nil {
		return s, false
	}
	for waiting := slices.Clone(files); len(waiting) > 0; waiting = waiting[1:] {
		raw, err := fs.ReadFile(s.FS, waiting[0])
		text := string(raw)
		isLoop := strings.HasSuffix(waiting[0], project.LoopSuffix)
		if err != nil || isLoop && (strings.Contains(text, "emit") || strings.Contains(text, "event")) {
			return s, false
		}
		if isLoop {
			s.loops = append(s.loops, waiting[0])
		} else {
			s.workers = append(s.workers, waiting[0])
		}
		for _, file := range slices.Concat(loops, workers) {
			if strings.Contains(text, nameOf(file)) && !slices.Contains(waiting, file) && !slices.Contains(slices.Concat(s.loops, s.workers), file) {
				waiting = append(waiting, file)
			}
		}
	}
	slices.Sort(s.loops)
	slices.Sort(s.workers)
	return s, true
}

// nameOf is the name that a loop's or a charter's file stands for.
func nameOf(file string) string {
	if name, ok := strings.CutSuffix(path.Base(file), project.LoopSuffix); ok {
		return name
	}
	return path.Base(path.Dir(file))
}

// openFor opens the project for problems of the named paths: only what they can
// have to do with, where they are loop files without errors, else all of it.
func (a *app) openFor(paths []string) (opened, error) {
	root, err := a.needProject()
	if err != nil {
		return opened{}, err
	}
	var files []string
	for _, written := range paths {
		full, err := filepath.Abs(a.path(written))
		if err != nil || !strings.HasSuffix(written, project.LoopSuffix) {
			return a.openProject()
		}
		file, err := a.inside(root, full, written)
		if err != nil {
			return opened{}, err
		}
		if path.Dir(file) != project.LoopDir {
			return a.openProject()
		}
		files = append(files, file)
	}
	if s, ok := narrow(root, files); ok && len(files) > 0 {
		compileAhead(root, s.workers)
		if p, problems := project.Load(s); problems.Err() == nil {
			return opened{Project: p, root: root, problems: problems}, nil
		}
	}
	return a.openProject()
}
