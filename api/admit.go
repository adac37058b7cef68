package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"time"

	"github.com/storeroom/storeroom/tenancy/admission"
)

const (
	// bodyTimeout is how long each bodyPart bytes of a body may take to arrive.
	bodyTimeout = 5 * time.Second
	bodyPart    = 64 << 10
	// maxDiscarded is how much of an oversized body is read before the response: a client
	// that is still sending would not read a response that comes earlier.
	maxDiscarded = 32 << 20
	// responseTimeout is the time for the work on a large body and its response. Such a body can arrive for longer than
	// the server's WriteTimeout.
	responseTimeout = 2 * time.Minute
	// refusalDelay is the time before the refusal of an attempt to sign in. Clients that guess passwords try again at
	// once, so it bounds the work for refusals.
	refusalDelay = time.Second
)

var errIncomplete = errors.New("the body ended before it was complete")

// admit reads the body, waits until the request may run, and calls next. A slow body costs no more
// than its connection. next reads the body from r.Body or with body.
func (s *Server) admit(
	w http.ResponseWriter, r *http.Request, ticket *admission.Ticket, maxBody int64, next handler,
) error {
	state := stateOf(r)
	state.ticket = ticket
	if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		spool := ticket.NewSpool()
		defer spool.Close()
		if err := s.receive(w, r, spool, maxBody); err != nil {
			return err
		}
		state.body = spool
		r.Body = io.NopCloser(spool.Reader())
	}
	finish, err := ticket.Start(r.Context())
	if err != nil {
		return err
	}
	defer finish()
	recorded := w.(*recorder)
	recorded.ticket = ticket
	recorded.finish = func() {
		if ticket.Streams() {
			return
		}
		finish()
		s.WaitsForClient(r.Context(), true)
		if recorded.status == http.StatusTooManyRequests && ticket.IsVisitor() {
			sleep(r.Context(), s.limits.refusalDelay)
		}
	}
	return next(w, r)
}

// sleep waits until ctx ends, at most for d.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// receive reads a body of at most limit bytes.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, spool *admission.Spool, limit int64) (err error) {
	tooLarge := &http.MaxBytesError{Limit: limit}
	if r.ContentLength > limit && (r.Header.Get("Expect") != "" || r.ContentLength > maxDiscarded) {
		return tooLarge
	}
	s.WaitsForClient(r.Context(), true)
	defer s.WaitsForClient(r.Context(), false)
	body := &timedBody{
		body: r.Body, ctx: r.Context(), controller: http.NewResponseController(w), timeout: s.limits.bodyTimeout,
		ticket: stateOf(r).ticket, ended: r.Body == http.NoBody,
	}
	defer func() { // also if the body is refused
		if err != nil || spool.Size() > bodyPart {
			_ = body.controller.SetWriteDeadline(time.Now().Add(responseTimeout))
		}
	}()
	// The first buffer is small because many clients may be slow. Small buffers would use much CPU time for a large
	// body.
	_, err = io.CopyBuffer(spool, io.LimitReader(body, min(bodyPart, limit+1)), make([]byte, 4<<10))
	if err == nil && spool.Size() == bodyPart {
		buffer := 4 << 10
		if release, ok := body.ticket.TryMemory(bodyPart); ok {
			defer release()
			buffer = bodyPart
		}
		copies := copyWriter{spool, r.Context(), body.ticket}
		_, err = io.CopyBuffer(copies, io.LimitReader(body, limit+1-bodyPart), make([]byte, buffer))
	}
	switch {
	case err != nil && body.err == nil: // the share of disk or of copies is in use
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errIncomplete, err)
	case spool.Size() > limit:
		_, _ = io.CopyN(io.Discard, body, maxDiscarded)
		return tooLarge
	}
	spool.End(nil)
	return nil
}

// copyWriter counts each Write as a copy of a part of a large body.
type copyWriter struct {
	io.Writer
	ctx    context.Context
	ticket *admission.Ticket
}

// Write implements io.Writer.
func (w copyWriter) Write(p []byte) (int, error) {
	release, err := w.ticket.Copy(w.ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	return w.Writer.Write(p)
}

const (
	// A Read of fewer bytes than smallRead uses too much CPU time per byte: the chunks are tiny, or the client is slow.
	// After largestSmall bytes, the next Read counts as a copy.
	smallRead, largestSmall = 1 << 10, 4 << 10
	// readTurn is longer than the CPU time of a Read. A Read that takes longer is waiting for its client.
	readTurn = time.Millisecond
)

// timedBody reads a body. Each part must arrive in time.
type timedBody struct {
	body       io.Reader
	ctx        context.Context
	controller *http.ResponseController
	timeout    time.Duration
	ticket     *admission.Ticket
	read       int64 // bytes
	part       int64 // the number of bytes at which the deadline moves
	small      bool  // the last Read returned fewer bytes than smallRead
	ended      bool  // at its end
	err        error // the last error, except io.EOF
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	if b.small && b.read >= largestSmall {
		release, err := b.ticket.Copy(b.ctx)
		if err != nil {
			return 0, err
		}
		defer release()
		defer time.AfterFunc(readTurn, release).Stop()
	}
	// After its end, the server reads until the client disconnects. A deadline would cancel the context of this request
	// and of all later ones on the connection.
	if b.read >= b.part && !b.ended {
		runtime.Gosched() // requests that need little of the CPU run first
		_ = b.controller.SetReadDeadline(time.Now().Add(b.timeout))
		b.part += bodyPart
	}
	n, err := b.body.Read(p)
	b.read += int64(n)
	b.small, b.ended = n < smallRead, err == io.EOF
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}
