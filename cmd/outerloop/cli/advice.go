package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

// programName is how the program was called, so that a printed command can be
// repeated as it stands: a path stays one, anything else is found by name.
func programName(arg0 string) string {
	if !strings.ContainsRune(arg0, filepath.Separator) || strings.Contains(arg0, "go-build") {
		return "outerloop"
	}
	return arg0
}

// command is a command line to go on with: this program, on this state file and project.
func (a *app) command(format string, args ...any) string {
	var b strings.Builder
	b.WriteString(a.Program)
	fmt.Fprintf(&b, " "+format, args...)
	if a.project != "" {
		b.WriteString(" --project " + shellWord(a.project))
	}
	if a.state != "" {
		b.WriteString(" --state " + shellWord(a.state))
	}
	b.WriteString(a.targetFlags())
	return b.String()
}

// shellWord quotes a word for a shell where it needs it.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@:,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// someone is an address out of the groups and people that may decide, for a
// printed command; without a project it is a stand-in.
func (a *app) someone(allowed []string) string {
	const standIn = "you@example.com"
	root, ok := a.projectDir()
	if !ok {
		return standIn
	}
	raw, err := os.ReadFile(filepath.Join(root, project.File))
	if err != nil {
		return standIn
	}
	people, _ := registry.Read(project.File, raw)
	if people == nil {
		return standIn
	}
	for _, name := range allowed {
		members := []string{name}
		if group, ok := people.Group(name); ok {
			members = group.Members
		}
		for _, member := range members {
			if person, ok := people.Person(member); ok && person.Email != "" {
				return person.Email
			}
		}
	}
	return standIn
}
