// Package avif decodes the first picture of AVIF files with libavif and dav1d, compiled to WebAssembly (wasm/build.sh).
// They can access neither the memory of the process nor the system, and are compiled to machine code for the first
// file.
package avif

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

//go:embed wasm/avif.wasm.gz
var program []byte

var (
	// ErrUnavailable reports that the system forbids programs to generate code.
	ErrUnavailable = errors.New("avif: cannot generate code")
	// ErrTooLarge reports that a file has more than 268 megapixels.
	ErrTooLarge = errors.New("avif: too many pixels")
	// errInvalid reports a file that is not valid, or that uses an unsupported feature.
	errInvalid = errors.New("avif: invalid file")
)

// IsAVIF reports whether the brands of a file say that it is an AVIF file.
func IsAVIF(file []byte) bool {
	if len(file) < 16 || string(file[4:8]) != "ftyp" {
		return false
	}
	brands := file[8:min(len(file), int(min(binary.BigEndian.Uint32(file), 4096)))]
	for ; len(brands) >= 4; brands = brands[4:] {
		if brand := string(brands[:4]); brand == "avif" || brand == "avis" {
			return true
		}
	}
	return false
}

// decoder is the compiled program.
type decoder struct {
	context  context.Context
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

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

// Picture is the first picture of a file. It implements image.Image. Its fields are those of wasm/avif.c.
type Picture struct {
	decoder
	instance api.Module
	header   struct {
		Width, Height, Depth, ChromaWidth, ChromaHeight, HasAlpha, Turns, Mirroring uint32
	}
	strip []byte // the pixels of some rows
	first int    // the number of the first of them
}

// Open reads everything but the pixels of a file.
func Open(file []byte) (*Picture, error) {
	d, err := compile()
	if err != nil {
		return nil, err
	}
	// The instance has neither files nor an environment nor a clock.
	p := &Picture{decoder: d}
	p.instance, err = d.runtime.InstantiateModule(d.context, d.compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, fmt.Errorf("avif: start the decoder: %w", err)
	}
	if err := p.readHeader(file); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close frees the memory of a picture.
func (p *Picture) Close() { _ = p.instance.Close(p.context) }

// call returns the result of a function.
func (p *Picture) call(function string, arguments ...uint64) (uint32, error) {
	results, err := p.instance.ExportedFunction(function).Call(p.context, arguments...)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errInvalid, err)
	}
	return uint32(results[0]), nil
}

func (p *Picture) readHeader(file []byte) error {
	at, err := p.call("malloc", uint64(len(file)))
	if err != nil || at == 0 || !p.instance.Memory().Write(at, file) {
		return errInvalid
	}
	const tooLarge = 2
	switch failed, err := p.call("read_header", uint64(at), uint64(len(file))); {
	case err != nil:
		return err
	case failed == tooLarge:
		return ErrTooLarge
	case failed != 0:
		return errInvalid
	}
	if at, err = p.call("header_address"); err != nil {
		return err
	}
	header, ok := p.instance.Memory().Read(at, uint32(binary.Size(p.header)))
	if !ok {
		return errInvalid
	}
	_, err = binary.Decode(header, binary.LittleEndian, &p.header)
	return err
}

// Config returns the size of a picture, before it is turned.
func (p *Picture) Config() image.Config {
	return image.Config{ColorModel: color.RGBAModel, Width: int(p.header.Width), Height: int(p.header.Height)}
}

// Orientation returns how a picture is shown, as an EXIF orientation from 1 to 8. Like browsers, it ignores EXIF data.
func (p *Picture) Orientation() int {
	return [3][4]int{{1, 8, 3, 6}, {4, 5, 2, 7}, {2, 7, 4, 5}}[p.header.Mirroring][p.header.Turns&3]
}

// Memory returns the bytes that Decode uses at most, besides those of the program and the file.
func (p *Picture) Memory() int64 {
	h := p.header
	depth, pixels := int64(1), int64(h.Width)*int64(h.Height)
	if h.Depth > 8 {
		depth = 2
	}
	chroma := 2 * int64(h.ChromaWidth) * int64(h.ChromaHeight)
	need := 2*depth*(pixels+chroma) + pixels/2 // with and without film grain or as tiles, and the modes of blocks
	if h.HasAlpha != 0 {
		need += depth*pixels + pixels/2
	}
	return need
}

// stripRows is the number of rows that are converted at a time, so that the whole picture is never converted.
const stripRows = 16

// Decode decodes the pixels of a picture. It returns an error if the file is not valid.
func (p *Picture) Decode() error {
	// A tile may have so many pixels, even if the picture is smaller.
	const smallTile = 64 * 64
	pixels := uint64(p.header.Width)*uint64(p.header.Height) + smallTile
	failed, err := p.call("decode", pixels, stripRows)
	if err == nil && failed != 0 {
		err = errInvalid
	}
	return err
}

// ColorModel implements image.Image.
func (p *Picture) ColorModel() color.Model { return color.RGBAModel }

// Bounds implements image.Image.
func (p *Picture) Bounds() image.Rectangle {
	return image.Rect(0, 0, int(p.header.Width), int(p.header.Height))
}

// At implements image.Image.
func (p *Picture) At(x, y int) color.Color { return p.RGBA64At(x, y) }

// RGBA64At implements image.RGBA64Image. It is fast for the next pixel of a row.
func (p *Picture) RGBA64At(x, y int) color.RGBA64 {
	if !(image.Point{X: x, Y: y}).In(p.Bounds()) {
		return color.RGBA64{}
	}
	row := 4 * int(p.header.Width)
	if y < p.first || y >= p.first+len(p.strip)/row {
		p.convert(y - y%stripRows)
	}
	pixel := p.strip[(y-p.first)*row+4*x:][:4]
	// Colors that a file has multiplied by alpha can exceed alpha after compression.
	alpha := pixel[3]
	of := func(c byte) uint16 { return 0x101 * uint16(min(c, alpha)) }
	return color.RGBA64{R: of(pixel[0]), G: of(pixel[1]), B: of(pixel[2]), A: of(alpha)}
}

// convert fills the strip. Decode has converted the first row, so errors are not expected.
func (p *Picture) convert(y int) {
	rows := min(stripRows, int(p.header.Height)-y)
	at, err := p.call("convert_rows", uint64(y), uint64(rows))
	strip, ok := p.instance.Memory().Read(at, 4*p.header.Width*uint32(rows))
	if err != nil || at == 0 || !ok {
		panic(fmt.Sprintf("avif: row %d cannot be converted: %v", y, err))
	}
	p.strip, p.first = strip, y
}
