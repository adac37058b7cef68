package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/spool"
)

const zipType = "application/zip"

const (
	// maxImport is 200 MB of files and the parts of the form.
	maxImport = 200_000_000 + 1<<20
	// importDeadline is the time for storing the files. Reading them from the client has its own limits.
	importDeadline = time.Minute
)

// importJSON is an import.
type importJSON struct {
	planHeadJSON
	Files    []imports.File   `json:"files"`
	Settings imports.Settings `json:"settings"`
	// Remembered are the names of settings that come from an earlier import.
	Remembered []string                           `json:"remembered"`
	Questions  []imports.Question                 `json:"questions"`
	Counts     map[imports.Kind]changeplan.Counts `json:"counts"`
	Totals     []imports.Total                    `json:"totals"`
	Notes      []imports.NoteCount                `json:"notes"`
	Progress   changeplan.Progress                `json:"progress"`
}

// importRowJSON is a row of an import. File and Line are those of the first row of an order.
type importRowJSON struct {
	File     string               `json:"file"`
	Line     int                  `json:"line"`
	Kind     imports.Kind         `json:"kind"`
	Key      string               `json:"key"`
	Action   changeplan.Action    `json:"action"`
	Old      map[string]any       `json:"old"` // the fields that change
	New      map[string]any       `json:"new"`
	Notes    []string             `json:"notes"`
	Problems tenancy.InvalidError `json:"problems"` // by column
	Changed  *changedSince        `json:"changed"`  // if something else has changed it
}

// changedSince says why a row was not applied or not undone.
type changedSince struct {
	Fields []string `json:"fields"` // of a product that a plan changes by field
	Reason string   `json:"reason"` // a sentence without a subject: "has changed since"
}

// importPermissions are the permissions to read what is stored of the kinds of rows.
var importPermissions = map[imports.Kind]keys.Permission{
	imports.Category: keys.ProductsRead, imports.Seller: keys.ProductsRead, imports.Warehouse: keys.ProductsRead,
	imports.Product: keys.ProductsRead, imports.Stock: keys.ProductsRead, imports.Channel: keys.OrdersRead,
	imports.Order: keys.OrdersRead, imports.Refund: keys.OrdersRead, imports.Cancellation: keys.OrdersRead,
	imports.Customer: keys.CustomersRead,
}

// hiddenKinds returns which kinds of rows the key may not read.
func hiddenKinds(r *http.Request) func(imports.Kind) bool {
	return func(k imports.Kind) bool { return !principal(r).Permissions.Allow(importPermissions[k]) }
}

// importShape leaves out what the key may not read: examples are cells of the files, which others may have uploaded, and
// numbers of rows say what is stored.
func importShape(r *http.Request, i imports.Import) importJSON {
	shown := importJSON{
		planHeadShape(i.Plan), orEmpty(i.Files), i.Settings, orEmpty(i.Remembered), orEmpty(i.Questions), i.Counts,
		orEmpty(i.Totals), orEmpty(i.Notes), i.Progress,
	}
	hides, hidesAny := hiddenKinds(r), false
	for kind := range importPermissions {
		hidesAny = hidesAny || hides(kind)
	}
	if !hidesAny {
		return shown
	}
	shown.Counts = maps.Clone(i.Counts)
	maps.DeleteFunc(shown.Counts, func(k imports.Kind, _ changeplan.Counts) bool { return hides(k) })
	shown.Files = mapSlice(i.Files, func(f imports.File) imports.File {
		f.Examples, f.Rounding = nil, nil
		return f
	})
	shown.Questions = mapSlice(i.Questions, func(q imports.Question) imports.Question {
		q.Examples, q.Readings = nil, nil
		return q
	})
	if hides(imports.Order) {
		shown.Totals = []imports.Total{}
	}
	shown.Notes, shown.Progress = []imports.NoteCount{}, progressInFiles(i)
	return shown
}

