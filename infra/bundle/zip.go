package bundle

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"maps"
	"os"
	"slices"
	"time"
)

// The zip's only name and time. Lambda runs `bootstrap`; a fixed time keeps
// equal content equal bytes.
const executable = "bootstrap"

var stamp = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// pack makes the zip of an executable.
func pack(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Zip(map[string][]byte{executable: content}, 0o755)
}

// Zip makes a zip of files, sorted by name, whose bytes depend on nothing but
// names, content and mode.
func Zip(files map[string][]byte, mode os.FileMode) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestCompression) })
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: stamp}
		header.SetMode(mode)
		file, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
