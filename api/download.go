package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/storeroom/storeroom/tenancy/spool"
)

// readerTimeout is how long a client may take to accept one part of a download.
const readerTimeout = 30 * time.Second

// download streams a file. An error before the first byte becomes an error response; after it,
// the connection is aborted, so that the client detects the incomplete file.
type download struct {
	w           http.ResponseWriter
	timeout     time.Duration // for the client to accept one part
	started     bool
	began       time.Time // when it started
	contentType string
	name        string
	size        int64 // in bytes; 0 means unknown

	coding     *coding // nil if the file is not compressed
	compressor compressor
}

// stream sends the output of write.
func (d *download) stream(state *requestState, write func(io.Writer) error) error {
	buffer := bufio.NewWriterSize(d, 64<<10)
	defer d.endCompression()
	defer func() {
		if recorded, ok := d.w.(*recorder); ok && d.started {
			spanSince(recorded.request.Context(), "send", d.began)
		}
	}()
	err := write(buffer)
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil && d.compressor != nil {
		err = d.compressor.Close()
	}
	switch {
	case err != nil && d.started:
		state.err, state.aborted = err, true
		panic(http.ErrAbortHandler)
	case err != nil:
		return err
	}
	d.start() // an empty file has no Write
	return nil
}

// readAhead sends the output of write through a spool, so that write does not wait for the client. Then it sends the
// output of each of rest, at the speed of the client.
func (d *download) readAhead(
	r *http.Request, write func(context.Context, io.Writer) error, rest ...func(context.Context, io.Writer) error,
) error {
	ahead := spool.New(stateOf(r).ticket)
	defer ahead.Close()
	ctx, cancel := context.WithCancel(r.Context())
	var writer sync.WaitGroup
	defer writer.Wait()
	defer cancel()
	writer.Go(func() { ahead.End(writeSpool(ctx, ahead, write)) })
	return d.stream(stateOf(r), func(to io.Writer) error {
		if _, err := io.Copy(to, ahead.Reader()); err != nil {
			return err
		}
		writer.Wait()
		if err := ahead.Close(); err != nil {
			return err
		}
		for _, write := range rest {
			if err := write(r.Context(), to); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeSpool returns a panic as an error, because recoverPanic handles only the goroutine of the
// request.
func writeSpool(ctx context.Context, spool io.Writer, write func(context.Context, io.Writer) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	buffer := bufio.NewWriterSize(spool, 64<<10)
	if err := write(ctx, buffer); err != nil {
		return err
	}
	return buffer.Flush()
}

// start sends the headers once.
func (d *download) start() {
	if d.started {
		return
	}
	d.started, d.began = true, time.Now()
	h := d.w.Header()
	h.Set("Content-Type", d.contentType)
	h.Set("Content-Disposition", `attachment; filename="`+d.name+`"`)
	if !d.isCompressed() {
		varies(h)
	}
	if d.coding != nil {
		h.Set("Content-Encoding", d.coding.name)
	}
	if d.size > 0 {
		h.Set("Content-Length", strconv.FormatInt(d.size, 10))
	}
	d.w.WriteHeader(http.StatusOK)
}

// Write sends a part of the file.
func (d *download) Write(b []byte) (int, error) {
	setWriteDeadline(d.w, d.timeout)
	if !d.started {
		d.beginCompression(len(b))
		d.start()
	}
	if d.compressor == nil {
		return d.w.Write(b)
	}
	n, err := d.compressor.Write(b)
	if err == nil {
		err = d.compressor.Flush() // the client must not wait for the next part
	}
	if err == nil {
		err = http.NewResponseController(d.w).Flush()
	}
	return n, err
}

// isCompressed reports whether the format of the file is compressed.
func (d *download) isCompressed() bool {
	return d.contentType == contentTypes[xlsxFormat] || d.contentType == zipType
}

// beginCompression compresses the file if the client accepts it. first is the size of the first part.
func (d *download) beginCompression(first int) {
	if d.isCompressed() {
		return
	}
	if c := codingOf(d.w, first); c != nil {
		d.coding, d.compressor = c, c.get(d.w)
	}
}

func (d *download) endCompression() {
	if d.coding != nil {
		d.coding.put(d.compressor)
	}
}

// setWriteDeadline replaces the server's write deadline, which suits short responses. A
// response that is recorded for an Idempotency-Key has no deadline.
func setWriteDeadline(w http.ResponseWriter, timeout time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout))
}
