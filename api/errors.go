package api

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/idempotency"
)

// Code is a word of the closed list that clients branch on.
type Code string

// The codes. New ones are additions to the contract.
const (
	InvalidJSON             Code = "INVALID_JSON"
	InvalidParameter        Code = "INVALID_PARAMETER"
	InvalidHeader           Code = "INVALID_HEADER"
	MissingAPIKey           Code = "MISSING_API_KEY"
	InvalidAPIKey           Code = "INVALID_API_KEY"
	InsufficientPermissions Code = "INSUFFICIENT_PERMISSIONS"
	TenantSuspended         Code = "TENANT_SUSPENDED"
	NotFound                Code = "NOT_FOUND"
	RouteNotFound           Code = "ROUTE_NOT_FOUND"
	MethodNotAllowed        Code = "METHOD_NOT_ALLOWED"
	IdempotencyInProgress   Code = "IDEMPOTENCY_IN_PROGRESS"
	ResourceInUse           Code = "RESOURCE_IN_USE"
	PreconditionFailed      Code = "PRECONDITION_FAILED"
	PayloadTooLarge         Code = "PAYLOAD_TOO_LARGE"
	UnsupportedMediaType    Code = "UNSUPPORTED_MEDIA_TYPE"
	ValidationError         Code = "VALIDATION_ERROR"
	InsufficientStock       Code = "INSUFFICIENT_STOCK"
	IdempotencyKeyReused    Code = "IDEMPOTENCY_KEY_REUSED"
	RateLimitExceeded       Code = "RATE_LIMIT_EXCEEDED"
	InternalError           Code = "INTERNAL_ERROR"
	ServiceUnavailable      Code = "SERVICE_UNAVAILABLE"
)

// codes maps each code to its status and its default message.
var codes = map[Code]struct {
	status  int
	message string
}{
	InvalidJSON:             {http.StatusBadRequest, "The body must be one JSON object."},
	InvalidParameter:        {http.StatusBadRequest, "Invalid parameter. See details."},
	InvalidHeader:           {http.StatusBadRequest, "Invalid header. See details."},
	MissingAPIKey:           {http.StatusUnauthorized, "No API key provided. Send the header Authorization: Bearer <API_KEY>."},
	InvalidAPIKey:           {http.StatusUnauthorized, "Invalid API key."},
	InsufficientPermissions: {http.StatusForbidden, "The API key does not have the required permission."},
	TenantSuspended:         {http.StatusForbidden, "The account is suspended."},
	NotFound:                {http.StatusNotFound, "Resource not found."},
	RouteNotFound:           {http.StatusNotFound, "Route not found."},
	MethodNotAllowed:        {http.StatusMethodNotAllowed, "Method not allowed. See the Allow header."},
	IdempotencyInProgress:   {http.StatusConflict, "A request with this Idempotency-Key is in progress."},
	ResourceInUse:           {http.StatusConflict, "The resource is in use."},
	PreconditionFailed:      {http.StatusPreconditionFailed, "The resource does not match the precondition."},
	PayloadTooLarge:         {http.StatusRequestEntityTooLarge, "The body is too large."},
	UnsupportedMediaType:    {http.StatusUnsupportedMediaType, "Send the body as Content-Type: application/json."},
	ValidationError:         {http.StatusUnprocessableEntity, "Validation failed. See details."},
	InsufficientStock:       {http.StatusUnprocessableEntity, "Insufficient stock."},
	IdempotencyKeyReused:    {http.StatusUnprocessableEntity, "This Idempotency-Key was used for another request."},
	RateLimitExceeded:       {http.StatusTooManyRequests, "Rate limit exceeded. Retry after the time in Retry-After."},
	InternalError:           {http.StatusInternalServerError, "Internal error."},
	ServiceUnavailable:      {http.StatusServiceUnavailable, "The service is unavailable. Retry after the time in Retry-After."},
}

