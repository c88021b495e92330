package transfer

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every kind of record that coordinator, alerts and engine write is one that is carried
// or one that is left behind on purpose: a new one has to be decided on here.
func TestEveryKindIsKnown(t *testing.T) {
	t.Parallel()
	part := regexp.MustCompile(`Part:\s*"([A-Z]+)[#"]|Part\([^)]*\) string \{ return "([A-Z]+)#`)
	listed := map[string]bool{"ACTIONS": true} // partitions of the list index
	found := map[string]bool{}
	for _, dir := range []string{"../coordinator", "../local", "../alert"} {
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(dir + "/" + path)
			for _, match := range part.FindAllStringSubmatch(string(text), -1) {
				kind := match[1] + match[2]
				found[kind] = true
				if !carried[kind] && !left[kind] && !listed[kind] {
					t.Errorf("%s/%s writes records of kind %s: are they carried?", dir, path, kind)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"RUN", "ACT", "APPROVAL", "DEF", "EXEC", "EVENT", "LEASE", "ALERT"} {
		if !found[kind] {
			t.Errorf("no %s was found: the test looks in the wrong places", kind)
		}
	}
}
