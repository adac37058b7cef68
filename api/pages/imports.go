package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/spool"
)

const (
	// MaxUpload is the maximum size of a form with files in bytes.
	MaxUpload      = 200 << 20
	uploadDeadline = time.Minute // of storing the files
	importRows     = 50
	firstRows      = 10 // of the page without a filter or a page number
)

// uploads are the routes that receive files, with the permission and the maximum size of a form.
var uploads = map[string]struct {
	need  people.Permission
	limit int64
}{
	"/settings/t/{slug}/imports":                {people.Manage, MaxUpload},
	"/settings/t/{slug}/products/{id}/pictures": {people.WriteProducts, maxPicture},
}

// Upload returns the maximum size of the body of a request that sends files, and whether the person may send them. The
// size is 0 for other requests. A request without a header that names its origin needs the token of a form, which only the
// handler reads.
func (p *Handler) Upload(r *http.Request) (limit int64, allowed bool) {
	route := chi.NewRouteContext()
	if r.Method != http.MethodPost || !p.mux.Match(route, r.Method, cmp.Or(r.URL.RawPath, r.URL.Path)) {
		return 0, false
	}
	upload, isUpload := uploads[route.RoutePattern()]
	if !isUpload {
		return 0, false
	}
	hasOrigin := r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
	u, err := p.signedInUser(r, route.URLParam("slug"))
	return upload.limit, hasOrigin && err == nil && u.Tenant != nil && u.Can(upload.need)
}

// plansPage is a list of plans or imports.
type plansPage struct {
	Plans  []changeplan.Plan
	Pager  pager
	Errors fieldErrors
}

// showImports lists the imports of the tenant, with a form for a new one.
func (p *Handler) showImports(w http.ResponseWriter, r *http.Request, u user) error {
	return p.listImports(w, r, u, http.StatusOK, nil)
}

// jobs returns the imports that work on the database of the request.
func (p *Handler) jobs(u user) *imports.Jobs { return imports.NewJobs(p.Plans.On(u.db)) }

func (p *Handler) listImports(w http.ResponseWriter, r *http.Request, u user, status int, errors fieldErrors) error {
	number := pageNumber(r)
	list, err := p.jobs(u).List(r.Context(), u.Tenant.ID, paging.Page{Number: number, PerPage: listPerPage})
	if err != nil {
		return err
	}
	page := plansPage{list.Items, newPager(r, number, listPerPage, list.Total), errors}
	if status == http.StatusOK {
		return p.showList(w, r, "imports", u, page.Pager, page)
	}
	return p.show(w, status, "imports", u, page)
}

// upload stores the files of a form as a new import.
func (p *Handler) upload(w http.ResponseWriter, r *http.Request, u user) error {
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" || parameters["boundary"] == "" {
		return ErrForm
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), uploadDeadline)
	defer cancel()
	id, err := p.jobs(u).Create(ctx, *u.Tenant, p.by(r, u), spool.NewForm(r.Body, parameters["boundary"]))
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	limit, isLimit := errors.AsType[changeplan.LimitError](err)
	switch {
	case errors.Is(err, imports.ErrForm):
		return fmt.Errorf("%w: %w", ErrForm, err)
	case isLimit:
		return p.listImports(w, r, u, http.StatusConflict, fieldErrors{"file": u.Format.Sentence(limit.Error())})
	case isInvalid && slices.Equal(invalid["file"], []string{"is required"}):
		return p.listImports(w, r, u, http.StatusUnprocessableEntity, fieldErrors{"file": u.T("Select a file.")})
	case isInvalid:
		var problems []string
		for _, field := range slices.Sorted(maps.Keys(invalid)) {
			problems = append(problems, title(u.Format.Sentence(invalid[field][0]))+".")
		}
		return p.listImports(w, r, u, http.StatusUnprocessableEntity, fieldErrors{"file": strings.Join(problems, " ")})
	case err != nil:
		return err
	}
	redirect(w, r, u.path(fmt.Sprintf("/imports/%d", id)))
	return nil
}

type importPage struct {
	planPage
	imports.Input
	Kind      string
	All       []importQuestion // with those that are answered
	IsShort   bool             // shows only the first rows
	HasTheirs bool
	Errors    fieldErrors
}

// Steps are the steps of an import in words. The first is the page with the files.
func (p importPage) Steps() []string {
	return []string{mark("File"), mark("Questions"), mark("Check"), mark("Done")}
}

// Step returns the index of the step in Steps, or 0 for an import that was stopped.
func (p importPage) Step() int {
	switch p.State {
	case changeplan.Planning, changeplan.NeedsMapping:
		return 1
	case changeplan.Planned:
		return 2
	case changeplan.Applying, changeplan.Applied:
		return 3
	}
	return 0
}

// OrdersQuery returns the parameters of the list with the orders of the import: those of its months, and of its shop if
// it has one. It returns "" for an import without orders.
func (p importPage) OrdersQuery() template.URL {
	var first, last, channel string
	shops := map[string]bool{}
	for _, t := range p.Totals {
		if t.Channel == nil || t.Orders == 0 {
			continue
		}
		if first == "" || t.Month < first {
			first = t.Month
		}
		last, channel = max(last, t.Month), *t.Channel
		shops[channel] = true
	}
	end, err := time.Parse("2006-01", last)
	if err != nil {
		return ""
	}
	v := url.Values{"from": {first + "-01"}, "to": {end.AddDate(0, 1, -1).Format(time.DateOnly)}}
	if len(shops) == 1 {
		v.Set("channel", channel)
	}
	return template.URL(v.Encode())
}

