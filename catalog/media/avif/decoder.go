package avif

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

//go:embed dav1d/av1.wasm.gz
var program []byte

const (
	pageSize = 64 << 10
	// maxMemory limits an instance. Its addresses are reserved at the start, and it gets pages as it grows.
	maxMemory = 640 << 20
	// maxFrames limits the frames of an item, which normally has one, or one for each of a few layers. Decoding a frame
	// visits all pixels, whatever its size, so a small file could need minutes.
	maxFrames = 8
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

// decoder is the compiled program.
type decoder struct {
	context  context.Context
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// ErrUnavailable reports that the system forbids programs to generate code.
var ErrUnavailable = errors.New("avif: cannot generate code")

// compile needs half a second of CPU time, once in a process.
var compile = sync.OnceValues(func() (d decoder, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", ErrUnavailable, cause)
		}
	}()
	d.context = experimental.WithMemoryAllocator(context.Background(), experimental.MemoryAllocatorFunc(allocate))
	unpacked, err := gzip.NewReader(bytes.NewReader(program))
	if err != nil {
		return d, err
	}
	code, err := io.ReadAll(unpacked)
	if err != nil {
		return d, err
	}
	config := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(maxMemory / pageSize)
	d.runtime = wazero.NewRuntimeWithConfig(d.context, config)
	if _, err = wasi_snapshot_preview1.Instantiate(d.context, d.runtime); err != nil {
		return d, err
	}
	d.compiled, err = d.runtime.CompileModule(d.context, code)
	return d, err
})

// frame is a decoded item. Its samples are in the memory of an instance until it is closed.
type frame struct {
	w, h, layout, depth int
	matrix              int
	full                bool // range
	planes              [3]plane
	close               func()
}

// decode decodes the first frame of an item, which must have this size.
func decode(content []byte, w, h int) (f frame, err error) {
	if frames(content) > maxFrames {
		return f, errInvalid
	}
	d, err := compile()
	if err != nil {
		return f, err
	}
	// The instance has neither files nor an environment nor a clock.
	instance, err := d.runtime.InstantiateModule(d.context, d.compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return f, fmt.Errorf("avif: start the decoder: %w", err)
	}
	f, err = d.run(instance, content, w, h)
	if f.close = func() { _ = instance.Close(d.context) }; err != nil {
		f.close()
	}
	return f, err
}

func (d decoder) run(instance api.Module, content []byte, w, h int) (f frame, err error) {
	m := instance.Memory()
	call := func(name string, arguments ...uint64) uint32 {
		var results []uint64
		if err == nil {
			results, err = instance.ExportedFunction(name).Call(d.context, arguments...)
		}
		if err != nil || len(results) == 0 {
			return 0
		}
		return uint32(results[0])
	}
	const fields = 11
	input, output := call("malloc", uint64(len(content))), call("malloc", 4*fields)
	if err != nil || input == 0 || output == 0 || !m.Write(input, content) {
		return f, errInvalid
	}
	failed := call("decode", uint64(input), uint64(len(content)), uint64(w)*uint64(h), uint64(output))
	result, ok := m.Read(output, 4*fields)
	if err != nil || failed != 0 || !ok {
		return f, errInvalid
	}
	var n [fields]int
	for i := range n {
		n[i] = int(binary.LittleEndian.Uint32(result[4*i:]))
	}
	f = frame{w: n[0], h: n[1], layout: n[2], depth: n[3], matrix: n[9], full: n[10] != 0}
	if f.w != w || f.h != h {
		return f, errInvalid
	}
	for i := range f.planes {
		p := plane{stride: n[4+min(i, 1)], wide: f.depth > 8}
		p.w, p.h = f.planeSize(i)
		if p.h > 0 {
			if p.pix, ok = m.Read(uint32(n[6+i]), uint32((p.h-1)*p.stride+p.w*p.bytes())); !ok {
				return f, errInvalid
			}
		}
		f.planes[i] = p
	}
	return f, nil
}

// The layouts of chroma.
const (
	gray = iota
	yuv420
	yuv422
	yuv444
)

// planeSize returns the size of a plane: 0 for luma.
func (f frame) planeSize(plane int) (w, h int) {
	switch {
	case plane == 0:
		return f.w, f.h
	case f.layout == gray:
		return 0, 0
	}
	return (f.w + f.shiftX()) >> f.shiftX(), (f.h + f.shiftY()) >> f.shiftY()
}

func (f frame) shiftX() int {
	if f.layout == yuv420 || f.layout == yuv422 {
		return 1
	}
	return 0
}

func (f frame) shiftY() int {
	if f.layout == yuv420 {
		return 1
	}
	return 0
}

// frames counts the frame headers in the OBUs of an item.
func frames(content []byte) (n int) {
	for len(content) > 0 {
		header := content[0]
		content = content[1:]
		if header&4 != 0 && len(content) > 0 { // an extension
			content = content[1:]
		}
		if kind := header >> 3 & 15; kind == 3 || kind == 6 { // a frame header, or with a frame
			n++
		}
		if header&2 == 0 { // without a size: the last one
			return n
		}
		size, length := binary.Uvarint(content)
		if length <= 0 || size > uint64(len(content)-length) {
			return n
		}
		content = content[length+int(size):]
	}
	return n
}
