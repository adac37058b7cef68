package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/idempotency"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// Code is an error code. Clients branch on it, so the list is closed.
type Code string

// The codes. A new code extends the contract.
const (
	InvalidJSON             Code = "INVALID_JSON"
	InvalidParameter        Code = "INVALID_PARAMETER"
	InvalidHeader           Code = "INVALID_HEADER"
	MissingAPIKey           Code = "MISSING_API_KEY"
	InvalidAPIKey           Code = "INVALID_API_KEY"
	InsufficientPermissions Code = "INSUFFICIENT_PERMISSIONS"
	TenantSuspended         Code = "TENANT_SUSPENDED"
	QuotaExceeded           Code = "QUOTA_EXCEEDED"
	NotFound                Code = "NOT_FOUND"
	RouteNotFound           Code = "ROUTE_NOT_FOUND"
	MethodNotAllowed        Code = "METHOD_NOT_ALLOWED"
	IdempotencyInProgress   Code = "IDEMPOTENCY_IN_PROGRESS"
	ResourceInUse           Code = "RESOURCE_IN_USE"
	InvalidState            Code = "INVALID_STATE"
	PreconditionFailed      Code = "PRECONDITION_FAILED"
	PayloadTooLarge         Code = "PAYLOAD_TOO_LARGE"
	UnsupportedMediaType    Code = "UNSUPPORTED_MEDIA_TYPE"
	ValidationError         Code = "VALIDATION_ERROR"
	InsufficientStock       Code = "INSUFFICIENT_STOCK"
	IdempotencyKeyReused    Code = "IDEMPOTENCY_KEY_REUSED"
	RateLimitExceeded       Code = "RATE_LIMIT_EXCEEDED"
	InternalError           Code = "INTERNAL_ERROR"
	ServiceUnavailable      Code = "SERVICE_UNAVAILABLE"
	CursorExpired           Code = "CURSOR_EXPIRED"
)

// codes maps each code to its status and its default message.
var codes = map[Code]struct {
	status  int
	message string
}{
	InvalidJSON:             {http.StatusBadRequest, "The body must be one JSON object."},
	InvalidParameter:        {http.StatusBadRequest, "Invalid parameter. See details."},
	InvalidHeader:           {http.StatusBadRequest, "Invalid header. See details."},
	MissingAPIKey:           {http.StatusUnauthorized, "No API key provided. Send Authorization: Bearer <API_KEY>."},
	InvalidAPIKey:           {http.StatusUnauthorized, "Invalid API key."},
	InsufficientPermissions: {http.StatusForbidden, "The API key does not have the required permission."},
	TenantSuspended:         {http.StatusForbidden, "The account is suspended."},
	QuotaExceeded:           {http.StatusForbidden, "The account's quota is used up. See details."},
	NotFound:                {http.StatusNotFound, "Resource not found."},
	RouteNotFound:           {http.StatusNotFound, "Route not found."},
	MethodNotAllowed:        {http.StatusMethodNotAllowed, "Method not allowed. See the Allow header."},
	IdempotencyInProgress:   {http.StatusConflict, "A request with this Idempotency-Key is in progress."},
	ResourceInUse:           {http.StatusConflict, "The resource is in use."},
	InvalidState:            {http.StatusConflict, "The state of the resource does not allow this."},
	CursorExpired: {
		http.StatusGone, "The cursor has expired. Get a new one with after=now, then read all objects again.",
	},
	PreconditionFailed:   {http.StatusPreconditionFailed, "The resource does not match the precondition."},
	PayloadTooLarge:      {http.StatusRequestEntityTooLarge, "The body is too large."},
	UnsupportedMediaType: {http.StatusUnsupportedMediaType, "The body has an unsupported type or encoding."},
	ValidationError:      {http.StatusUnprocessableEntity, "Validation failed. See details."},
	InsufficientStock:    {http.StatusUnprocessableEntity, "Insufficient stock."},
	IdempotencyKeyReused: {http.StatusUnprocessableEntity, "This Idempotency-Key was used for another request."},
	RateLimitExceeded:    {http.StatusTooManyRequests, "Rate limit exceeded. Retry after the time in Retry-After."},
	InternalError:        {http.StatusInternalServerError, "Internal error."},
	ServiceUnavailable:   {http.StatusServiceUnavailable, "Service unavailable. Retry after the time in Retry-After."},
}

// apiError is an error with the response that the client gets.
type apiError struct {
	code       Code
	message    string               // defaults to the message of the code
	details    tenancy.InvalidError // by field or parameter
	changed    []changedRow         // rows of a plan that something else has changed
	retryAfter time.Duration        // for Retry-After, which is at least one second
	cause      error                // for the log only
}

// Error returns the text for the log.
func (e *apiError) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	return string(e.code)
}

// Unwrap returns the cause.
func (e *apiError) Unwrap() error { return e.cause }