// importKinds are the kinds of rows in the order of the page.
var importKinds = []imports.Kind{
	imports.Product, imports.Stock, imports.Order, imports.Refund, imports.Cancellation, imports.Customer,
	imports.Category, imports.Seller, imports.Warehouse, imports.Channel,
}

// importActions are what can happen to a row.
var importActions = append(slices.Clone(planActions), changeplan.Ignored)

// showImport shows the questions, the planned changes, the progress or the result of an import.
func (p *Handler) showImport(w http.ResponseWriter, r *http.Request, u user) error {
	i, err := p.jobs(u).Get(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	return p.showImportWith(w, r, u, http.StatusOK, i, nil)
}

func (p *Handler) showImportWith(
	w http.ResponseWriter, r *http.Request, u user, status int, i imports.Import, errors fieldErrors,
) error {
	page := importPage{planPage: planPage{Summary: i.Summary, Running: i.State.IsDue()}, Input: i.Input, Errors: errors}
	page.readQuestions(u.Format)
	page.HasTheirs = slices.ContainsFunc(i.Totals, func(t imports.Total) bool { return len(t.Theirs) > 0 })
	filter := changeplan.RowFilter{Page: paging.Page{Number: pageNumber(r), PerPage: importRows}}
	if page.IsShort = len(r.URL.Query()) == 0; page.IsShort {
		filter.Page.PerPage = firstRows
	}
	if kind := imports.Kind(r.FormValue("kind")); slices.Contains(importKinds, kind) {
		filter.Kind, page.Kind = kind, string(kind)
	}
	page.filterActions(r, &filter, importActions)
	if !page.Running && i.State != changeplan.NeedsMapping {
		if err := page.read(r, p.imports().stored(u), u, filter); err != nil {
			return err
		}
	}
	if status == http.StatusOK {
		return p.showList(w, r, "import", u, page.Pager, page)
	}
	return p.show(w, status, "import", u, page)
}

// Kinds are the kinds of rows that the import has.
func (p importPage) Kinds() []imports.Kind {
	return slices.DeleteFunc(slices.Clone(importKinds), func(k imports.Kind) bool {
		return p.Counts[k] == changeplan.Counts{}
	})
}

// configureImport plans an import again, with the answers of a form.
func (p *Handler) configureImport(w http.ResponseWriter, r *http.Request, u user) error {
	i, err := p.jobs(u).Get(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	f := submitted(r)
	if f.Get("reset") != "" {
		return p.imports().after(w, r, u, p.jobs(u).Configure(r.Context(), u.Tenant.ID, i.ID, withoutEarlier(i)))
	}
	answers := answersOf(f, i)
	settings, err := i.Settings.With(answers)
	if invalid, ok := errors.AsType[tenancy.InvalidError](err); ok {
		fields := fieldErrors{}
		for field, problems := range invalid {
			name := strings.NewReplacer("_", " ", "timezone", "time zone").Replace(field)
			fields[field] = u.Format.Sentence("The " + name + " " + problems[0] + ".")
		}
		i.Settings = settings // as the user filled in the form
		for n, file := range i.Files {
			if chosen := settings.Mapping[file.Name]; chosen != nil {
				i.Files[n].Mapping = chosen
			}
		}
		return p.showImportWith(w, r, u, http.StatusUnprocessableEntity, i, fields)
	}
	return p.imports().after(w, r, u, p.jobs(u).Configure(r.Context(), u.Tenant.ID, i.ID, answers))
}

// downloadRefused sends the refused rows of an import as a file. Rows with data of customers need a recent password.
func (p *Handler) downloadRefused(w http.ResponseWriter, r *http.Request, u user) error {
	i, err := p.jobs(u).Get(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	send := func(w http.ResponseWriter, r *http.Request, u user) error { return p.sendRefused(w, r, u, i) }
	if i.HasCustomers() {
		send = p.withRecentPassword(people.Manage, send)
	}
	return send(w, r, u)
}

func (p *Handler) sendRefused(w http.ResponseWriter, r *http.Request, u user, i imports.Import) error {
	if i.HasCustomers() {
		if err := p.logExport(r, u, i.RefusedFile()); err != nil {
			return err
		}
	}
	file := spool.New(limits.FromContext(r.Context()))
	defer file.Close()
	if err := p.jobs(u).WriteRefused(r.Context(), u.Tenant.ID, i, file); err != nil {
		return err
	}
	file.End(nil)
	kind := "text/csv; charset=utf-8"
	if strings.HasSuffix(i.RefusedFile(), ".zip") {
		kind = "application/zip"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+i.RefusedFile()+`"`)
	w.Header().Set("Content-Length", strconv.FormatInt(file.Size(), 10))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(downloadTimeout))
	_, _ = io.Copy(w, file.Reader()) // fails only if the browser has disconnected
	return nil
}

// sendArchive sends everything that the tenant owns as a file.
func (p *Handler) sendArchive(w http.ResponseWriter, r *http.Request, u user) error {
	return p.SendArchive(w, r, u.db, *u.Tenant, p.by(r, u))
}

// FileFormat returns the format of a file in words.
func (f formatter) FileFormat(format string) string {
	if format == "" {
		return f.T("Not recognised")
	}
	if name := imports.FormatTitle(format); name != "" {
		return f.Sentence(name)
	}
	return "Storeroom " + strings.ReplaceAll(format, "_", " ")
}

// Field returns a field of a product or an order in words.
func (f formatter) Field(field string) string { return f.Sentence(imports.Label(field)) }

// mappingFields are the fields of a mapping: those of products, then those that only orders have.
func mappingFields() []string {
	fields := slices.Clone(imports.Fields[imports.Product])
	for _, field := range imports.Fields[imports.Order] {
		if !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	return fields
}
