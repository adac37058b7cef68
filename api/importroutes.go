package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
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
	importHeadJSON
	Files    []imports.File   `json:"files"`
	Settings imports.Settings `json:"settings"`
	// Remembered are the names of settings that come from an earlier import.
	Remembered []string                        `json:"remembered"`
	Questions  []imports.Question              `json:"questions"`
	Counts     map[imports.Kind]imports.Counts `json:"counts"`
	Totals     []imports.Total                 `json:"totals"`
	Notes      []imports.NoteCount             `json:"notes"`
	Progress   imports.Progress                `json:"progress"`
}

// importHeadJSON is an import in a list.
type importHeadJSON struct {
	ID        int64            `json:"id"`
	Title     string           `json:"title"`
	State     changeplan.State `json:"state"`
	CreatedAt timestamp        `json:"created_at"`
	CreatedBy string           `json:"created_by"`
	PlannedAt *timestamp       `json:"planned_at"`
	AppliedAt *timestamp       `json:"applied_at"`
	ExpiresAt timestamp        `json:"expires_at"`
	Failure   *string          `json:"failure"`
}

func importHeadShape(i imports.Import) importHeadJSON {
	return importHeadJSON{
		ID: i.ID, Title: i.Title, State: i.State, CreatedAt: timestamp(i.CreatedAt), CreatedBy: i.CreatedBy,
		PlannedAt: (*timestamp)(i.PlannedAt), AppliedAt: (*timestamp)(i.AppliedAt), ExpiresAt: timestamp(i.ExpiresAt),
		Failure: i.Failure,
	}
}

// importShape leaves out examples of cells, which may be names, for a key without customers:read.
func importShape(r *http.Request, i imports.Import) importJSON {
	shown := importJSON{
		importHeadShape(i), i.Files, i.Settings, i.Remembered, i.Questions, i.Counts, i.Totals, i.Notes, i.Progress,
	}
	if !canReadCustomers(r) {
		shown.Files = mapSlice(i.Files, func(f imports.File) imports.File {
			f.Examples = nil
			return f
		})
		shown.Questions = mapSlice(i.Questions, func(q imports.Question) imports.Question {
			q.Examples = nil
			return q
		})
	}
	return shown
}

