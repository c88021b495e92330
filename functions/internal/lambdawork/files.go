package lambdawork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// maxFile bounds what is fetched at once, in bytes: a function has little memory.
const maxFile = 64 << 20

// Files are a task's file inputs, fetched from signed addresses that the gate
// gave. A reference always means the same content, which is checked.
type Files struct {
	Client *http.Client

	mu   sync.Mutex
	urls map[string]string
	blob *worker.BlobFiles
}

// NewFiles makes a source that knows no address yet.
func NewFiles(client *http.Client) *Files {
	f := &Files{Client: client, urls: map[string]string{}}
	f.blob = &worker.BlobFiles{Get: f.get}
	return f
}

// Know takes the addresses of an admitted task.
func (f *Files) Know(files []gatewire.Fetch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, at := range files {
		f.urls[at.Ref] = at.URL
	}
}

// Open fetches a file. Error: worker.Fatal when no task brought its address.
func (f *Files) Open(ctx context.Context, ref string) (worker.File, error) {
	return f.blob.Open(ctx, ref)
}

func (f *Files) get(ctx context.Context, ref string) ([]byte, error) {
	f.mu.Lock()
	url, known := f.urls[ref]
	f.mu.Unlock()
	if !known {
		return nil, worker.Fatal("the task has no file %s", ref)
	}
	return f.Fetch(ctx, gatewire.Fetch{Ref: ref, URL: url})
}

// Fetch reads content from its signed address and checks it.
func (f *Files) Fetch(ctx context.Context, at gatewire.Fetch) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("fetching %s: its address is wrong", at.Ref) // the address is a credential
	}
	resp, err := f.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w", at.Ref, hidden(err))
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("fetching %s: %w", at.Ref, err)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("fetching %s: the bucket answers %s", at.Ref, resp.Status)
	case len(content) > maxFile:
		return nil, worker.MissingInput("file %s has more than %d bytes", at.Ref, maxFile)
	}
	sum := sha256.Sum256(content)
	if at.Ref != "sha256:"+hex.EncodeToString(sum[:]) {
		return nil, fmt.Errorf("fetching %s: the content is another one", at.Ref)
	}
	return content, nil
}
