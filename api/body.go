package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"

	"github.com/storeroom/storeroom/tenancy"
)

// maxDiscarded is how much of an oversized body is read before the response: a client
// that is still sending would not read a response that comes earlier.
const maxDiscarded = 32 << 20

// readBody reads a request body, which must be one JSON object with the content type
// application/json. The path of such a request takes no parameters.
func (s *Server) readBody(r *http.Request) (*object, error) {
	if err := readQuery(r).err(); err != nil {
		return nil, err
	}
	if !hasJSONContent(r.Header) {
		return nil, &apiError{code: UnsupportedMediaType}
	}
	raw, err := readAll(r, stateOf(r).route.bodyLimit(s.limits))
	if err != nil {
		return nil, err
	}
	return parseBody(raw)
}

// readOptionalBody is readBody for routes where an empty body means an empty object.
func (s *Server) readOptionalBody(r *http.Request) (*object, error) {
	raw, err := readAll(r, stateOf(r).route.bodyLimit(s.limits))
	switch {
	case err != nil:
		return nil, err
	case len(raw) == 0:
		return &object{errs: tenancy.InvalidError{}}, nil
	case !hasJSONContent(r.Header):
		return nil, &apiError{code: UnsupportedMediaType}
	}
	return parseBody(raw)
}

// hasJSONContent accepts application/json with any charset and without compression.
func hasJSONContent(h http.Header) bool {
	encoding := h.Get("Content-Encoding")
	mediaType, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	delete(parameters, "charset")
	return err == nil && mediaType == "application/json" && len(parameters) == 0 &&
		(encoding == "" || encoding == "identity")
}

// readAll reads a body of at most limit bytes.
func readAll(r *http.Request, limit int64) ([]byte, error) {
	tooLarge := &apiError{code: PayloadTooLarge, message: fmt.Sprintf("The body is larger than %d bytes.", limit)}
	if r.ContentLength > limit && (r.Header.Get("Expect") != "" || r.ContentLength > maxDiscarded) {
		return nil, tooLarge
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case err != nil:
		return nil, &apiError{code: InvalidJSON, message: "The body ended before it was complete.", cause: err}
	case int64(len(raw)) > limit:
		_, _ = io.CopyN(io.Discard, r.Body, maxDiscarded)
		return nil, tooLarge
	}
	return raw, nil
}

func parseBody(raw []byte) (*object, error) {
	if !utf8.Valid(raw) {
		return nil, &apiError{code: InvalidJSON, message: "The body is not valid UTF-8."}
	}
	o, err := parseObject(raw, "", tenancy.InvalidError{})
	if err != nil {
		return nil, &apiError{code: InvalidJSON, message: fmt.Sprintf("The body must be one JSON object: %v.", err)}
	}
	return o, nil
}

// parseObject parses raw, which must be valid UTF-8, as one JSON object.
func parseObject(raw []byte, path string, errs tenancy.InvalidError) (*object, error) {
	if !json.Valid(raw) {
		err := json.Unmarshal(raw, new(any))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("%w (at byte %d)", err, syntax.Offset)
		}
		return nil, errors.New("syntax error")
	}
	return newObject(raw, path, errs)
}
