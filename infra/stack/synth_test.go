package stack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/outerloop-dev/outerloop/infra/bundle"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// The repository's own project is the test's: all its loops are synthesised
// once, with zips that hold nothing, and the templates are read as JSON.
var whole synthesis

func TestMain(m *testing.M) {
	defer jsii.Close()
	work, err := os.MkdirTemp("", "infra-test")
	if err == nil {
		whole, err = synthesise(work, func(*Props) {})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "synthesising:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(work)
	os.Exit(code)
}

// synthesis is what an app gave.
type synthesis struct {
	Dir string
	// Templates are the root's and the nested stacks', by the stack's name; the root is "".
	Templates map[string]template
	// Said are warnings and errors of the synthesis.
	Said []string
}

type template struct {
	Raw       []byte
	Resources map[string]resource
	Outputs   map[string]json.RawMessage
}

type resource struct {
	Type           string
	Properties     map[string]any
	Metadata       map[string]any
	DependsOn      any
	DeletionPolicy string
}

// props are the options of the repository's own project.
func props(work string) (Props, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return Props{}, err
	}
	read, problems := project.Open(root)
	if err := problems.Err(); err != nil {
		return Props{}, err
	}
	return Props{Project: read, Root: root, Work: work}, nil
}

// synthesise makes the app with other options.
func synthesise(work string, with func(*Props)) (synthesis, error) {
	p, err := props(work)
	if err != nil {
		return synthesis{}, err
	}
	with(&p)
	if p.Zips, err = emptyZips(work, p); err != nil {
		return synthesis{}, err
	}
	out := filepath.Join(work, "cdk.out")
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: &out, AnalyticsReporting: jsii.Bool(false)})
	made, err := App(app, p)
	if err != nil {
		return synthesis{}, err
	}
	app.Synth(nil)
	return readSynthesis(out, *made.ArtifactId())
}

func emptyZips(work string, p Props) (map[string]string, error) {
	packages, err := Packages(p)
	if err != nil {
		return nil, err
	}
	zips := map[string]string{}
	for _, name := range packages {
		content, err := bundle.Zip(map[string][]byte{"bootstrap": []byte(name)}, 0o755)
		if err != nil {
			return nil, err
		}
		zips[name] = filepath.Join(work, strings.ReplaceAll(name, "/", "-")+".zip")
		if err := os.WriteFile(zips[name], content, 0o644); err != nil {
			return nil, err
		}
	}
	return zips, nil
}

func readSynthesis(out, id string) (synthesis, error) {
	s := synthesis{Dir: out, Templates: map[string]template{}}
	files, err := filepath.Glob(filepath.Join(out, "*.template.json"))
	if err != nil {
		return s, err
	}
	sort.Strings(files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return s, err
		}
		t := template{Raw: raw}
		if err := json.Unmarshal(raw, &t); err != nil {
			return s, err
		}
		name := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".template.json"), ".nested"), id)
		if i := strings.LastIndex(name, "Loops"); i >= 0 {
			name = name[i+len("Loops"):]
			name = name[:len(name)-8] // the hash that the CDK ends it with
		}
		s.Templates[name] = t
	}
	s.Said, err = said(out)
	return s, err
}

// said reads the annotations of a synthesis.
func said(out string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(out, "manifest.json"))
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Artifacts map[string]struct {
			Metadata map[string][]struct {
				Type string
				Data any
			}
			AdditionalMetadataFile string
		}
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return nil, err
	}
	var lines []string
	for _, a := range manifest.Artifacts {
		if a.AdditionalMetadataFile != "" {
			more, err := os.ReadFile(filepath.Join(out, a.AdditionalMetadataFile))
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal(more, &a.Metadata); err != nil {
				return nil, err
			}
		}
		for path, entries := range a.Metadata {
			for _, entry := range entries {
				if strings.HasPrefix(entry.Type, "aws:cdk:warning") || strings.HasPrefix(entry.Type, "aws:cdk:error") {
					lines = append(lines, fmt.Sprintf("%s %s %v", entry.Type, path, entry.Data))
				}
			}
		}
	}
	sort.Strings(lines)
	return lines, nil
}
