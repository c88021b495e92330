package outside

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Key is a provider key in a form that file names and Message-IDs may hold: 32
// hexadecimal digits.
func Key(providerKey string) string {
	sum := sha256.Sum256([]byte(providerKey))
	return hex.EncodeToString(sum[:16])
}

// copies bounds how many files of one stem a directory can hold.
const copies = 1000

// Name is how a file is called: a stem, and an extension.
type Name struct{ Stem, Extension string }

// Put adds a file under a name of its own that begins with the stem, all of it
// or nothing, and returns when it is durable. A file of the same stem is not
// replaced: there are two then. An error that is worker.ErrNotCreated says that
// it is not there.
func Put(ctx context.Context, dir worker.Directory, name Name, content []byte) error {
	for n := 1; n <= copies; n++ {
		if err := dir.Create(ctx, name.numbered(n), content); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("%w: it holds %d files %s already", worker.ErrNotCreated, copies, name.Stem)
}

// Find reads the file of a name; nil: there is none.
func Find(ctx context.Context, dir worker.Directory, name Name) ([]byte, error) {
	content, err := dir.Read(ctx, name.numbered(1))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

func (n Name) numbered(number int) string {
	if number == 1 {
		return n.Stem + n.Extension
	}
	return fmt.Sprintf("%s-%d%s", n.Stem, number, n.Extension)
}
