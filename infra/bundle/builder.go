package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Arch is a processor as Go names it.
type Arch string

// The processors that Lambda has.
const (
	ARM64 Arch = "arm64"
	AMD64 Arch = "amd64"
)

// Errors of Build, for errors.Is.
var (
	// ErrNoPackage says that a function has no code to build.
	ErrNoPackage = errors.New("there is no such Go package")
	// ErrTooLarge says that a zip is over Builder.Largest.
	ErrTooLarge = errors.New("the function's zip is too large")
)

// mega is a megabyte as Lambda counts them, most what it takes of a zip.
const (
	mega = 1 << 20
	most = 50
)

// Builder builds functions. Root, Out and Arch are required.
type Builder struct {
	// Root is a directory in the Go module that holds the functions, or requires them.
	Root string
	// Out is where binaries and zips go: Out/ARCH/PACKAGE/bootstrap and
	// Out/ARCH/PACKAGE.zip, PACKAGE from behind "functions/" with slashes as hyphens.
	Out  string
	Arch Arch
	// Largest bounds each zip, in MB of 1,048,576 bytes: a large one starts
	// slowly. 0: Lambda's own 50.
	Largest int
	// Log gets a line for each zip that changed; nil: nothing.
	Log io.Writer
}

// Build builds packages ("./functions/workers/crm-scan/lambda", or an import
// path) and answers the path of each one's zip. Packages named twice are built
// once. A zip whose content did not change is left as it is. Errors:
// ErrNoPackage, ErrTooLarge; else what the Go tool said.
func (b Builder) Build(ctx context.Context, packages ...string) (map[string]string, error) {
	packages = slices.Compact(slices.Sorted(slices.Values(packages)))
	if err := b.check(ctx, packages); err != nil {
		return nil, err
	}
	jobs := make(chan string)
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		zips   = make(map[string]string, len(packages))
		failed []error
	)
	for range max(1, runtime.NumCPU()) { // each waits for its linker most of the time
		wait.Go(func() {
			for name := range jobs {
				zip, err := b.one(ctx, name)
				mu.Lock()
				if zips[name] = zip; err != nil {
					failed = append(failed, fmt.Errorf("building %s: %w", name, err))
				}
				mu.Unlock()
			}
		})
	}
	for _, name := range packages {
		jobs <- name
	}
	close(jobs)
	wait.Wait()
	return zips, errors.Join(failed...)
}

// check finds packages that do not exist, all at once.
func (b Builder) check(ctx context.Context, packages []string) error {
	out, err := b.tool(ctx, append([]string{"list", "-e", "-f", `{{if eq .Name "main"}}{{else}}{{.ImportPath}}{{end}}`}, packages...)...)
	if err != nil {
		return err
	}
	if missing := strings.Fields(out); len(missing) > 0 {
		return fmt.Errorf("%w: %s", ErrNoPackage, strings.Join(missing, ", "))
	}
	return nil
}

func (b Builder) one(ctx context.Context, name string) (string, error) {
	base := filepath.Join(b.Out, string(b.Arch), slug(name))
	binary := filepath.Join(base, "bootstrap")
	if _, err := b.tool(ctx, "build", "-tags", "lambda.norpc", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", binary, name); err != nil {
		return "", err
	}
	content, err := pack(binary)
	if err != nil {
		return "", err
	}
	if limit := cmp.Or(b.Largest, most); len(content) > limit*mega {
		return "", fmt.Errorf("%w: %.1f MB, at most %d MB are let through (context largestZip)", ErrTooLarge, float64(len(content))/mega, limit)
	}
	zip := base + ".zip"
	if old, err := os.ReadFile(zip); err == nil && bytes.Equal(old, content) {
		return zip, nil
	}
	if b.Log != nil {
		fmt.Fprintf(b.Log, "%s: %.1f MB\n", filepath.Base(zip), float64(len(content))/mega)
	}
	return zip, os.WriteFile(zip, content, 0o644)
}

// tool runs the Go tool for Lambda's system.
func (b Builder) tool(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = b.Root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+string(b.Arch), "GOFLAGS=-mod=readonly", "GOWORK=off")
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(said.Bytes()))
	}
	return out.String(), nil
}

// slug makes a file name of a package: what stands behind "functions/", if
// anything does.
func slug(name string) string {
	if _, behind, found := strings.Cut(name, "functions/"); found {
		name = behind
	}
	return strings.ReplaceAll(strings.TrimPrefix(name, "./"), "/", "-")
}