// listImports handles GET /api/imports.
func (s *Server) listImports(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	page := q.page()
	if err := q.err(); err != nil {
		return err
	}
	list, err := s.Imports.List(r.Context(), tenant(r), page)
	if err != nil {
		return err
	}
	return writePage(w, r, page, list, importHeadShape)
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
	id, err := s.Imports.Create(r.Context(), principal(r).Tenant, s.keyActor(r), form)
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
func readForm(r *http.Request) (*imports.Form, error) {
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" || parameters["boundary"] == "" ||
		r.Header.Get("Content-Encoding") != "" {
		return nil, &apiError{
			code: UnsupportedMediaType, message: "Send the body as Content-Type: multipart/form-data.",
		}
	}
	return imports.NewForm(stateOf(r).body.Reader(), parameters["boundary"]), nil
}

// acceptImport sends 202 with the import. An instance does the work in the background.
func (s *Server) acceptImport(w http.ResponseWriter, r *http.Request, id int64) error {
	i, err := s.Imports.Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/imports/"+strconv.FormatInt(id, 10))
	return writeData(w, http.StatusAccepted, importShape(r, i))
}

// showImport handles GET /api/imports/{id}.
func (s *Server) showImport(w http.ResponseWriter, r *http.Request, id int64) error {
	i, err := s.Imports.Get(r.Context(), tenant(r), id)
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
	i, err := s.Imports.Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	settings := i.Settings
	body.importSettings(&settings)
	if err := body.errs.Err(); err != nil {
		return err
	}
	if err := s.Imports.Configure(r.Context(), tenant(r), id, settings); err != nil {
		return err
	}
	return s.acceptImport(w, r, id)
}

// importSettings takes the settings of an import. Null restores the default.
func (o *object) importSettings(s *imports.Settings) {
	for name, setting := range map[string]*string{
		"date_order": &s.DateOrder, "decimal": &s.Decimal, "timezone": &s.Timezone, "channel": &s.Channel,
		"missing_sku": &s.MissingSKU, "refunds": &s.Refunds, "tax_included": &s.TaxIncluded,
	} {
		if f := field(o, name, parseLine); f.Set {
			*setting = f.Value
		}
	}
	if f := field(o, "restore_zeros", parseBool); f.Set {
		s.RestoreZeros = f.Value
	}
	if f := field(o, "mapping", parseMapping); f.Set {
		s.Mapping = f.Value
	}
	o.rejectUnknown()
}

func parseMapping(raw json.RawMessage) (mapping map[string]map[string]string, err error) {
	if json.Unmarshal(raw, &mapping) != nil {
		err = errors.New("must be an object of files with objects of columns and fields")
	}
	return mapping, err
}

// listImportRows handles GET /api/imports/{id}/rows.
func (s *Server) listImportRows(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	id := q.pathID(r, "id")
	f := imports.RowFilter{
		Kind: imports.Kind(q.oneOf("kind",
			"category", "seller", "warehouse", "product", "stock", "channel", "customer", "order", "refund", "cancellation")),
		Page: q.page(),
	}
	q.rowAction(&f, "created", "updated", "unchanged", "refused", "ignored", "changed")
	if err := q.err(); err != nil {
		return err
	}
	rows, err := s.Imports.Rows(r.Context(), tenant(r), id, f)
	if err != nil {
		return err
	}
	return writePage(w, r, f.Page, rows, func(row imports.PlanRow) imports.PlanRow { return importRowShape(r, row) })
}

// importRowShape leaves out the names and e-mail addresses of customers for a key without customers:read.
func importRowShape(r *http.Request, row imports.PlanRow) imports.PlanRow {
	if row.Kind == imports.Customer && !canReadCustomers(r) {
		row.Old, row.New = maps.Clone(row.Old), maps.Clone(row.New)
		for _, fields := range []map[string]any{row.Old, row.New} {
			delete(fields, "name")
			delete(fields, "email")
		}
	}
	if row.Problems == nil {
		row.Problems = tenancy.InvalidError{}
	}
	return row
}

// exportRefused handles GET /api/imports/{id}/refused.csv. The rows are whole rows of the file, including those of
// customers.
func (s *Server) exportRefused(w http.ResponseWriter, r *http.Request, id int64) error {
	if err := checkPermission(principal(r), keys.CustomersRead); err != nil {
		return err
	}
	i, err := s.Imports.Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
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
	return file.readAhead(r, func(ctx context.Context, to io.Writer) error {
		if err := s.Imports.WriteRefused(ctx, tenant(r), i, to); err != nil {
			return fmt.Errorf("write the refused rows of import %d: %w", id, err)
		}
		return nil
	})
}

// applyImport handles POST /api/imports/{id}/apply, whose body may be empty.
func (s *Server) applyImport(w http.ResponseWriter, r *http.Request, id int64) error {
	body, err := readOptionalBody(r)
	if err != nil {
		return err
	}
	skipChanged := optional(body, "skip_changed", parseBool)
	body.rejectUnknown()
	if err := body.errs.Err(); err != nil {
		return err
	}
	if err := s.Imports.Apply(r.Context(), tenant(r), s.keyActor(r), id, skipChanged != nil && *skipChanged); err != nil {
		return err
	}
	return s.acceptImport(w, r, id)
}

// cancelImport handles POST /api/imports/{id}/cancel.
func (s *Server) cancelImport(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.changeImport(w, r, id, s.Imports.Cancel)
}

// undoImport handles POST /api/imports/{id}/undo.
func (s *Server) undoImport(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.changeImport(w, r, id, s.Imports.Undo)
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
