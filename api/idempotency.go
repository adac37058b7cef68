package api

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/idempotency"
)

// idempotent says whether a route takes an Idempotency-Key: every POST that
// writes does.
func (r route) idempotent() bool {
	return r.method == http.MethodPost && strings.HasSuffix(string(r.permission), ":write")
}

// once runs a handler under the request's Idempotency-Key, if it has one: its work
// and the record of its answer are one transaction, and a twin gets that answer.
func (s *Server) once(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		key, err := idempotencyKey(r)
		if err != nil {
			return err
		}
		if key == "" {
			return h(w, r)
		}
		body, err := readAll(r, stateOf(r).route.bodyLimit(s.limits))
		if err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		fingerprint := idempotency.FingerprintOf(r.Method+maySee(r), r.URL.RawPath, body)
		ctx, claim, before, err := idempotency.Begin(r.Context(), s.DB, tenant(r), key, fingerprint)
		countIdempotency(r, before != nil, err)
		switch {
		case err != nil:
			return err
		case before != nil:
			w.Header().Set("Idempotent-Replayed", "true")
			replay(w, *before)
			return nil
		}
		defer claim.Rollback(r.Context()) // after a panic too; after the commit it does nothing
		kept := &answer{header: http.Header{}, status: http.StatusOK}
		if err := h(kept, r.WithContext(ctx)); err != nil {
			return err
		}
		stored := idempotency.Answer{Status: int16(kept.status), Header: textproto.MIMEHeader(kept.header), Body: kept.body.Bytes()}
		if err := claim.Commit(r.Context(), stored); err != nil {
			return err
		}
		replay(w, stored)
		return nil
	}
}

// maySee tells apart, where an answer holds names of customers, who may see them: a
// key must not get by repeating what another key was shown.
func maySee(r *http.Request) string {
	if stateOf(r).route.permission == keys.OrdersWrite && !principal(r).Permissions.Allow(keys.CustomersRead) {
		return " without customers"
	}
	return ""
}

// idempotencyKey reads the header; "" is none.
func idempotencyKey(r *http.Request) (string, error) {
	given := r.Header.Values("Idempotency-Key")
	if len(given) == 0 {
		return "", nil
	}
	n := utf8.RuneCountInString(given[0])
	if len(given) > 1 || n < 1 || n > idempotency.MaxKey || checkText(given[0]) != nil || strings.ContainsFunc(given[0], unicode.IsControl) {
		return "", &apiError{code: InvalidHeader, details: tenancy.InvalidError{
			"Idempotency-Key": {"must be one value of 1 to 255 characters without control characters"},
		}}
	}
	return given[0], nil
}

func replay(w http.ResponseWriter, a idempotency.Answer) {
	maps.Copy(w.Header(), a.Header)
	send(w, int(a.Status), a.Body)
}

// answer keeps what a handler writes until its work is committed.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is the answer's own; what middleware set stays on the real one.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write keeps a part of the body.
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
