package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

const (
	// maxDocument bounds an input document, maxFile a file that an input names,
	// since both are kept in the state file.
	maxDocument = 1 << 20
	maxFile     = 200 << 20
)

// runInput is what --input gives: the document, and the files that its
// properties of format "file" name.
type runInput struct {
	document map[string]json.RawMessage
	files    []inputFile
}

// inputFile is a file that fills a property; it becomes a blob.
type inputFile struct {
	property string
	// name is as the user wrote it, path where it is.
	name, path string
}

// readInput reads --input for a loop: a .json file is the whole document, any
// other file fills the only property of format "file". Every error is a usage error.
func (a *app) readInput(def *loop.Definition, name string) (runInput, error) {
	in := runInput{document: map[string]json.RawMessage{}}
	if name == "" {
		return in, nil
	}
	if def.Input == nil {
		return in, usage(fmt.Sprintf("%s takes no input", def.Loop.Name), "leave --input away")
	}
	if strings.EqualFold(filepath.Ext(name), ".json") {
		return a.readDocument(def, name)
	}
	property, ok := def.Input.FileProperty()
	if !ok {
		return in, usage(fmt.Sprintf("%s takes no single file: its input has %s", def.Loop.Name, fieldList(fileProperties(def))),
			"give the whole input as a document: --input FILE.json",
			"its schema is "+def.Input.Name())
	}
	in.files = []inputFile{{property: property, name: name, path: a.path(name)}}
	return in, nil
}

func fieldList(names []string) string {
	if len(names) == 0 {
		return "no property of format \"file\""
	}
	return "the files " + strings.Join(names, ", ")
}

func (a *app) readDocument(def *loop.Definition, name string) (runInput, error) {
	in := runInput{document: map[string]json.RawMessage{}}
	content, err := readRegular(a.path(name), name, maxDocument)
	if err != nil {
		return in, err
	}
	if err := decodeStrict(content, &in.document); err != nil || in.document == nil {
		return in, usage(fmt.Sprintf("%s is not a JSON object%s", name, because(err)), "its schema is "+def.Input.Name())
	}
	in.findFiles(def, func(text string) string { return filepath.Join(filepath.Dir(a.path(name)), text) })
	return in, nil
}

// findFiles finds the files that the document names; relative paths are placed by at.
func (in *runInput) findFiles(def *loop.Definition, at func(string) string) {
	for _, property := range fileProperties(def) {
		var text string
		if json.Unmarshal(in.document[property], &text) != nil || strings.HasPrefix(text, "sha256:") {
			continue // the schema's check says what is wrong, or it is a blob already
		}
		path := text
		if !filepath.IsAbs(text) {
			path = at(text)
		}
		in.files = append(in.files, inputFile{property: property, name: text, path: path})
	}
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// decodeStrict reads one JSON value and nothing after it.
func decodeStrict(content []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("something follows the document at byte %d", dec.InputOffset())
	}
	return nil
}

// readRegular reads a file of the disk up to a limit; errors are usage errors.
func readRegular(path, name string, limit int64) ([]byte, error) {
	f, err := worker.OpenPath(path)
	if err != nil {
		return nil, usage(nameInstead(err, path, name))
	}
	defer func() { _ = f.Close() }()
	if f.Size() > limit {
		return nil, usage(fmt.Sprintf("%s has %s; the limit is %s", name, bytesText(f.Size()), bytesText(limit)))
	}
	content, err := io.ReadAll(worker.Reader(f))
	if err != nil {
		return nil, usage(nameInstead(err, path, name))
	}
	return content, nil
}

// nameInstead shows a file in an error as the user wrote it.
func nameInstead(err error, path, name string) string {
	return strings.ReplaceAll(err.Error(), path, name)
}

