package api

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/idempotency"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/spool"
)

// idempotent reports whether a route accepts an Idempotency-Key: every POST that
// writes does, except the test of a webhook, which must hold no connection while it waits for the receiver.
func (r route) idempotent() bool {
	return r.method == http.MethodPost && mayWrite(r.permission) && r.class() != limits.Feed
}

// mayWrite reports whether requests with a permission write.
func mayWrite(p keys.Permission) bool {
	return strings.HasSuffix(string(p), ":write") || p == keys.PlansPropose
}

// once runs a handler under the request's Idempotency-Key, if it has one. The work and the stored response are one
// transaction, which is repeated after a deadlock; a duplicate gets the stored response.
func (s *Server) once(h handler) handler {
	return s.onceFor(func(r *http.Request) (idempotency.Fingerprint, error) {
		content := stateOf(r).body
		if err := content.Reserve(r.Context()); err != nil { // before it holds a connection
			return idempotency.Fingerprint{}, err
		}
		h := newFingerprint(r)
		form, err := readForm(r)
		if err != nil { // JSON
			_, err = io.Copy(h, content.Reader())
		} else {
			err = copyForm(h, form)
		}
		return idempotency.Fingerprint(h.Sum(nil)), err
	}, h)
}

// onceFor is once with a function for the fingerprint of the request.
func (s *Server) onceFor(digestOf func(*http.Request) (idempotency.Fingerprint, error), h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		key, err := idempotencyKey(r)
		if err != nil {
			return err
		}
		if key == "" {
			return h(w, r)
		}
		digest, err := digestOf(r)
		if err != nil {
			return err
		}
		err = db.Retry(r.Context(), maxClaims, func() error { return s.claim(w, r, key, digest, h) })
		countIdempotency(r, w.Header().Get(replayedHeader) != "", err)
		return err
	}
}

const replayedHeader = "Idempotent-Replayed"

// maxClaims bounds how often a request claims its key if PostgreSQL aborts its transaction because of a deadlock.
const maxClaims = 3

// claim runs a handler in the transaction that claims the key of the request, or sends the stored response.
func (s *Server) claim(
	w http.ResponseWriter, r *http.Request, key string, digest idempotency.Fingerprint, h handler,
) error {
	state := stateOf(r)
	claim, stored, err := idempotency.Begin(r.Context(), state.db, tenant(r), key, digest)
	switch {
	case err != nil:
		return err
	case stored != nil:
		w.Header().Set(replayedHeader, "true")
		sendStored(w, *stored)
		return nil
	}
	defer func(outside *db.DB) { state.db = outside }(state.db)
	defer claim.Rollback(r.Context()) // also after a panic; after Commit it does nothing
	state.db, state.created = claim.Tx, nil
	recorder := &responseRecorder{header: http.Header{}, status: http.StatusOK}
	if err := h(recorder, r); err != nil {
		return err
	}
	response := recorder.response()
	if err := claim.Commit(r.Context(), response, !state.route.options.neverRefused); err != nil {
		return err
	}
	sendStored(w, response)
	return nil
}

// newFingerprint returns the digest of a request's method, path and parameters, to which its content is to be written.
// The lengths keep the parts apart. A response must not be replayed to a key that may read less than the one that got
// it, so the permissions on which the response depends are part of the method.
func newFingerprint(r *http.Request) hash.Hash {
	method := r.Method
	for _, read := range shownBy[stateOf(r).route.permission] {
		if !principal(r).Permissions.Allow(read) {
			resource, _, _ := strings.Cut(string(read), ":")
			method += " without " + resource
		}
	}
	path := r.URL.RawPath
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	h := sha256.New()
	for _, part := range []string{method, path} {
		io.WriteString(h, strconv.Itoa(len(part))+":"+part)
	}
	return h
}

// shownBy are the permissions on which responses to writes depend, by the permission of the route.
var shownBy = map[keys.Permission]keys.Permissions{
	keys.OrdersWrite:   {keys.CustomersRead},
	keys.ImportsWrite:  {keys.CustomersRead, keys.ProductsRead, keys.OrdersRead},
	keys.WebhooksWrite: {keys.CustomersRead, keys.ProductsRead, keys.OrdersRead},
}

// copyForm writes the parts of a form without its boundary, which clients choose at random for each attempt. A form
// that is not valid has the fingerprint of its valid parts; the handler refuses it.
func copyForm(to io.Writer, form *spool.Form) error {
	for {
		part, err := form.NextPart()
		if err != nil {
			return nil
		}
		content := sha256.New()
		n, readErr := io.Copy(content, part)
		_, err = fmt.Fprintf(to, "%q %q %d %x ", part.FormName(), part.FileName(), n, content.Sum(nil))
		if err != nil || readErr != nil {
			return err
		}
	}
}

// idempotencyKey returns the value of the header, or "" if it is absent.
func idempotencyKey(r *http.Request) (string, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key, problem := tenancy.SingleLine(values[0], idempotency.MaxKey)
	if len(values) > 1 || key == "" || problem != "" {
		return "", &apiError{code: InvalidHeader, details: tenancy.InvalidError{
			"Idempotency-Key": {"must be one value of 1 to 255 characters without control characters"},
		}}
	}
	return key, nil
}

func sendStored(w http.ResponseWriter, response idempotency.Response) {
	maps.Copy(w.Header(), response.Header)
	writeBody(w, int(response.Status), jsonType, response.Body)
}

// responseRecorder keeps a handler's response until its work is committed. It has separate headers; those that
// middleware has set stay on the real response.
type responseRecorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *responseRecorder) response() idempotency.Response {
	return idempotency.Response{Status: int16(r.status), Header: r.header, Body: r.body.Bytes()}
}

// Header implements http.ResponseWriter.
func (r *responseRecorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *responseRecorder) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *responseRecorder) Write(b []byte) (int, error) { return r.body.Write(b) }
