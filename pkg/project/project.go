// Package project reads a directory of loops, charters and the project file
// into checked definitions, and bundles of them back: one parser and one
// validator for files on disk and for what runs have pinned.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/internal/together"
	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// The places of a project's files, relative to its root.
const (
	// File is the project file; a directory that has one is a project's root.
	File = "outerloop.yaml"
	// LoopDir holds NAME.loop.yaml, and beside it what is compiled from it.
	LoopDir = "statemachines"
	// LoopSuffix ends the names of loop files.
	LoopSuffix = ".loop.yaml"
	// WorkerDir holds a directory for each worker.
	WorkerDir = "functions/workers"
	// CharterFile is a worker's charter in its directory.
	CharterFile = "charter.yaml"
	// ModelFile chooses one model for all agents, and for all workers of kind go
	// that a model may do (see registry.Project.Choose). It is not needed.
	ModelFile = "outerloop.model.yaml"
)

// ErrNoProject says that no directory above holds a project file.
var ErrNoProject = errors.New("no " + File + " here or in any directory above")

// Project is a checked directory.
type Project struct {
	// Registry is the project file.
	Registry *registry.Project
	// Loops are the loops that have no errors, by name.
	Loops map[string]*loop.Definition
	// Workers are the charters by name; those with errors may lack rules.
	Workers map[string]*loop.Worker
	// Paths are the files of loops by their name, right or wrong.
	Paths map[string]string

	fsys fs.FS
}

// FindRoot is the nearest directory, from dir upwards, that holds a project
// file. Errors: ErrNoProject.
func FindRoot(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the project of %s: %w", dir, err)
	}
	for at := absolute; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, File)); err == nil && !info.IsDir() {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%w (looked from %s upwards)", ErrNoProject, absolute)
		}
	}
}

// Open loads the project whose root is a directory.
func Open(root string) (*Project, problem.Problems) { return Load(os.DirFS(root)) }

// Load reads and checks everything in a file system rooted at a project. All
// problems are reported, sorted by place; the project holds what has no errors
// and is never nil.
func Load(fsys fs.FS) (*Project, problem.Problems) { return load(fsys, true) }

// load checks, whole, also what the project file names and no loop uses: a
// bundle does not hold that.
func load(fsys fs.FS, whole bool) (*Project, problem.Problems) {
	l := newLoader(fsys)
	known := l.registry()
	if known && whole {
		l.problems = append(l.problems, loop.CheckRegistry(l.project.Registry, l.files)...)
	}
	l.charters(known)
	l.loops()
	if known { // else every name of the project file would be reported as unknown
		l.check()
	}
	maps.DeleteFunc(l.project.Loops, func(_ string, d *loop.Definition) bool { return d == nil })
	return l.project, l.problems.Sorted()
}

// Loop finds a loop's definition.
func (p *Project) Loop(name string) (*loop.Definition, bool) {
	d, ok := p.Loops[name]
	return d, ok
}

