package pages

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/idempotency"
)

// errRefused is what the work of a form returns if the form has errors, which its page then shows.
var errRefused = errors.New("the form has errors")

// maxClaims is how often the work of a form begins if PostgreSQL aborts it because of a deadlock.
const maxClaims = 3

// once does the work of a form in a transaction and redirects to the page that work returns. The same form that is sent
// again, for example by a double click, has no further effect and leads to the same page. After an error nothing has
// changed, and the form may be sent again with other values.
func (p *Handler) once(
	w http.ResponseWriter, r *http.Request, u user, f form, work func(within user) (to string, err error),
) error {
	to, err := u.once(r, f, work)
	if err == nil {
		redirect(w, r, to)
	}
	return err
}

// once is Handler.once for a form whose first response is another page than that to which a repeated one leads.
func (u user) once(r *http.Request, f form, work func(within user) (to string, err error)) (to string, err error) {
	if !f.hasRequest() {
		return "", ErrForm
	}
	values := maps.Clone(f.Values)
	delete(values, "form-token") // of the session, which a password renews
	delete(values, "password")   // which is not asked for again
	content := sha256.Sum256([]byte(r.URL.Path + "?" + values.Encode()))
	key := fmt.Sprintf("page %d %s", u.UserID, f.Get("request"))
	err = db.Retry(r.Context(), maxClaims, func() error {
		claim, done, err := idempotency.Begin(r.Context(), u.db, u.Tenant.ID, key, content)
		if err != nil {
			return err
		}
		if done != nil {
			to = string(done.Body)
			return nil
		}
		defer claim.Rollback(r.Context()) // after Commit it does nothing
		within := u
		within.db = claim.Tx
		if to, err = work(within); err != nil {
			return err
		}
		return claim.Commit(r.Context(), idempotency.Response{Status: http.StatusSeeOther, Body: []byte(to)}, false)
	})
	return to, err
}