func bytesText(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// fileProperties are the input's top-level properties of format "file".
func fileProperties(def *loop.Definition) []string {
	var names []string
	if def.Input == nil {
		return nil
	}
	for _, field := range def.Input.Type().Fields() {
		if field.Type.Format == "file" {
			names = append(names, field.Name)
		}
	}
	return names
}

// fits checks the document against the loop's input, with stand-ins for the
// references of files, so that a start that must fail touches no state file.
func (in runInput) fits(def *loop.Definition) error {
	if def.Input == nil {
		return nil
	}
	document := maps.Clone(in.document)
	for _, file := range in.files {
		document[file.property] = json.RawMessage(`"sha256:` + strings.Repeat("0", 64) + `"`)
	}
	raw, err := json.Marshal(document)
	if err != nil {
		return usage("the input cannot be read: " + err.Error())
	}
	_, faults := def.Input.Check(raw)
	if len(faults) == 0 {
		return nil
	}
	lines := make([]string, len(faults))
	for i, fault := range faults {
		lines[i] = fault.String()
	}
	remedies := []string{"its schema is " + def.Input.Name()}
	if property, ok := def.Input.FileProperty(); ok && len(in.document)+len(in.files) == 0 {
		remedies = append(remedies, fmt.Sprintf("--input FILE fills %q", property))
	}
	return usage(fmt.Sprintf("the input of %s is not valid: %s", def.Loop.Name, strings.Join(lines, "; ")), remedies...)
}

// check lets the workers that get a file look at it before the run exists.
func (in runInput) check(ctx context.Context, def *loop.Definition, workers []Worker) error {
	for _, file := range in.files {
		if err := file.check(ctx, def, workers); err != nil {
			return err
		}
	}
	return nil
}

func (f inputFile) check(ctx context.Context, def *loop.Definition, workers []Worker) error {
	opened, err := worker.OpenPath(f.path)
	if err != nil {
		return usage(nameInstead(err, f.path, f.name))
	}
	defer func() { _ = opened.Close() }()
	for _, use := range fileUses(def, f.property) {
		i := slices.IndexFunc(workers, func(w Worker) bool { return w.Name() == use.worker })
		if i < 0 || !workers[i].HasCheck() {
			continue
		}
		err := workers[i].Check(ctx, worker.CheckInput{Property: use.property, Name: f.name, File: opened})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return usage(err.Error())
		}
	}
	if opened.Size() > maxFile {
		return usage(fmt.Sprintf("%s has %s; the limit is %s", f.name, bytesText(opened.Size()), bytesText(maxFile)))
	}
	return nil
}

// fileUse is a worker that gets an input file, and the property it gets it in.
type fileUse struct{ worker, property string }

// fileUses finds the steps whose input hands a file of the loop's input on.
func fileUses(def *loop.Definition, property string) []fileUse {
	var uses []fileUse
	for _, node := range def.Nodes {
		if node.Worker == nil || node.Step == nil || !node.Step.Input.Set() {
			continue
		}
		for _, pair := range node.Step.Input.Node.Pairs {
			if strings.Join(strings.Fields(pair.Value.Text), "") == "${input."+property+"}" {
				uses = append(uses, fileUse{worker: node.Worker.Charter.Worker, property: pair.Key.Text})
			}
		}
	}
	return uses
}

// put keeps the files as blobs and answers the document with their references.
func (in runInput) put(ctx context.Context, put func(context.Context, []byte) (string, error)) (json.RawMessage, error) {
	for _, file := range in.files {
		content, err := readRegular(file.path, file.name, maxFile)
		if err != nil {
			return nil, err
		}
		ref, err := put(ctx, content)
		if err != nil {
			return nil, fmt.Errorf("keeping %s: %w", file.name, err)
		}
		if in.document[file.property], err = json.Marshal(ref); err != nil {
			return nil, fmt.Errorf("keeping %s: %w", file.name, err)
		}
	}
	return json.Marshal(in.document)
}

// readFileOrInput reads a file of the disk, or the program's input for "-".
func (a *app) readFileOrInput(name string) ([]byte, error) {
	if name != "-" {
		return readRegular(a.path(name), name, maxDocument)
	}
	if a.In == nil {
		return nil, usage("- reads the input, and there is none")
	}
	content, err := io.ReadAll(io.LimitReader(a.In, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("reading the input: %w", err)
	}
	if len(content) > maxDocument {
		return nil, usage("the input is longer than " + bytesText(maxDocument))
	}
	return content, nil
}
