package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/outerloop-dev/outerloop/infra/bundle"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// Props say what is deployed. Project, Root, Zips and Work are required.
type Props struct {
	// Project is the checked project. Loops with errors are not in it.
	Project *project.Project
	// Root is the project's directory: its compiled machines and the folders
	// that its connections name are read from here.
	Root string
	// Zips are the functions' zips by package; Packages says which are needed.
	Zips map[string]string
	// Work is a directory for files made on the way: bundles, zips of folders.
	Work string

	// Loops are the loops to deploy, with those that they start; empty: all.
	Loops []string
	// Architecture of all functions; default arm64.
	Architecture bundle.Arch
	// Table and Bucket are names of existing ones to use, such as a restored
	// table; empty: they are made, and stay when the stack is deleted.
	Table, Bucket string
	// Secrets stands before the names of secrets in Secrets Manager, with a
	// slash between; default the project's name.
	Secrets string
	// AccountConcurrency is the account's limit of concurrent executions in the
	// Region; 0: not known, then nothing is checked and nothing reserved.
	AccountConcurrency int
	// WorkerConcurrency bounds workers whose charter gives no at_once; default 10.
	WorkerConcurrency int
	// LogDays is how long logs are kept; default 30.
	LogDays int
	// NoTracing switches X-Ray off.
	NoTracing bool
	// Deletable lets the stack be deleted; App's alone. Table and bucket stay even then.
	Deletable bool
}

// Errors of New and App, for errors.Is.
var (
	// ErrProps says that the options cannot be deployed.
	ErrProps = errors.New("these options cannot be deployed")
	// ErrConcurrency says that the account's concurrency does not suffice.
	ErrConcurrency = errors.New("the account's concurrency does not suffice")
)

// logDays are the retentions that CloudWatch Logs has, up to two years.
var logDays = []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731}

var projectName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)

// checked fills in defaults and finds every fault of the options.
func (p Props) checked() (Props, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if p.Project == nil || p.Project.Registry == nil {
		return p, fmt.Errorf("%w: a project is required", ErrProps)
	}
	if name := p.Project.Registry.Name; !projectName.MatchString(name) {
		fault("project %q: names of resources begin with it; at most 20 lower-case letters, digits and hyphens, a letter first", name)
	}
	for what, value := range map[string]string{"Root": p.Root, "Work": p.Work} {
		if value == "" {
			fault("%s is required", what)
		}
	}
	if p.Architecture == "" {
		p.Architecture = bundle.ARM64
	}
	if p.Architecture != bundle.ARM64 && p.Architecture != bundle.AMD64 {
		fault("architecture %q: arm64 or amd64", p.Architecture)
	}
	if p.Secrets == "" {
		p.Secrets = p.Project.Registry.Name
	}
	if p.WorkerConcurrency == 0 {
		p.WorkerConcurrency = 10
	}
	if p.WorkerConcurrency < 2 || p.WorkerConcurrency > 1000 {
		fault("worker concurrency %d: event source mappings take 2 to 1,000", p.WorkerConcurrency)
	}
	if p.LogDays == 0 {
		p.LogDays = 30
	}
	if !slices.Contains(logDays, p.LogDays) {
		fault("logs for %d days: CloudWatch has %v", p.LogDays, logDays)
	}
	if len(faults) > 0 {
		return p, fmt.Errorf("%w: %w", ErrProps, errors.Join(faults...))
	}
	return p, nil
}

// read reads a file of the project; nil: there is none.
func (p Props) read(name string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}
