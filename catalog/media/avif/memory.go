package avif

import (
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

const (
	pageSize = 64 << 10
	// maxMemory limits an instance. Its addresses are reserved at the start, and it gets pages as it grows.
	maxMemory = 640 << 20
)

// memory implements experimental.LinearMemory. Growing a slice would copy it.
type memory struct {
	reserved []byte
	usable   uint64
}

// Reallocate implements experimental.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.reserved)) {
		return nil
	}
	if size > m.usable {
		if syscall.Mprotect(m.reserved[m.usable:size], syscall.PROT_READ|syscall.PROT_WRITE) != nil {
			return nil
		}
		m.usable = size
	}
	return m.reserved[:size]
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() { _ = syscall.Munmap(m.reserved) }

func allocate(_, maximum uint64) experimental.LinearMemory {
	reserved, err := syscall.Mmap(-1, 0, int(maximum), syscall.PROT_NONE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return &memory{} // the instance cannot start
	}
	return &memory{reserved: reserved}
}