// domainErrors maps errors of the domain packages to responses, the first that matches. Any other error is a 500, whose
// cause is only in the log.
var domainErrors = []func(error) (apiError, bool){
	func(err error) (apiError, bool) {
		invalid, _ := errors.AsType[tenancy.InvalidError](err)
		text := "The file is not supported: it " + strings.Join(invalid["file"], "") + "."
		return apiError{code: UnsupportedMediaType, message: text}, errors.Is(err, media.ErrUnsupported)
	},
	as(func(e tenancy.InvalidError) apiError { return apiError{code: ValidationError, details: e} }),
	as(func(e sales.StockError) apiError {
		details := tenancy.InvalidError(e)
		return apiError{code: InsufficientStock, message: "Insufficient stock. See details.", details: details}
	}),
	func(err error) (apiError, bool) {
		quota, ok := tenants.AsQuotaError(err)
		return apiError{code: QuotaExceeded, details: tenancy.InvalidError{"quota." + quota.Quota: {quota.Error()}}}, ok
	},
	as(func(e tenancy.InUseError) apiError { return apiError{code: ResourceInUse, message: e.Error() + "."} }),
	as(func(e *http.MaxBytesError) apiError {
		return apiError{code: PayloadTooLarge, message: fmt.Sprintf("The body is larger than %d bytes.", e.Limit)}
	}),
	as(func(e changeplan.LimitError) apiError { return apiError{code: InvalidState, message: e.Error()} }),
	is(apiError{code: InvalidJSON, message: "The body ended before it was complete."}, errIncomplete),
	is(apiError{
		code: ServiceUnavailable, message: "Too many requests are in progress. Retry after the time in Retry-After.",
	}, limits.ErrBusy),
	is(apiError{code: NotFound}, tenancy.ErrNotFound),
	is(apiError{code: InvalidAPIKey}, tenancy.ErrEnded), // the key was revoked during the request
	is(apiError{code: IdempotencyInProgress}, idempotency.ErrInProgress),
	is(apiError{code: IdempotencyKeyReused, details: tenancy.InvalidError{
		"Idempotency-Key": {"was used with another path, parameters or body, or by a key with other permissions"},
	}}, idempotency.ErrReused),
	is(apiError{code: InvalidState}, changeplan.ErrState),
	is(apiError{code: PreconditionFailed}, catalog.ErrPrecondition),
	is(apiError{code: InsufficientStock, details: tenancy.InvalidError{
		"quantity": {"would take the stock below zero"},
	}}, catalog.ErrInsufficientStock),
	is(apiError{code: InvalidParameter, details: tenancy.InvalidError{
		"format": {export.ErrTooManyRows.Error() + "; use csv"},
	}}, export.ErrTooManyRows),
	is(apiError{code: CursorExpired}, feed.ErrExpired),
	// The context is cancelled if the client disconnects.
	is(apiError{code: ServiceUnavailable}, tenancy.ErrBusy, tenancy.ErrMoving, media.ErrStorage, media.ErrSlow,
		context.DeadlineExceeded, context.Canceled, io.ErrUnexpectedEOF, net.ErrClosed),
	func(err error) (apiError, bool) { return apiError{code: ServiceUnavailable}, databaseUnavailable(err) },
}

// is returns the row of some errors.
func is(response apiError, targets ...error) func(error) (apiError, bool) {
	return func(err error) (apiError, bool) {
		return response, slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
}

// as returns the row of errors of one type.
func as[E error](response func(E) apiError) func(error) (apiError, bool) {
	return func(err error) (apiError, bool) {
		if e, ok := errors.AsType[E](err); ok {
			return response(e), true
		}
		return apiError{}, false
	}
}

// toAPIError returns the response for an error. No other function decides this.
func toAPIError(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	for _, row := range domainErrors {
		if response, ok := row(err); ok {
			response.cause = err
			return &response
		}
	}
	return &apiError{code: InternalError, cause: err}
}

// databaseUnavailable reports whether a second attempt may succeed: PostgreSQL is unreachable, shuts
// down, lacks a resource, or gave up waiting for a lock or for this program.
func databaseUnavailable(err error) bool {
	if unreachable(err) || db.IsDiskFull(err) {
		return true
	}
	state := db.SQLState(err)
	if state == "23503" && strings.HasSuffix(db.Constraint(err), "_tenant_id_fkey") {
		return true // the tenant was deleted during the request
	}
	for _, class := range []string{"25P03", "40", "53", "57", "55P03"} {
		if strings.HasPrefix(state, class) {
			return true
		}
	}
	return false
}

// errorResponse is the envelope of an error.
type errorResponse struct {
	Success bool      `json:"success"` // always false
	Error   errorBody `json:"error"`
}

type errorBody struct {
	Code    Code                 `json:"code"`
	Message string               `json:"message"`
	Details tenancy.InvalidError `json:"details,omitempty"`
	Changed []changedRow         `json:"changed,omitempty"`
}

// writeError sends an error response, as HTML under /settings. The access log gets the cause.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	if s.pages != nil && underSettings(r.URL.RawPath) {
		s.pages.Fail(w, r, err)
		return
	}
	e := toAPIError(err)
	stateOf(r).err, stateOf(r).code = err, e.code
	status := codes[e.code].status
	h := w.Header()
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", challenge(r))
	case http.StatusUnsupportedMediaType:
		h.Set("Accept-Encoding", "identity")
		if r.Method == http.MethodPatch {
			h.Set("Accept-Patch", acceptPatch)
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(e.retryAfter.Seconds())))))
	}
	_ = writeJSON(w, status, errorResponse{Error: e.body()}) // cannot fail: every errorResponse encodes
}

func (e *apiError) body() errorBody {
	return errorBody{e.code, cmp.Or(e.message, codes[e.code].message), e.details, e.changed}
}
