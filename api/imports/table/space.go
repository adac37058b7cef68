package table

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// Space limits how many bytes the temporary files of an import have at a time. It is safe for concurrent use.
type Space struct {
	dir   string
	limit int64
	used  atomic.Int64
}

// NewSpace returns a space of that many bytes in a directory; "" is the default of the system.
func NewSpace(dir string, limit int64) *Space { return &Space{dir: dir, limit: limit} }

// File creates a file without a name: it is gone when it is closed, or when the process ends.
func (s *Space) File() (*TempFile, error) {
	file, err := os.CreateTemp(s.dir, "import-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &TempFile{file: file, space: s}, nil
}

// TempFile is a temporary file.
type TempFile struct {
	file  *os.File
	space *Space
	size  int64
}

// Write implements io.Writer. It appends.
func (f *TempFile) Write(p []byte) (int, error) {
	f.size += int64(len(p))
	if f.space.used.Add(int64(len(p))) > f.space.limit {
		return 0, fmt.Errorf("more than %d MiB of temporary files are needed: upload the files in several imports",
			f.space.limit>>20)
	}
	return f.file.Write(p)
}

// Read implements io.Reader.
func (f *TempFile) Read(p []byte) (int, error) { return f.file.Read(p) }

// ReadAt implements io.ReaderAt.
func (f *TempFile) ReadAt(p []byte, at int64) (int, error) { return f.file.ReadAt(p, at) }

// Seek implements io.Seeker.
func (f *TempFile) Seek(offset int64, whence int) (int64, error) { return f.file.Seek(offset, whence) }

// Close deletes the file. It may be called several times.
func (f *TempFile) Close() error {
	f.space.used.Add(-f.size)
	f.size = 0
	return f.file.Close()
}
