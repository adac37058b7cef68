package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/limits"
)

// readBody reads a request body, which must be one JSON object. The path of such a request takes no parameters.
func readBody(r *http.Request) (*object, error) {
	if err := checkHeader(r); err != nil {
		return nil, err
	}
	raw, err := body(r)
	if err != nil {
		return nil, err
	}
	return parseBody(r, raw)
}

func checkHeader(r *http.Request) error {
	if err := readQuery(r).err(); err != nil {
		return err
	}
	return checkJSONContent(r)
}

// readOptionalBody is readBody for routes where an empty body means an empty object.
func readOptionalBody(r *http.Request) (*object, error) {
	raw, err := body(r)
	switch {
	case err != nil:
		return nil, err
	case len(raw) == 0:
		return &object{errs: tenancy.InvalidError{}}, nil
	}
	if err := checkJSONContent(r); err != nil {
		return nil, err
	}
	return parseBody(r, raw)
}

// readNoFields reads the body of a route that takes none, or an empty object.
func readNoFields(r *http.Request) error {
	body, err := readOptionalBody(r)
	if err != nil {
		return err
	}
	body.rejectUnknown()
	return body.errs.Err()
}

// body returns the whole body.
func body(r *http.Request) ([]byte, error) {
	spool := stateOf(r).body
	if spool == nil {
		return nil, nil
	}
	if err := spool.Reserve(r.Context()); err != nil {
		return nil, err
	}
	return spool.Part(0, int(spool.Size()))
}

// largeBody is the size from which a body is parsed with a CPU of the limits: smaller ones take about 10 ms.
const largeBody = 1 << 20

// parseBody parses the body of a request, which must be one JSON object.
func parseBody(r *http.Request, raw []byte) (*object, error) {
	if len(raw) > largeBody {
		release, err := stateOf(r).ticket.Take(r.Context(), limits.CPU, 1)
		if err != nil {
			return nil, err
		}
		defer release()
	}
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
