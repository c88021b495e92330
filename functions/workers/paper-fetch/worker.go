// Package paperfetch is the worker paper-fetch: it gets a paper's text from the
// archive.
package paperfetch

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	URL string `json:"url"`
}

// Output is the paper's text (schemas/output.json).
type Output struct {
	Text string `json:"text"`
}

// Worker is paper-fetch.
var Worker = worker.New("paper-fetch", 1, fetch)

// Connection is the archive that is read.
const Connection = "papers"

// longest bounds a paper's text, in bytes.
const longest = 200_000

func fetch(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	archive, err := folder.Of(t.Connection(Connection))
	if err != nil {
		return res, err
	}
	address, err := url.Parse(t.Input.URL)
	if err != nil {
		return res, worker.MissingInput("%w", err)
	}
	content, err := archive.Read(path.Base(address.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return res, worker.MissingInput("the archive has no text of %s", t.Input.URL)
	case err != nil:
		return res, err
	case len(content) > longest:
		return res, worker.MissingInput("%s has %d bytes, at most %d are read", t.Input.URL, len(content), longest)
	case bytes.HasPrefix(content, []byte("%PDF")), bytes.IndexByte(content, 0) >= 0, !utf8.Valid(content):
		return res, worker.MissingInput("%s is no text", t.Input.URL)
	case strings.TrimSpace(string(content)) == "":
		return res, worker.MissingInput("%s is empty", t.Input.URL)
	}
	res.Output.Text = string(content)
	res.Confidence, res.Reason = worker.High, "The archive's text as it stands."
	res.Evidence = []worker.Evidence{{Claim: "the text", Source: "input.url"}}
	return res, nil
}
