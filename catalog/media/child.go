package media

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"strconv"
	"syscall"
)

// childName is the name of the child process in its arguments.
const childName = "storeroom image"

// memoryVariable has the bytes that the child may use.
const memoryVariable = "STOREROOM_IMAGE_MEMORY"

// IsChild reports whether this process is to process one picture. The program and the tests that upload pictures call
// it first, and then RunChild.
func IsChild() bool { return len(os.Args) > 0 && os.Args[0] == childName }

// RunChild reads a picture from standard input, writes a header and the encoded pictures to standard output, and
// returns the exit code.
func RunChild() int {
	memory, err := strconv.ParseInt(os.Getenv(memoryVariable), 10, 64)
	if err == nil {
		err = limitChild(memory)
	}
	if err == nil {
		err = respond(os.Stdin, os.Stdout, memory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// maxSeconds is the CPU time of a child. 50 megapixels need a few seconds.
const maxSeconds = 20

// limitChild makes the kernel end a child that exceeds its limits, or before other processes when memory is short, and
// lowers its priority. A sandbox may forbid the last two.
func limitChild(memory int64) error {
	const dataSegment = 2 // RLIMIT_DATA; address space that is only reserved does not count
	for resource, limit := range map[int]uint64{
		dataSegment: uint64(memory), syscall.RLIMIT_CPU: maxSeconds, syscall.RLIMIT_FSIZE: 0, syscall.RLIMIT_CORE: 0,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit the resources: %w", err)
		}
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 10)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	return nil
}

// header is the first line of a child's output.
type header struct {
	Refused       string // why the picture is not accepted, or ""
	Unsupported   bool   // the refusal is about the format
	Type          string // jpg or png
	Width, Height int    // of the full picture
	Sizes         []size // the full picture, which has the width 0, and the others
}

type size struct {
	Width int
	Bytes int64
}

// refusal is the reason why a picture is not accepted.
type refusal struct {
	reason      string
	unsupported bool
}

func (r *refusal) Error() string { return r.reason }

func respond(from io.Reader, to io.Writer, memory int64) error {
	var upload bytes.Buffer
	upload.Grow(1 << 20)
	if _, err := upload.ReadFrom(io.LimitReader(from, MaxFile+1)); err != nil {
		return err
	}
	h, pictures, err := process(upload.Bytes(), memory)
	if refused, ok := err.(*refusal); ok {
		h = header{Refused: refused.reason, Unsupported: refused.unsupported}
	} else if err != nil {
		return err
	}
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	for _, part := range append([][]byte{append(line, '\n')}, pictures...) {
		if _, err := to.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// process decodes a picture and encodes it again in all sizes.
func process(upload []byte, memory int64) (h header, pictures [][]byte, err error) {
	original, orientation, err := decode(upload, memory)
	if err != nil {
		return h, nil, err
	}
	w, height := original.Bounds().Dx(), original.Bounds().Dy()
	if orientation >= 5 {
		w, height = height, w
	}
	w, height = fit(w, height, fullSize, fullSize)
	if orientation >= 5 {
		w, height = height, w
	}
	full := orient(shrink(original, w, height), orientation)
	h = header{Type: "png", Width: full.Rect.Dx(), Height: full.Rect.Dy()}
	if full.Opaque() {
		h.Type = "jpg"
	}
	for _, width := range append([]int{0}, Widths...) {
		picture, quality := full, 90
		if width > 0 {
			if !Has(h.Width, h.Height, width) {
				continue
			}
			w, height := fit(h.Width, h.Height, width, 2*width)
			picture, quality = shrink(full, w, height), 82
		}
		encoded, err := encode(picture, h.Type, quality)
		if err != nil {
			return h, nil, err
		}
		h.Sizes = append(h.Sizes, size{width, int64(len(encoded))})
		pictures = append(pictures, encoded)
	}
	return h, pictures, nil
}

func encode(picture *image.RGBA, kind string, quality int) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if kind == "jpg" {
		err = jpeg.Encode(&b, picture, &jpeg.Options{Quality: quality})
	} else {
		err = png.Encode(&b, picture)
	}
	return b.Bytes(), err
}
