package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"time"

	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/spool"
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
	w http.ResponseWriter, r *http.Request, ticket *limits.Ticket, maxBody int64, next handler,
) error {
	state := stateOf(r)
	state.ticket = ticket
	if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		body := spool.New(ticket)
		defer body.Close()
		if err := s.receive(w, r, body, maxBody); err != nil {
			return err
		}
		state.body = body
		r.Body = io.NopCloser(body.Reader())
	}
	if err := ticket.Start(r.Context()); err != nil {
		return err
	}
	recorded := w.(*recorder)
	recorded.ticket = ticket
	recorded.finish = func() {
		if ticket.Class.Streams() {
			return
		}
		ticket.Finish()
		s.WaitsForClient(r.Context(), true)
		if recorded.status == http.StatusTooManyRequests && ticket.Class == limits.Page {
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
func (s *Server) receive(w http.ResponseWriter, r *http.Request, content *spool.Spool, limit int64) (err error) {
	tooLarge := &http.MaxBytesError{Limit: limit}
	if r.ContentLength > limit && (r.Header.Get("Expect") != "" || r.ContentLength > maxDiscarded) {
		return tooLarge
	}
	s.WaitsForClient(r.Context(), true)
	defer s.WaitsForClient(r.Context(), false)
	body := &timedBody{
		body: r.Body, controller: http.NewResponseController(w), timeout: s.limits.bodyTimeout,
		ended: r.Body == http.NoBody,
	}
	defer func() { // also if the body is refused
		if err != nil || content.Size() > bodyPart {
			_ = body.controller.SetWriteDeadline(time.Now().Add(responseTimeout))
		}
	}()
	// The first buffer is small because many clients may be slow. Small buffers would use much CPU time for a large
	// body.
	_, err = io.CopyBuffer(content, io.LimitReader(body, min(bodyPart, limit+1)), make([]byte, 4<<10))
	if err == nil && content.Size() == bodyPart {
		_, err = io.CopyBuffer(content, io.LimitReader(body, limit+1-bodyPart), make([]byte, 16<<10))
	}
	switch {
	case err != nil && body.err == nil: // the share of disk is in use
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errIncomplete, err)
	case content.Size() > limit:
		_, _ = io.CopyN(io.Discard, body, maxDiscarded)
		return tooLarge
	}
	content.End(nil)
	return nil
}

// timedBody reads a body. Each part must arrive in time.
type timedBody struct {
	body       io.Reader
	controller *http.ResponseController
	timeout    time.Duration
	read       int64 // bytes
	part       int64 // the number of bytes at which the deadline moves
	ended      bool  // at its end
	err        error // the last error, except io.EOF
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	runtime.Gosched() // requests that need little of the CPU run first
	// After its end, the server reads until the client disconnects. A deadline would cancel the context of this request
	// and of all later ones on the connection.
	if b.read >= b.part && !b.ended {
		_ = b.controller.SetReadDeadline(time.Now().Add(b.timeout))
		b.part += bodyPart
	}
	n, err := b.body.Read(p)
	b.read += int64(n)
	b.ended = err == io.EOF
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}
