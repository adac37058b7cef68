package media

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// MaxMemory is what a child needs for any accepted picture: a progressive JPEG file of 50 megapixels with full color
// resolution.
const MaxMemory = 896 << 20

// processTimeout is longer than the CPU time of a child, because others use the CPUs first.
const processTimeout = 30 * time.Second

// ErrUnsupported reports that an upload has no supported format. The InvalidError with it says which are.
var ErrUnsupported = errors.New("unsupported format")

// ErrSlow reports that other processes needed the CPUs. The caller may try again.
var ErrSlow = errors.New("the picture was not decoded in time")

// Processed is a picture in all sizes, which is not stored yet.
type Processed struct {
	File          string // its name in the storage
	Width, Height int    // of the full picture
	Bytes         int64  // of all sizes
	sizes         []size
	content       io.Reader
}

// Process decodes an upload of a tenant in a child process with a memory limit. buffer gets the output of the child; newReader
// reads it. Process returns an InvalidError, which is also an ErrUnsupported, if the picture is not accepted.
func Process(
	ctx context.Context, tenant tenancy.ID, memory int64, upload io.Reader, buffer io.Writer,
	newReader func() (io.Reader, error),
) (p Processed, err error) {
	began := time.Now()
	defer func() { recordProcessed(ctx, time.Since(began), err) }()
	deadline, cancel := context.WithTimeout(ctx, processTimeout)
	defer cancel()
	var messages bytes.Buffer
	child := exec.CommandContext(deadline, "/proc/self/exe")
	child.Args = []string{childName}
	child.Env = []string{
		fmt.Sprintf("%s=%d", memoryVariable, memory),
		fmt.Sprintf("GOMEMLIMIT=%d", memory-memory/8), "GOGC=50", "GOMAXPROCS=1",
	}
	child.Dir = "/"
	child.WaitDelay = time.Second
	output := &remembered{to: buffer}
	child.Stdin, child.Stdout, child.Stderr = upload, output, &limited{&messages, 2000}
	err = child.Run()
	_, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return p, ctx.Err()
	case output.err != nil: // which ended the child
		return p, output.err
	case deadline.Err() != nil:
		return p, ErrSlow
	case failed:
		return p, fmt.Errorf("%w: a child process ended: %w: %.500s",
			tenancy.InvalidError{"file": {"cannot be decoded"}}, err, messages.String())
	case err != nil:
		return p, fmt.Errorf("process a picture: %w", err)
	}
	written, err := newReader()
	if err != nil {
		return p, fmt.Errorf("read a buffer: %w", err)
	}
	return readProcessed(tenant, written)
}

func readProcessed(tenant tenancy.ID, output io.Reader) (p Processed, err error) {
	content := bufio.NewReader(output)
	line, err := content.ReadBytes('\n')
	if err != nil {
		return p, fmt.Errorf("read the output of a child process: %w", err)
	}
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return p, fmt.Errorf("read the output of a child process: %w", err)
	}
	if h.Refused != "" {
		var refused error = tenancy.InvalidError{"file": {h.Refused}}
		if h.Unsupported {
			refused = fmt.Errorf("%w: %w", ErrUnsupported, refused)
		}
		return p, refused
	}
	p = Processed{File: newFile(tenant, h.Type), Width: h.Width, Height: h.Height, sizes: h.Sizes, content: content}
	for _, s := range h.Sizes {
		p.Bytes += s.Bytes
	}
	return p, nil
}

// Write stores a picture in all sizes. It returns an ErrStorage.
func (s *Store) Write(ctx context.Context, p Processed) error {
	for _, size := range p.sizes {
		if err := s.write(ctx, Name(p.File, size.Width), p.content, size.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// remembered keeps the error of a writer.
type remembered struct {
	to  io.Writer
	err error
}

// Write implements io.Writer.
func (r *remembered) Write(p []byte) (n int, err error) {
	if n, err = r.to.Write(p); err != nil {
		r.err = err
	}
	return n, err
}

// limited drops everything after a number of bytes.
type limited struct {
	to   *bytes.Buffer
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.to.Write(p[:n])
	l.left -= n
	return len(p), nil
}
