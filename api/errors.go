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

// domainErrors maps errors of the domain packages to responses. Any other error is a 500, whose
// cause is only in the log.
var domainErrors = []struct {
	err     error
	code    Code
	details tenancy.InvalidError
}{
	{err: tenancy.ErrNotFound, code: NotFound},
	{err: tenancy.ErrEnded, code: InvalidAPIKey}, // the key was revoked during the request
	{err: idempotency.ErrInProgress, code: IdempotencyInProgress},
	{
		err: idempotency.ErrReused, code: IdempotencyKeyReused,
		details: tenancy.InvalidError{"Idempotency-Key": {
			"was used with another path, parameters or body, or by a key with other permissions",
		}},
	},
	{err: changeplan.ErrState, code: InvalidState},
	{err: catalog.ErrPrecondition, code: PreconditionFailed},
	{
		err: catalog.ErrInsufficientStock, code: InsufficientStock,
		details: tenancy.InvalidError{"quantity": {"would take the stock below zero"}},
	},
	{
		err: export.ErrTooManyRows, code: InvalidParameter,
		details: tenancy.InvalidError{"format": {export.ErrTooManyRows.Error() + "; use csv"}},
	},
	{err: feed.ErrExpired, code: CursorExpired},
	{err: tenancy.ErrBusy, code: ServiceUnavailable},
	{err: tenancy.ErrMoving, code: ServiceUnavailable},
	{err: media.ErrStorage, code: ServiceUnavailable},
	{err: media.ErrSlow, code: ServiceUnavailable},
	{err: context.DeadlineExceeded, code: ServiceUnavailable},
	{err: context.Canceled, code: ServiceUnavailable}, // the client disconnected
	{err: io.ErrUnexpectedEOF, code: ServiceUnavailable},
	{err: net.ErrClosed, code: ServiceUnavailable},
}

// toAPIError returns the response for an error. No other function decides this.
func toAPIError(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	if invalid, ok := errors.AsType[tenancy.InvalidError](err); ok {
		if errors.Is(err, media.ErrUnsupported) {
			return &apiError{code: UnsupportedMediaType, message: "The file is not supported: it " + invalid["file"][0] + ".", cause: err}
		}
		return &apiError{code: ValidationError, details: invalid, cause: err}
	}
	if short, ok := errors.AsType[sales.StockError](err); ok {
		return &apiError{
			code: InsufficientStock, message: "Insufficient stock. See details.", details: tenancy.InvalidError(short), cause: err,
		}
	}
	if quota, ok := tenants.AsQuotaError(err); ok {
		details := tenancy.InvalidError{"quota." + quota.Quota: {quota.Error()}}
		return &apiError{code: QuotaExceeded, details: details, cause: err}
	}
	if inUse, ok := errors.AsType[tenancy.InUseError](err); ok {
		return &apiError{code: ResourceInUse, message: inUse.Error() + ".", cause: err}
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &apiError{
			code:    PayloadTooLarge,
			message: fmt.Sprintf("The body is larger than %d bytes.", tooLarge.Limit), cause: err,
		}
	}
	if errors.Is(err, errIncomplete) {
		return &apiError{code: InvalidJSON, message: "The body ended before it was complete.", cause: err}
	}
	if errors.Is(err, limits.ErrBusy) {
		return &apiError{
			code:    ServiceUnavailable,
			message: "Too many requests are in progress. Retry after the time in Retry-After.", cause: err,
		}
	}
	if limit, ok := errors.AsType[changeplan.LimitError](err); ok {
		return &apiError{code: InvalidState, message: limit.Error(), cause: err}
	}
	for _, d := range domainErrors {
		if errors.Is(err, d.err) {
			return &apiError{code: d.code, details: d.details, cause: err}
		}
	}
	if databaseUnavailable(err) || db.IsDiskFull(err) {
		return &apiError{code: ServiceUnavailable, cause: err}
	}
	return &apiError{code: InternalError, cause: err}
}

// databaseUnavailable reports whether a second attempt may succeed: PostgreSQL is unreachable, shuts
// down, lacks a resource, or gave up waiting for a lock or for this program.
func databaseUnavailable(err error) bool {
	if unreachable(err) {
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
