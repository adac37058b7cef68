// Package spool keeps bytes that arrive from a client or wait for it: up to 32 KiB in memory, more in a temporary file
// within the limits of the request.
package spool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/storeroom/storeroom/tenancy/limits"
)

const (
	maxInMemory = 32 << 10 // the number of client connections bounds these
	diskStep    = 1 << 20  // the unit in which space on disk is reserved
	// The work on a body takes workFactor bytes for each of its bytes, which are also in messages to PostgreSQL, and
	// objectMemory for each of its JSON objects: an item of an order has 40 bytes, but needs much more in statements. Bulk
	// requests work in parts, so a larger body takes at most the maximum of each.
	workFactor       = 3
	objectMemory     = 1 << 10
	maxBodyMemory    = 12 << 20
	maxObjectsMemory = 32 << 20
)

// Spool is read and written by at most one goroutine each, at a time.
type Spool struct {
	ticket *limits.Ticket

	mu       sync.Mutex
	changed  *sync.Cond // the spool has grown or ended
	memory   []byte
	file     *os.File // no longer has a name, so that the system deletes it with the process
	size     int64
	objects  int64 // opening braces
	end      error // io.EOF or the error of the writer; nil until the writer has ended
	reserved int64 // bytes on disk
	isWork   bool  // Reserve has taken memory
	free     []func()
}

// New returns an empty spool. The caller must close it. ticket may be nil.
func New(ticket *limits.Ticket) *Spool {
	s := &Spool{ticket: ticket}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Write appends p. It returns limits.ErrBusy if there is no space on disk.
func (s *Spool) Write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.end != nil:
		return 0, os.ErrClosed
	case s.file == nil && len(s.memory)+len(p) <= maxInMemory:
		s.memory = append(s.memory, p...)
		n = len(p)
	default:
		n, err = s.writeFile(p)
	}
	s.size += int64(n)
	s.objects += int64(bytes.Count(p[:n], []byte{'{'}))
	s.changed.Broadcast()
	return n, err
}

func (s *Spool) writeFile(p []byte) (n int, err error) {
	for s.size+int64(len(p)) > s.reserved {
		release, ok := s.ticket.Try(limits.Disk, diskStep)
		if !ok {
			return 0, s.ticket.Refused(limits.Disk)
		}
		s.free = append(s.free, release)
		s.reserved += diskStep
	}
	if s.file == nil {
		if err := s.moveToFile(); err != nil {
			return 0, err
		}
	}
	if n, err = s.file.WriteAt(p, s.size); err != nil {
		return n, fmt.Errorf("write a temporary file: %w", err)
	}
	return n, nil
}

func (s *Spool) moveToFile() error {
	file, err := os.CreateTemp("", "storeroom-")
	if err == nil {
		err = os.Remove(file.Name())
	}
	if err == nil {
		_, err = file.Write(s.memory)
	}
	if err != nil {
		_ = file.Close() // it may be nil; the first error is returned
		return fmt.Errorf("create a temporary file: %w", err)
	}
	s.file, s.memory = file, nil
	return nil
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
func (r *spoolReader) Read(p []byte) (n int, err error) {
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
		n = copy(p, s.memory[r.at:])
	default:
		n, err = s.file.ReadAt(p[:min(int64(len(p)), s.size-r.at)], r.at)
	}
	r.at += int64(n)
	return n, err
}

// Reserve waits for the memory for the work on the content, if it is large. The content must have ended. Only the first
// call has an effect.
func (s *Spool) Reserve(ctx context.Context) error {
	if s.isWork || s.file == nil {
		return nil
	}
	n := min(workFactor*s.size, maxBodyMemory) + min(objectMemory*s.objects, maxObjectsMemory)
	release, err := s.ticket.Take(ctx, limits.Memory, n)
	if err == nil {
		s.free, s.isWork = append(s.free, release), true
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

// Close frees the memory and the file. It must not run concurrently with other methods.
func (s *Spool) Close() (err error) {
	s.End(os.ErrClosed)
	if s.file != nil {
		err = s.file.Close()
	}
	s.file, s.memory = nil, nil
	for _, release := range s.free {
		release()
	}
	s.free = nil
	return err
}
