package admission

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
)

const (
	// uncounted is the size of bodies that need no budget, so that small requests are never refused.
	// The number of connections bounds them.
	uncounted = 32 << 10
	minMemory = 4 << 10
	// maxMemory is the largest content that is kept in memory.
	maxMemory = mib
	// diskStep is the unit in which space on disk is reserved.
	diskStep = mib
)

// Spool keeps bytes that arrive from a client or wait for it: in memory, or in a temporary file if
// they are more than one MiB or if the share of memory is in use. One goroutine may write while
// another reads.
type Spool struct {
	ticket *Ticket

	mu       sync.Mutex
	changed  *sync.Cond // the spool has grown or ended
	memory   []byte
	file     *os.File // no longer has a name, so that the system deletes it with the process
	size     int64
	objects  int64 // opening braces
	end      error // io.EOF or the error of the writer; nil until the writer has ended
	reserved int64 // bytes on disk

	reservedWork bool // Reserve has reserved memory

	freeMemory, freeDisk []func()
}

// NewSpool returns an empty spool. The caller must close it.
func (t *Ticket) NewSpool() *Spool {
	s := &Spool{ticket: t}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Write appends p. It returns ErrBusy if the user's share of disk is in use.
func (s *Spool) Write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		return 0, os.ErrClosed
	}
	if s.file == nil && s.fits(len(p)) {
		s.memory = append(s.memory, p...)
		n = len(p)
	} else {
		n, err = s.writeFile(p)
	}
	s.size += int64(n)
	s.objects += int64(bytes.Count(p[:n], []byte{'{'}))
	s.changed.Broadcast()
	return n, err
}

// fits makes room for n bytes in memory, if possible.
func (s *Spool) fits(n int) bool {
	need := len(s.memory) + n
	if need <= cap(s.memory) {
		return true
	}
	if need > maxMemory {
		return false
	}
	size := min(max(need, 2*cap(s.memory), minMemory), maxMemory)
	if size > uncounted {
		release, ok := s.ticket.TryMemory(int64(size - max(cap(s.memory), uncounted)))
		if !ok {
			return false
		}
		s.freeMemory = append(s.freeMemory, release)
	}
	s.memory = append(make([]byte, 0, size), s.memory...)
	return true
}

func (s *Spool) writeFile(p []byte) (int, error) {
	for s.size+int64(len(p)) > s.reserved {
		release, err := s.ticket.TryDisk(diskStep)
		if err != nil {
			return 0, err
		}
		s.freeDisk = append(s.freeDisk, release)
		s.reserved += diskStep
	}
	if s.file == nil {
		if err := s.moveToFile(); err != nil {
			return 0, err
		}
	}
	n, err := s.file.WriteAt(p, s.size)
	if err != nil {
		return n, fmt.Errorf("write a temporary file: %w", err)
	}
	return n, nil
}

// moveToFile frees the memory, because a request that waits for memory must not hold any.
func (s *Spool) moveToFile() error {
	file, err := os.CreateTemp("", "storeroom-")
	if err != nil {
		return fmt.Errorf("create a temporary file: %w", err)
	}
	s.file = file
	if err := os.Remove(file.Name()); err != nil {
		return fmt.Errorf("delete the name of a temporary file: %w", err)
	}
	if _, err := file.WriteAt(s.memory, 0); err != nil {
		return fmt.Errorf("write a temporary file: %w", err)
	}
	s.memory = nil
	callAll(&s.freeMemory)
	return nil
}

func callAll(functions *[]func()) {
	for _, f := range *functions {
		f()
	}
	*functions = nil
}

// End ends the content. Readers get err after the last byte, or io.EOF if it is nil.
func (s *Spool) End(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	if s.end == nil {
		s.end = err
	}
	s.changed.Broadcast()
}

// Size returns the number of bytes written so far.
func (s *Spool) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// Reader returns a reader from the first byte. It waits for bytes that are not written yet.
func (s *Spool) Reader() io.Reader { return &spoolReader{spool: s} }

type spoolReader struct {
	spool *Spool
	at    int64
}

// Read implements io.Reader.
func (r *spoolReader) Read(p []byte) (int, error) {
	s := r.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	for r.at == s.size && s.end == nil {
		s.changed.Wait()
	}
	switch {
	case r.at == s.size:
		return 0, s.end
	case s.file == nil:
		n := copy(p, s.memory[r.at:])
		r.at += int64(n)
		return n, nil
	}
	n, err := s.file.ReadAt(p[:min(int64(len(p)), s.size-r.at)], r.at)
	r.at += int64(n)
	return n, err
}

// The work on a body takes this much memory for each of its bytes and for each of its JSON objects: the body, its
// values, and the messages to PostgreSQL. An item of an order has 40 bytes, but needs much more in the statements. Bulk
// requests work in parts, so larger bodies take at most the maximum of each.
const (
	loadFactor       = 3
	maxBodyMemory    = 12 * mib
	objectMemory     = 1 << 10
	maxObjectsMemory = 32 * mib
)

// Reserve waits for the memory for the work on the content, if it is large. The content must have ended. Only the first
// call has an effect.
func (s *Spool) Reserve(ctx context.Context) (err error) {
	if s.reservedWork || s.size <= uncounted {
		return nil
	}
	n := min(loadFactor*s.size, maxBodyMemory) + min(objectMemory*s.objects, maxObjectsMemory)
	release, ok := func() {}, false
	if s.file == nil {
		release, ok = s.ticket.TryMemory(n)
	}
	if !ok {
		release, err = s.ticket.Large(ctx, n)
	}
	if err == nil {
		s.freeMemory = append(s.freeMemory, release)
		s.reservedWork = true
	}
	return err
}

// View calls f with the whole content, which must have ended. f must not keep a part of it. A file is mapped, so that
// it takes no memory after f.
func (s *Spool) View(f func(content []byte) error) error {
	if s.file == nil {
		return f(s.memory)
	}
	content, err := syscall.Mmap(int(s.file.Fd()), 0, int(s.size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map a temporary file: %w", err)
	}
	defer syscall.Munmap(content)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a disk that fails ends the request, not the process
	return f(content)
}

// Part returns the content from at on. The content must have ended.
func (s *Spool) Part(at int64, length int) ([]byte, error) {
	if s.file == nil {
		return s.memory[at : at+int64(length)], nil
	}
	part := make([]byte, length)
	if _, err := s.file.ReadAt(part, at); err != nil {
		return nil, fmt.Errorf("read a temporary file: %w", err)
	}
	return part, nil
}

func (s *Spool) closeFile() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	callAll(&s.freeDisk)
	return err
}

// Close frees the memory and the file. It must not run concurrently with other methods.
func (s *Spool) Close() error {
	s.End(os.ErrClosed)
	s.memory = nil
	callAll(&s.freeMemory)
	return s.closeFile()
}