// Names are the names of all loops without errors, sorted.
func (p *Project) Names() []string {
	names := make([]string, 0, len(p.Loops))
	for name := range p.Loops {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

type loader struct {
	project  *Project
	files    *loop.Files
	read     map[string]*loop.Loop
	problems problem.Problems
}

func newLoader(fsys fs.FS) *loader {
	return &loader{
		project: &Project{
			Registry: &registry.Project{Confidence: registry.DefaultConfidence()}, Loops: map[string]*loop.Definition{},
			Workers: map[string]*loop.Worker{}, Paths: map[string]string{}, fsys: fsys,
		},
		files: loop.NewFiles(fsys), read: map[string]*loop.Loop{},
	}
}

func (l *loader) whole(path, code, message string) {
	l.problems = append(l.problems, problem.Problem{Code: code, Rule: problem.Title(code), Path: path, Message: message})
}

func (l *loader) bytes(path string) ([]byte, bool) {
	raw, err := source.ReadFile(l.project.fsys, path, source.MaxBytes)
	if err != nil {
		l.unreadable(path, err)
		return nil, false
	}
	return raw, true
}

func (l *loader) unreadable(path string, err error) {
	l.whole(path, "E127", "The file cannot be read: "+err.Error()+".")
}

// registry reads the project file; false when nothing of it is known.
func (l *loader) registry() bool {
	raw, err := source.ReadFile(l.project.fsys, File, source.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		l.whole(File, "E130", "A project has a file outerloop.yaml at its root. `outerloop init DIR` makes one.")
		return false
	}
	if err != nil {
		l.whole(File, "E127", "The file cannot be read: "+err.Error()+".")
		return false
	}
	read, ps := registry.Read(File, raw)
	l.problems = append(l.problems, ps...)
	if read != nil {
		l.project.Registry = read
		l.chosen()
	}
	return read != nil
}

// chosen reads the choice of a model, if there is one.
func (l *loader) chosen() {
	raw, err := fs.ReadFile(l.project.fsys, ModelFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		l.whole(ModelFile, "E127", "The file cannot be read: "+err.Error()+".")
	default:
		l.problems = append(l.problems, l.project.Registry.Choose(ModelFile, raw)...)
	}
}

func (l *loader) around() loop.Surroundings {
	return loop.Surroundings{Project: l.project.Registry, Workers: l.project.Workers, Loops: l.project.Loops, Files: l.files}
}

func (l *loader) charters(check bool) {
	found, _ := fs.Glob(l.project.fsys, WorkerDir+"/*/"+CharterFile)
	broken := false
	for _, file := range found {
		raw, ok := l.bytes(file)
		if !ok {
			continue
		}
		c, ps := charter.Read(file, raw)
		l.problems = append(l.problems, ps...)
		folder := path.Base(path.Dir(file))
		if c == nil {
			l.project.Workers[folder] = nil
			continue
		}
		if l.project.Registry.Asks(c) {
			c.Ask(l.project.Registry.Chosen)
		}
		if c.Worker != "" && c.Worker != folder {
			l.problems = append(l.problems, c.Source.Find("worker").Problem("E131", fmt.Sprintf("The charter of %q stands in the folder %q. Give both the same name.", c.Worker, folder)))
			broken = true
		}
		if !check {
			continue
		}
		w, ps := loop.CheckWorker(c, l.around())
		l.problems = append(l.problems, ps...)
		l.project.Workers[folder] = w
	}
	if !broken && check {
		l.problems = append(l.problems, loop.CheckCalls(l.project.Workers)...)
	}
}

// loops reads the loops' files side by side.
func (l *loader) loops() {
	found, _ := fs.Glob(l.project.fsys, LoopDir+"/*"+LoopSuffix)
	type result struct {
		loop     *loop.Loop
		problems problem.Problems
		err      error
	}
	results := make([]result, len(found))
	together.Do(len(found), func(i int) {
		raw, err := source.ReadFile(l.project.fsys, found[i], source.MaxBytes)
		if results[i].err = err; err == nil {
			results[i].loop, results[i].problems = loop.Read(found[i], raw)
		}
	})
	for i, file := range found {
		read := results[i].loop
		if err := results[i].err; err != nil {
			l.unreadable(file, err)
			continue
		}
		l.problems = append(l.problems, results[i].problems...)
		name := strings.TrimSuffix(path.Base(file), LoopSuffix)
		l.project.Paths[name] = file
		l.project.Loops[name] = nil // until it is found right
		if read == nil {
			continue
		}
		if read.Name != "" && read.Name != name {
			l.problems = append(l.problems, read.Source.Find("loop").Problem("E131", fmt.Sprintf("The loop %q stands in the file %s. Give both the same name.", read.Name, path.Base(file))))
		}
		l.read[name] = read
	}
}

// check checks the loops, called ones before their callers, and side by side
// those that do not call each other.
func (l *loader) check() {
	broken := l.withErrors()
	for _, wave := range l.waves() {
		checked := make([]*loop.Definition, len(wave))
		problems := make([]problem.Problems, len(wave))
		together.Do(len(wave), func(i int) {
			checked[i], problems[i] = loop.Check(l.read[wave[i]], l.around())
		})
		for i, name := range wave {
			wrong := broken[l.project.Paths[name]] || broken[File]
			ps := relevant(problems[i], wrong)
			l.problems = append(l.problems, ps...)
			if checked[i] != nil && !wrong && ps.Errors() == 0 {
				l.project.Loops[name] = checked[i]
			}
		}
	}
	l.circles()
}

// relevant leaves out warnings of a file that could not be read whole: what
// is missing in it makes the rest look unused.
func relevant(ps problem.Problems, wrong bool) problem.Problems {
	if !wrong {
		return ps
	}
	return slices.DeleteFunc(ps, problem.Problem.Warning)
}

// withErrors are the paths of the files that have errors so far.
func (l *loader) withErrors() map[string]bool {
	out := map[string]bool{}
	for _, p := range l.problems {
		if !p.Warning() {
			out[p.Path] = true
		}
	}
	return out
}
