package project

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var mutations = flag.Int("mutations", 60, "how many mutated files are checked")

var words = regexp.MustCompile(`[A-Za-z_]+|[0-9]+|\$\{|\s+|.`)

// mutate changes a file in one to four places: lines and words are lost, doubled, swapped or taken from elsewhere.
func mutate(text string, random *rand.Rand) string {
	for range 1 + random.IntN(4) {
		parts, glue := strings.Split(text, "\n"), "\n"
		if random.IntN(2) == 0 {
			parts, glue = words.FindAllString(text, -1), ""
		}
		i, j := random.IntN(len(parts)), random.IntN(len(parts))
		switch random.IntN(4) {
		case 0:
			parts = slices.Delete(parts, i, i+1)
		case 1:
			parts = slices.Insert(parts, i, parts[j])
		case 2:
			parts[i], parts[j] = parts[j], parts[i]
		case 3:
			parts[i] = parts[j]
		}
		text = strings.Join(parts, glue)
	}
	return text
}

// A damaged file gets problems or a definition, never a panic; a definition only without errors.
func TestDamagedFilesNeverPanic(t *testing.T) {
	t.Parallel()
	base := baseFiles(t)
	paths := []string{LoopDir + "/good" + LoopSuffix, LoopDir + "/forms" + LoopSuffix, File, WorkerDir + "/mailer/" + CharterFile, WorkerDir + "/helper/" + CharterFile}
	for i := range *mutations {
		random := rand.New(rand.NewPCG(7, uint64(i)))
		path := paths[random.IntN(len(paths))]
		files := maps.Clone(base)
		files[path] = mutate(base[path], random)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					t.Fatalf("panic %v on\n%s", r, files[path])
				}
			}()
			p, ps := Load(files)
			for _, name := range p.Names() {
				if p.Loops[name] == nil {
					t.Errorf("%s has no definition", name)
				}
			}
			if len(p.Loops) == 3 && ps.Errors() > 0 && path != WorkerDir+"/helper/"+CharterFile {
				t.Errorf("all loops are right, but %v", ps)
			}
		})
	}
}
