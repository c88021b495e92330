package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/scaffold"
)

// initFlags are what a new project cannot know.
type initFlags struct{ module, replace string }

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a new project: a loop, a worker, the program, the CDK app",
		Long: `Writes a project that runs here and deploys as it stands: a loop with its compiled machine,
a worker with its charter, schemas, test and Lambda function, a program that has the worker
in it, and the CDK app. It replaces no file. The directory's name is the project's, with
which the names of everything that is deployed begin.

A program that was built from a checkout of outerloop names that checkout by --replace:
there is no published version of it that go.mod could name.`,
		Example: "  outerloop init orders\n  outerloop init orders --module example.com/acme/orders\n  outerloop init orders --replace ~/src/outerloop",
		Args:    one("a directory", "write: outerloop init DIR"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.init(args[0], f) },
	}
	cmd.Flags().StringVar(&f.module, "module", "", "the `PATH` of the project's Go module (default the directory's name)")
	cmd.Flags().StringVar(&f.replace, "replace", "", "a checkout of outerloop, `DIR`, to use in place of a published version")
	return cmd
}

func (a *app) init(name string, f initFlags) error {
	dir, err := filepath.Abs(a.path(name))
	if err != nil {
		return err
	}
	p := scaffold.Project{Name: filepath.Base(dir), Module: f.module, Go: goVersion(), Version: a.published()}
	switch {
	case f.replace != "":
		if p.Replace, err = filepath.Abs(a.path(f.replace)); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(p.Replace, "infra", "go.mod")); err != nil {
			return usage(fmt.Sprintf("%s is no checkout of outerloop", f.replace), "name the directory that holds its go.mod and infra/")
		}
		p.Version = "v0.0.0"
	case p.Version == "":
		return usage("this program was built from a checkout, of which no version is published", "name the checkout: outerloop init "+shellWord(name)+" --replace DIR")
	}
	written, err := scaffold.Write(dir, p)
	switch {
	case errors.Is(err, scaffold.ErrName), errors.Is(err, scaffold.ErrExists):
		return usage(err.Error(), "name another directory")
	case err != nil:
		return err
	}
	machine, err := a.compileNew(dir)
	if err != nil {
		return err
	}
	return a.printNew(newProject{ID: p.Name, Dir: dir, Files: append(written, machine)})
}

// compileNew compiles the loop of a project that was just written.
func (a *app) compileNew(dir string) (string, error) {
	there := *a
	there.project = dir
	p, err := there.openProject()
	if err != nil {
		return "", err
	}
	if err := p.problems.Err(); err != nil {
		return "", fmt.Errorf("what was written has errors: %w", err)
	}
	name := p.Names()[0]
	def, _ := p.Loop(name)
	content, err := compile.Compile(def)
	if err != nil {
		return "", err
	}
	path := p.machinePath(name)
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return "", err
	}
	return filepath.ToSlash(rel), writeWhole(path, content)
}

// newProject is `init -o json`.
type newProject struct {
	ID    string   `json:"id"`
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
}

func (a *app) printNew(p newProject) error {
	if a.asJSON() {
		return a.writeJSON(p)
	}
	for _, name := range p.Files {
		a.say("%s", filepath.Join(a.here(p.Dir), filepath.FromSlash(name)))
	}
	a.say("\ncd %s", shellWord(a.here(p.Dir)))
	a.say("go mod tidy")
	a.say("go run ./cmd/%s run overdue-orders", p.ID)
	return nil
}

// goVersion is the Go that built this program, as go.mod names it.
func goVersion() string {
	v := strings.TrimPrefix(runtime.Version(), "go")
	return cmp.Or(regexp.MustCompile(`^[0-9]+\.[0-9]+`).FindString(v), "1.26")
}

var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// published is the version of outerloop in this program that go.mod can name;
// empty: none, as in a program that was built from a checkout.
func (a *app) published() string {
	const module = "github.com/outerloop-dev/outerloop"
	info, ok := debug.ReadBuildInfo()
	if !ok || slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs.revision" }) && info.Main.Path == module {
		return ""
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == module && m.Replace == nil && release.MatchString(m.Version) && !strings.Contains(m.Version, "+dirty") {
			return m.Version
		}
	}
	return ""
}
