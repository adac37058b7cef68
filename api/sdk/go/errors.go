package storeroom

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrorCode is the code of an error. It is an error itself, so that errors.Is finds it:
//
//	if errors.Is(err, storeroom.ErrNotFound) { … }
type ErrorCode string

// Error returns the code.
func (c ErrorCode) Error() string { return string(c) }

// Error is a response that is not a success. errors.As finds it. A failure without a response is another error.
type Error struct {
	Status     int
	Code       ErrorCode           // empty if the response does not come from the service, and for 304
	Message    string              // for people
	Details    map[string][]string // by the name of the field, parameter or header
	Changed    []PlanRowChanged    // the rows of a plan that something else has changed
	RequestID  string              // include it when you report a problem
	RetryAfter time.Duration       // the time that the service demands
	Attempts   int                 // how often the request was sent
	Request    string              // method and path
}

// Error describes the error with the id of the request.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d %s", e.Request, e.Status, e.Code)
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Details)) {
		fmt.Fprintf(&b, " %s %s.", name, strings.Join(e.Details[name], ", "))
	}
	fmt.Fprintf(&b, " (request %s)", e.RequestID)
	return b.String()
}

// Is reports whether the error has the code.
func (e *Error) Is(target error) bool {
	code, is := target.(ErrorCode)
	return is && code == e.Code
}

// newError reads an error from a response, and closes it.
func newError(r request, resp *http.Response, attempts int) error {
	defer resp.Body.Close()
	e := &Error{
		Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id"), Attempts: attempts,
		RetryAfter: retryAfter(resp.Header.Get("Retry-After")), Request: r.method + " " + r.path,
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var body errorBody
	if err != nil || json.Unmarshal(content, &body) != nil {
		e.Message = http.StatusText(resp.StatusCode) // a proxy has answered
		return e
	}
	e.Code, e.Message, e.Details = body.Error.Code, body.Error.Message, body.Error.Details
	e.Changed = body.Error.Changed
	return e
}

// retryAfter reads seconds or a date.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), time.Millisecond)
	}
	return 0
}
