package pages

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/idempotency"
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
	{tenancy.ErrNotFound, errorPage{http.StatusNotFound, mark("Page not found"),
		mark("The page does not exist, or you do not have access to it.")}},
	{catalog.ErrPrecondition, errorPage{http.StatusConflict, mark("The product has changed"),
		mark("Others changed it at the same moment. Nothing was changed here. Go back, reload the page and try again.")}},
	{idempotency.ErrReused, errorPage{http.StatusConflict, mark("This form was already sent"),
		mark("It had other values then. Nothing was changed now. Go back, reload the page and try again.")}},
	{idempotency.ErrInProgress, errorPage{http.StatusConflict, mark("This form was already sent"),
		mark("The change is still being made. Open the page again in a moment to see it.")}},
	{errForbidden, errorPage{http.StatusForbidden, mark("You do not have permission"),
		mark("Your role does not allow this. Ask an owner of this account.")}},
	{keys.ErrSuspended, errorPage{http.StatusForbidden, mark("This account is suspended"),
		mark("You cannot generate or roll keys until the operator of this service resumes the account. " +
			"You can still revoke keys.")}},
	{keys.ErrRepeated, errorPage{http.StatusConflict, mark("This key was already created"),
		mark("A key is shown only once. If you did not save it, revoke it and generate another key.")}},
	{people.ErrRepeated, errorPage{http.StatusConflict, mark("This link was already created"),
		mark("A link is shown only once. If you did not save it, revoke it and create another link.")}},
	{webhooks.ErrRotated, errorPage{http.StatusConflict, mark("This secret was already rotated"),
		mark("A secret is shown only once. If you did not save it, rotate the secret again. " +
			"Messages are signed with the two newest secrets.")}},
	{errLink, errorPage{http.StatusNotFound, mark("This link is no longer valid"),
		mark("The link was used, revoked or replaced by a newer one, or it has expired. Ask for a new link.")}},
	{errMethod, errorPage{http.StatusMethodNotAllowed, mark("Method not allowed"),
		mark("This page does not support the request. Nothing was changed.")}},
	{errCrossOrigin, errorPage{http.StatusForbidden, mark("Request blocked"),
		mark("This form was sent by another site. Nothing was changed. Open the settings and try again there.")}},
	{ErrForm, errorPage{http.StatusBadRequest, mark("Invalid form"),
		mark("The form could not be read. Nothing was changed. Go back and try again.")}},
}

// fail shows an error page, with the navigation of the tenant if u is a member with a known role. The
// cause of an internal error is written only to the log.
func (p *Handler) fail(w http.ResponseWriter, r *http.Request, u user, err error) {
	if !u.Can(people.Enter) {
		u.Tenant = nil
	}
	page := p.errorPage(w, r, u.Format, err)
	if err := p.show(w, page.Status, "error", u, page); err != nil {
		http.Error(w, page.Title, page.Status)
	}
}

// errorPage returns the page of an error and sets Retry-After if a retry may succeed.
func (p *Handler) errorPage(w http.ResponseWriter, r *http.Request, f formatter, err error) errorPage {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return errorPage{http.StatusRequestEntityTooLarge, f.T("Form too large"),
			f.T("Nothing was changed. Go back and shorten your input.")}
	}
	for _, expected := range errorPages {
		if errors.Is(err, expected.err) {
			return errorPage{expected.page.Status, f.T(expected.page.Title), f.T(expected.page.Advice)}
		}
	}
	if quota, full := tenants.AsQuotaError(err); full {
		return errorPage{http.StatusForbidden, f.T("There is no room"),
			f.T("Nothing was changed. %s. Delete what you no longer need, or ask for a larger plan.", f.Sentence(quota.Error()))}
	}
	if wait, limited := errors.AsType[*waitError](err); limited {
		w.Header().Set("Retry-After", fmt.Sprint(wait.seconds()))
		return errorPage{http.StatusTooManyRequests, f.T("Too many attempts"),
			wait.advice(f)}
	}
	if p.Failed(r, err) {
		w.Header().Set("Retry-After", "1")
		return errorPage{http.StatusServiceUnavailable, f.T("Temporarily unavailable"),
			f.T("The service is busy. Please try again in a moment.")}
	}
	return errorPage{http.StatusInternalServerError, f.T("Something went wrong"),
		f.T("An internal error occurred and was logged. Please try again.")}
}

// waitError is a refusal by the rate limiter, with the time until a retry may succeed.
type waitError struct{ time.Duration }

func (e *waitError) Error() string { return "too many attempts" }

func (e *waitError) seconds() int { return max(1, int(math.Ceil(e.Seconds()))) }

// advice names the wait in seconds or, above two minutes, in minutes.
func (e *waitError) advice(f formatter) string {
	if n := e.seconds(); n > 120 {
		return f.T("Please wait %d minutes and try again.", (n+59)/60)
	}
	return f.T("Please wait %d seconds and try again.", e.seconds())
}
