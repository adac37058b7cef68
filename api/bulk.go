package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
)

// maxBulk is how many rows a bulk request may hold.
const maxBulk = 1000

var errBulks = &problem{code: ServiceUnavailable, message: "Four bulk requests of this account are running; wait until one has ended."}

// bulkRow tells what became of one row of a bulk request.
type bulkRow struct {
	Index  int             `json:"index"`
	SKU    *string         `json:"sku"`
	Status catalog.Outcome `json:"status"`
	ID     *int64          `json:"id"`
	Error  *failureBody    `json:"error,omitempty"`
}

type bulkMeta struct {
	Total     int `json:"total"`
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Failed    int `json:"failed"`
}

func (m *bulkMeta) count(o catalog.Outcome) {
	m.Total++
	switch o {
	case catalog.Created:
		m.Created++
	case catalog.Updated:
		m.Updated++
	case catalog.Unchanged:
		m.Unchanged++
	default:
		m.Failed++
	}
}

// bulkStatus is 207 where some rows failed.
func bulkStatus(failed int) int {
	if failed > 0 {
		return http.StatusMultiStatus
	}
	return http.StatusOK
}

// upsertProducts answers POST /api/products/bulk.
func (s *Server) upsertProducts(w http.ResponseWriter, r *http.Request) error {
	if err := readQuery(r).err(); err != nil {
		return err
	}
	if !s.bulks.take(tenant(r)) {
		return errBulks
	}
	defer s.bulks.give(tenant(r))
	body, err := s.readBody(r)
	if err != nil {
		return err
	}
	items := body.rows("items", maxBulk)
	body.refuseRest()
	if err := body.faults.Err(); err != nil {
		return err
	}
	rows, broken := make([]catalog.Row, len(items)), make([]error, len(items))
	for i, item := range items {
		rows[i], broken[i] = productRow(item)
	}
	results, err := s.catalog.Upsert(r.Context(), actor(r), rows)
	if err != nil {
		return err
	}
	var meta bulkMeta
	shown := make([]bulkRow, len(results))
	for i, result := range results {
		if broken[i] != nil {
			result.Err = broken[i] // and not the fields that it lacks, too
		}
		meta.count(result.Outcome)
		shown[i] = bulkRowOf(i, rows[i], result)
	}
	countRows(r, "product", meta.Created+meta.Updated)
	return writeJSON(w, bulkStatus(meta.Failed), success{Success: true, Data: shown, Meta: meta})
}

// readRow reads one row. Its faults are its own: they do not touch the others. What
// is no object at all has no field to name.
func readRow(raw json.RawMessage) (*object, error) {
	o, err := splitObject(raw, "", tenancy.InvalidError{})
	if err != nil {
		return nil, &problem{code: ValidationError, message: fmt.Sprintf("The row is not one JSON object: %v.", err)}
	}
	return o, nil
}

// productRow makes an empty row, which fails, of what is no object.
func productRow(raw json.RawMessage) (catalog.Row, error) {
	o, err := readRow(raw)
	if err != nil {
		return catalog.Row{}, err
	}
	return catalog.Row{Changes: o.product(), Faults: o.faults}, nil
}

func bulkRowOf(i int, row catalog.Row, result catalog.Result) bulkRow {
	shown := bulkRow{Index: i, Status: result.Outcome}
	if row.SKU.Set && !row.SKU.Null {
		shown.SKU = &result.SKU
	}
	if result.ID != 0 {
		shown.ID = &result.ID
	}
	if result.Err != nil {
		shown.Error = new(problemOf(result.Err).body())
	}
	return shown
}

// rows takes an array of at most max elements, each read on its own.
func (o *object) rows(name string, max int) []json.RawMessage {
	raw, set, _ := o.take(name)
	if !set {
		o.fault(name, "is required")
		return nil
	}
	elements, fault := elementsOf(raw, max, "an array")
	if fault != "" {
		o.fault(name, fault)
	}
	return elements
}