// progressInFiles returns the progress in rows of the files. The plan has more rows if the files name objects that do not
// exist or differ.
func progressInFiles(i imports.Import) changeplan.Progress {
	var of int64
	for _, f := range i.Files {
		of += int64(f.Rows)
	}
	p := changeplan.Progress{Of: &of}
	switch planned := i.Progress.Of; {
	case planned == nil:
		return changeplan.Progress{}
	case *planned > 0:
		p.Rows = int64(float64(of) * float64(i.Progress.Rows) / float64(*planned))
	}
	return p
}

// listImports handles GET /api/imports.
func (s *Server) listImports(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	page := q.page()
	if err := q.err(); err != nil {
		return err
	}
	list, err := s.imports(r).List(r.Context(), tenant(r), page)
	if err != nil {
		return err
	}
	return writePage(w, r, page, list, planHeadShape)
}

// createImport handles POST /api/imports.
func (s *Server) createImport(w http.ResponseWriter, r *http.Request) error {
	if err := readQuery(r).err(); err != nil {
		return err
	}
	form, err := readForm(r)
	if err != nil {
		return err
	}
	id, err := s.imports(r).Create(r.Context(), principal(r).Tenant, s.keyActor(r), form)
	switch {
	case errors.Is(err, imports.ErrForm):
		return &apiError{
			code: ValidationError, message: "The body is not valid multipart/form-data.", cause: err,
			details: tenancy.InvalidError{"file": {"could not be read"}},
		}
	case err != nil:
		return err
	}
	return s.acceptImport(w, r, id)
}

// readForm returns the parts of a body with the content type multipart/form-data.
func readForm(r *http.Request) (*spool.Form, error) {
	boundary, err := formBoundary(r.Header)
	if err != nil {
		return nil, err
	}
	return spool.NewForm(stateOf(r).body.Reader(), boundary), nil
}

// acceptImport sends 202 with the import. An instance does the work in the background.
func (s *Server) acceptImport(w http.ResponseWriter, r *http.Request, id int64) error {
	i, err := s.imports(r).Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/imports/"+strconv.FormatInt(id, 10))
	return writeData(w, http.StatusAccepted, importShape(r, i))
}

// showImport handles GET /api/imports/{id}.
func (s *Server) showImport(w http.ResponseWriter, r *http.Request, id int64) error {
	i, err := s.imports(r).Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, importShape(r, i))
}

// configureImport handles PATCH /api/imports/{id}.
func (s *Server) configureImport(w http.ResponseWriter, r *http.Request, id int64) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	i, err := s.imports(r).Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	answers := imports.Answers{}
	for name := range body.fields {
		if !imports.IsSetting(name) {
			continue
		}
		if answers[name], _, _ = body.take(name); hasLoneSurrogate(answers[name]) {
			body.addError(name, "must not contain half of a surrogate pair")
		}
	}
	body.rejectUnknown()
	if _, err := i.Settings.With(answers); err != nil {
		invalid, _ := errors.AsType[tenancy.InvalidError](err)
		for name, problems := range invalid {
			body.errs[name] = append(body.errs[name], problems...)
		}
	}
	if err := body.errs.Err(); err != nil {
		return err
	}
	if err := s.imports(r).Configure(r.Context(), tenant(r), id, answers); err != nil {
		return err
	}
	return s.acceptImport(w, r, id)
}

// listImportRows handles GET /api/imports/{id}/rows.
func (s *Server) listImportRows(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	id := q.pathID(r, "id")
	f := changeplan.RowFilter{
		Kind: imports.Kind(q.oneOf("kind",
			"category", "seller", "warehouse", "product", "stock", "channel", "customer", "order", "refund", "cancellation")),
		Page: q.page(),
	}
	q.rowAction(&f, "created", "updated", "unchanged", "refused", "ignored", "changed")
	if err := q.err(); err != nil {
		return err
	}
	f.Hides = hiddenKinds(r)
	rows, err := s.imports(r).Rows(r.Context(), tenant(r), id, f)
	if err != nil {
		return err
	}
	return writePage(w, r, f.Page, rows, func(row changeplan.Row) importRowJSON { return importRowShape(r, row) })
}