// apiError is an error with the response that the client gets.
type apiError struct {
	code       Code
	message    string               // defaults to the message of the code
	details    tenancy.InvalidError // by field or parameter
	retryAfter time.Duration        // for Retry-After, which is at least one second
	cause      error                // for the log only
}

// Error is what the log shows.
func (p *apiError) Error() string {
	if p.cause != nil {
		return p.cause.Error()
	}
	return string(p.code)
}

func (p *apiError) Unwrap() error { return p.cause }

// answers maps what the domain packages return to what clients are told. Whatever
// is not here is 500, its cause in the log only.
var answers = []struct {
	is      error
	code    Code
	details tenancy.InvalidError
}{
	{is: tenancy.ErrNotFound, code: NotFound},
	{is: idempotency.ErrInProgress, code: IdempotencyInProgress},
	{is: idempotency.ErrReused, code: IdempotencyKeyReused, details: tenancy.InvalidError{"Idempotency-Key": {"was used with another path or body"}}},
	{is: catalog.ErrPrecondition, code: PreconditionFailed},
	{is: catalog.ErrInUse, code: ResourceInUse},
	{is: sales.ErrInUse, code: ResourceInUse},
	{is: catalog.ErrInsufficientStock, code: InsufficientStock, details: tenancy.InvalidError{"quantity": {"would take the stock below zero"}}},
	{is: export.ErrTooManyRows, code: InvalidParameter, details: tenancy.InvalidError{"format": {export.ErrTooManyRows.Error() + "; use csv"}}},
	{is: tenancy.ErrBusy, code: ServiceUnavailable},
	{is: context.DeadlineExceeded, code: ServiceUnavailable},
	{is: context.Canceled, code: ServiceUnavailable}, // the client hung up; nobody reads this
	{is: io.ErrUnexpectedEOF, code: ServiceUnavailable},
	{is: net.ErrClosed, code: ServiceUnavailable},
}

// toAPIError is the only place that decides what an error means to a client.
func toAPIError(err error) *apiError {
	if p, ok := errors.AsType[*apiError](err); ok {
		return p
	}
	if faults, ok := errors.AsType[tenancy.InvalidError](err); ok {
		return &apiError{code: ValidationError, details: faults, cause: err}
	}
	for _, a := range answers {
		if errors.Is(err, a.is) {
			return &apiError{code: a.code, details: a.details, cause: err}
		}
	}
	if databaseUnavailable(err) {
		return &apiError{code: ServiceUnavailable, cause: err}
	}
	return &apiError{code: InternalError, cause: err}
}

// databaseUnavailable says whether PostgreSQL could not be reached, is shutting down, is
// out of something, or gave up waiting, for a lock or for us: a second try may well
// succeed.
func databaseUnavailable(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	state := tenancy.SQLState(err)
	if state == "23503" && strings.HasSuffix(tenancy.Constraint(err), "_tenant_id_fkey") {
		return true // the tenant was removed while its request was under way
	}
	for _, class := range []string{"08", "25P03", "40", "53", "57", "55P03"} {
		if strings.HasPrefix(state, class) {
			return true
		}
	}
	return false
}

// failure is the error half of the envelope.
type errorResponse struct {
	Success bool      `json:"success"`
	Error   errorBody `json:"error"`
}

type errorBody struct {
	Code    Code                 `json:"code"`
	Message string               `json:"message"`
	Details tenancy.InvalidError `json:"details,omitempty"`
}

// fail tells the client about an error, with a page where it asked for one, and
// leaves it to the access log.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	if s.pages != nil && underSettings(r.URL.RawPath) {
		s.pages.Fail(w, r, err)
		return
	}
	p := toAPIError(err)
	stateOf(r).err = err
	known := codes[p.code]
	h := w.Header()
	switch known.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(p.retryAfter.Seconds())))))
	}
	// A failure always encodes.
	_ = writeJSON(w, known.status, errorResponse{Error: p.body()})
}

// body is what the client is told.
func (p *apiError) body() errorBody {
	message := p.message
	if message == "" {
		message = codes[p.code].message
	}
	return errorBody{p.code, message, p.details}
}
