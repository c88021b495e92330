package storetest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

var blobTests = map[string]func(*testing.T, bench){
	"blob/content comes back":       testBlobContent,
	"blob/content is checked":       testBlobDamage,
	"blob/what is no reference":     testBlobReference,
	"blob/64 callers, same content": testBlobContention,
}

func (b bench) blobs(t *testing.T) store.Blobs {
	t.Helper()
	if b.Blobs == nil {
		t.Skip("this store keeps no blobs")
	}
	return b.Blobs
}

func testBlobContent(t *testing.T, b bench) {
	blobs := b.blobs(t)
	large := make([]byte, 3<<20)
	_, _ = rand.Read(large) // never fails
	for _, content := range [][]byte{nil, []byte("x"), []byte(b.space), large} {
		ref, err := blobs.PutBlob(t.Context(), content)
		if err != nil {
			t.Fatalf("storing %d bytes: %v", len(content), err)
		}
		if ref != store.BlobRef(content) {
			t.Fatalf("the reference is %s", ref)
		}
		again, err := blobs.PutBlob(t.Context(), content)
		if err != nil || again != ref {
			t.Fatalf("storing again: %s, %v", again, err)
		}
		got, err := blobs.GetBlob(t.Context(), ref)
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("reading %d bytes: %d, %v", len(content), len(got), err)
		}
	}
}

func testBlobDamage(t *testing.T, b bench) {
	blobs := b.blobs(t)
	if b.Damage == nil {
		t.Skip("this store's blobs cannot be damaged by a test")
	}
	ref, err := blobs.PutBlob(t.Context(), []byte("content "+b.space))
	if err != nil {
		t.Fatal(err)
	}
	b.Damage(t, ref)
	if got, err := blobs.GetBlob(t.Context(), ref); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("a damaged blob reads as %q, %v", got, err)
	}
}

func testBlobReference(t *testing.T, b bench) {
	blobs := b.blobs(t)
	if _, err := blobs.GetBlob(t.Context(), store.BlobRef([]byte("never stored "+b.space))); !errors.Is(err, store.ErrNoBlob) {
		t.Fatalf("an absent blob: %v", err)
	}
	good := store.BlobRef([]byte("x"))
	for _, ref := range []string{"", "x", good[:70], good + "0", "md5" + good[6:], strings.ToUpper(good), good[:20] + "/../" + good[24:]} {
		if _, err := blobs.GetBlob(t.Context(), ref); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("reference %q: %v, want ErrInvalid", ref, err)
		}
	}
}

func testBlobContention(t *testing.T, b bench) {
	blobs := b.blobs(t)
	together(t, func(int) error {
		ref, err := blobs.PutBlob(t.Context(), []byte(b.space))
		if err != nil {
			return err
		}
		_, err = blobs.GetBlob(t.Context(), ref)
		return err
	})
}