// importRowShape leaves out everything but the place and the columns with errors of the file itself of a row that the key
// may not read.
func importRowShape(r *http.Request, row changeplan.Row) importRowJSON {
	first := row.First()
	shown := importRowJSON{
		File: first.File, Line: first.Line, Kind: row.Kind, Action: row.Action, Notes: []string{},
		Problems: tenancy.InvalidError{},
	}
	if hiddenKinds(r)(row.Kind) {
		for _, field := range row.Unread {
			shown.Problems.Add(field, "is not valid; %s shows why", importPermissions[row.Kind])
		}
		return shown
	}
	shown.Key, shown.Old, shown.New, shown.Notes = row.Key, row.Old, row.New, row.NoteTexts()
	if row.Invalid != nil {
		shown.Problems = row.Invalid
	}
	if row.Kept != nil {
		shown.Changed = &changedSince{append([]string{}, row.Kept.Fields...), row.Kept.Reason}
	}
	return shown
}

// exportRefused handles GET /api/imports/{id}/refused.csv. The rows are whole rows of the file, including those of
// customers.
func (s *Server) exportRefused(w http.ResponseWriter, r *http.Request, id int64) error {
	if err := checkPermission(principal(r), keys.CustomersRead); err != nil {
		return err
	}
	i, err := s.imports(r).Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	for _, kind := range i.FileKinds() {
		if err := checkPermission(principal(r), importPermissions[kind]); err != nil {
			return err
		}
	}
	if len(i.Files) == 0 { // they are still being read
		return changeplan.ErrState
	}
	file := &download{
		w: w, timeout: s.limits.readerTimeout, contentType: contentTypes[csvFormat], name: i.RefusedFile(),
	}
	if strings.HasSuffix(file.name, ".zip") {
		file.contentType = zipType
	}
	if r.Method == http.MethodHead {
		file.start()
		return nil
	}
	if i.HasCustomers() {
		if err := s.logExport(r, i.RefusedFile()); err != nil {
			return err
		}
	}
	return file.readAhead(r, func(ctx context.Context, to io.Writer) error {
		if err := s.imports(r).WriteRefused(ctx, tenant(r), i, to); err != nil {
			return fmt.Errorf("write the refused rows of import %d: %w", id, err)
		}
		return nil
	})
}

// applyImport handles POST /api/imports/{id}/apply, whose body may be empty.
func (s *Server) applyImport(w http.ResponseWriter, r *http.Request, id int64) error {
	skipChanged, err := readFlag(r, "skip_changed")
	if err != nil {
		return err
	}
	if err := s.imports(r).Apply(r.Context(), tenant(r), s.keyActor(r), id, skipChanged); err != nil {
		return err
	}
	return s.acceptImport(w, r, id)
}

// readFlag reads a body that may be empty, with one field.
func readFlag(r *http.Request, name string) (bool, error) {
	body, err := readOptionalBody(r)
	if err != nil {
		return false, err
	}
	flag := optional(body, name, parseBool)
	body.rejectUnknown()
	return flag != nil && *flag, body.errs.Err()
}

// cancelImport handles POST /api/imports/{id}/cancel.
func (s *Server) cancelImport(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.changeImport(w, r, id, s.imports(r).Cancel)
}

// undoImport handles POST /api/imports/{id}/undo.
func (s *Server) undoImport(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.changeImport(w, r, id, s.imports(r).Undo)
}

// changeImport handles a route without fields that changes the state of an import.
func (s *Server) changeImport(
	w http.ResponseWriter, r *http.Request, id int64,
	change func(context.Context, tenancy.ID, tenancy.Actor, int64) error,
) error {
	if err := readNoFields(r); err != nil {
		return err
	}
	if err := change(r.Context(), tenant(r), s.keyActor(r), id); err != nil {
		return err
	}
	return s.acceptImport(w, r, id)
}
