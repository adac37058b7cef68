package pages

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

var (
	errForbidden   = errors.New("the role does not permit this")
	errCrossOrigin = errors.New("the form was sent by another site")
	errMethod      = errors.New("the method is not supported")
	errLink        = errors.New("the link has ended")

	// ErrForm means that a form is incomplete or malformed.
	ErrForm = errors.New("the form is invalid")
)

type errorPage struct {
	Status        int
	Title, Advice string
}

// errorPages are the pages of expected errors.
var errorPages = []struct {
	err  error
	page errorPage
}{
	{tenancy.ErrNotFound, errorPage{http.StatusNotFound, "Page not found",
		"The page does not exist, or you do not have access to it."}},
	{errForbidden, errorPage{http.StatusForbidden, "You do not have permission",
		"Your role does not allow this. Ask an owner of this account."}},
	{keys.ErrSuspended, errorPage{http.StatusForbidden, "This account is suspended",
		"You cannot generate or roll keys until the operator of this service resumes the account. " +
			"You can still revoke keys."}},
	{keys.ErrRepeated, errorPage{http.StatusConflict, "This key was already created",
		"A key is shown only once. If you did not save it, revoke it and generate another key."}},
	{people.ErrRepeated, errorPage{http.StatusConflict, "This link was already created",
		"A link is shown only once. If you did not save it, revoke it and create another link."}},
	{webhooks.ErrRotated, errorPage{http.StatusConflict, "This secret was already rotated",
		"A secret is shown only once. If you did not save it, rotate the secret again. " +
			"Messages are signed with the two newest secrets."}},
	{errLink, errorPage{http.StatusNotFound, "This link is no longer valid",
		"The link was used, revoked or replaced by a newer one, or it has expired. Ask for a new link."}},
	{errMethod, errorPage{http.StatusMethodNotAllowed, "Method not allowed",
		"This page does not support the request. Nothing was changed."}},
	{errCrossOrigin, errorPage{http.StatusForbidden, "Request blocked",
		"This form was sent by another site. Nothing was changed. Open the settings and try again there."}},
	{ErrForm, errorPage{http.StatusBadRequest, "Invalid form",
		"The form could not be read. Nothing was changed. Go back and try again."}},
}

// fail shows an error page, with the navigation of the tenant if u is a member. The
// cause of an internal error is written only to the log.
func (p *Handler) fail(w http.ResponseWriter, r *http.Request, u user, err error) {
	page := p.errorPage(w, r, err)
	if err := p.show(w, page.Status, "error", u, page); err != nil {
		http.Error(w, page.Title, page.Status)
	}
}

// errorPage returns the page of an error and sets Retry-After if a retry may succeed.
func (p *Handler) errorPage(w http.ResponseWriter, r *http.Request, err error) errorPage {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return errorPage{http.StatusRequestEntityTooLarge, "Form too large",
			"Nothing was changed. Go back and shorten your input."}
	}
	for _, expected := range errorPages {
		if errors.Is(err, expected.err) {
			return expected.page
		}
	}
	if quota, full := tenants.AsQuotaError(err); full {
		return errorPage{http.StatusForbidden, "There is no room",
			"Nothing was changed. " + quota.Error() + ". Delete what you no longer need, or ask for a larger plan."}
	}
	if wait, limited := errors.AsType[*waitError](err); limited {
		w.Header().Set("Retry-After", fmt.Sprint(wait.seconds()))
		return errorPage{http.StatusTooManyRequests, "Too many attempts",
			"Please wait " + wait.words() + " and try again."}
	}
	if p.Failed(r, err) {
		w.Header().Set("Retry-After", "1")
		return errorPage{http.StatusServiceUnavailable, "Temporarily unavailable",
			"The service is busy. Please try again in a moment."}
	}
	return errorPage{http.StatusInternalServerError, "Something went wrong",
		"An internal error occurred and was logged. Please try again."}
}

// waitError is a refusal by the rate limiter, with the time until a retry may succeed.
type waitError struct{ time.Duration }

func (e *waitError) Error() string { return "too many attempts" }

func (e *waitError) seconds() int { return max(1, int(math.Ceil(e.Seconds()))) }

// words returns the wait in seconds or, above two minutes, in minutes.
func (e *waitError) words() string {
	switch n := e.seconds(); {
	case n == 1:
		return "1 second"
	case n <= 120:
		return fmt.Sprint(n, " seconds")
	default:
		return fmt.Sprint((n+59)/60, " minutes")
	}
}
