package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/admission"
)

const (
	// maxBulkRows is the number of rows that a bulk request may contain.
	maxBulkRows = 1000
	// maxBulkItems is the number of items that the orders of a bulk request may contain
	// together: what one transaction inserts in a few seconds.
	maxBulkItems = 50_000
	bulkDeadline = 25 * time.Second
)

// bulkResult is the outcome of one row of a bulk request.
type bulkResult struct {
	key     *string // SKU or order number; nil if the row has none
	id      int64   // 0 for a failed row
	outcome string
	err     error
}

// bulkRow is a bulkResult in a response. It has either sku or number, which is null if key is nil.
type bulkRow struct {
	Index  int        `json:"index"`
	SKU    any        `json:"sku,omitempty"`
	Number any        `json:"number,omitempty"`
	Status string     `json:"status"`
	ID     *int64     `json:"id"`
	Error  *errorBody `json:"error,omitempty"`
}

type bulkMeta struct {
	Total     int  `json:"total"`
	Created   int  `json:"created"`
	Updated   *int `json:"updated,omitempty"`
	Unchanged int  `json:"unchanged"`
	Failed    int  `json:"failed"`
}

// upsertProducts handles POST /api/products/bulk.
func (s *Server) upsertProducts(w http.ResponseWriter, r *http.Request) error {
	read := func(o *object) catalog.Row { return catalog.Row{Changes: o.product(), Invalid: o.errs} }
	results, err := runBulk(r, "items", read, func(rows []catalog.Row) ([]bulkResult, error) {
		upserted, err := s.Catalog.Upsert(r.Context(), actor(r), rows)
		results := make([]bulkResult, len(upserted))
		for i, u := range upserted {
			results[i] = bulkResult{id: u.ID, outcome: string(u.Outcome), err: u.Err}
			if sku := rows[i].SKU; sku.Set && !sku.Null {
				results[i].key = &u.SKU
			}
		}
		return results, err
	})
	if err != nil {
		return err
	}
	meta := newBulkMeta(results)
	countRows(r, "product", meta.Created+*meta.Updated)
	return writeBulk(w, r, meta, results, func(row *bulkRow, sku *string) { row.SKU = sku })
}

// createOrders handles POST /api/orders/bulk.
func (s *Server) createOrders(w http.ResponseWriter, r *http.Request) error {
	createdItems := 0
	results, err := runBulk(r, "orders", (*object).order, func(rows []sales.Row) ([]bulkResult, error) {
		if err := checkItemCount(rows); err != nil {
			return nil, err
		}
		ingested, err := s.Sales.Ingest(r.Context(), tenant(r), rows)
		results := make([]bulkResult, len(ingested))
		for i, ingest := range ingested {
			results[i] = bulkResult{id: ingest.ID, outcome: string(ingest.Outcome), err: ingest.Err}
			if len(rows[i].Invalid["number"]) == 0 {
				results[i].key = &ingest.Number
			}
			if ingest.Outcome == sales.Created {
				createdItems += len(rows[i].Items)
			}
		}
		return results, err
	})
	if err != nil {
		return err
	}
	meta := newBulkMeta(results)
	meta.Updated = nil // an order is created or unchanged, never updated
	countRows(r, "order", meta.Created)
	countRows(r, "item", createdItems)
	return writeBulk(w, r, meta, results, func(row *bulkRow, number *string) { row.Number = number })
}

func checkItemCount(rows []sales.Row) error {
	items := 0
	for _, row := range rows {
		items += len(row.Items)
	}
	if items > maxBulkItems {
		return tenancy.InvalidError{"orders": {fmt.Sprintf("must have at most %d items in total", maxBulkItems)}}
	}
	return nil
}

// runBulk reads the rows in one field of the body and stores them. Rows fail independently. A
// row that is not a JSON object is passed on as a zero Row, which fails; its result reports the
// syntax instead of the missing fields.
func runBulk[Row any](
	r *http.Request, field string, read func(*object) Row, store func([]Row) ([]bulkResult, error),
) ([]bulkResult, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	rows, malformed, err := readRows(r.Context(), turnFor(r), body, field, read)
	if err != nil {
		return nil, err
	}
	results, err := store(rows)
	for i, err := range malformed {
		if i < len(results) {
			results[i].key = nil
			results[i].err = &apiError{code: ValidationError, message: fmt.Sprintf("The row must be one JSON object: %v.", err)}
		}
	}
	return results, err
}

// readRows reads the rows of a body. Each row has its own validation errors. The second result
// holds the errors of rows that are not objects, by index.
func readRows[Row any](
	ctx context.Context, turn *admission.Turn, body *object, field string, read func(*object) Row,
) ([]Row, map[int]error, error) {
	defer turn.End()
	elements := required(body, field, func(raw json.RawMessage) ([]json.RawMessage, error) {
		return splitArray(raw, maxBulkRows, "an array")
	})
	body.rejectUnknown()
	if err := body.errs.Err(); err != nil {
		return nil, nil, err
	}
	rows, malformed := make([]Row, len(elements)), map[int]error{}
	for i, element := range elements {
		if err := turn.Next(ctx); err != nil {
			return nil, nil, err
		}
		o, err := newObject(element, "", tenancy.InvalidError{})
		if err != nil {
			malformed[i] = err
			continue
		}
		rows[i] = read(o)
	}
	return rows, malformed, nil
}

func newBulkMeta(results []bulkResult) bulkMeta {
	counts := map[string]int{}
	for _, result := range results {
		counts[result.outcome]++
	}
	updated := counts[string(catalog.Updated)]
	return bulkMeta{
		Total:     len(results),
		Created:   counts[string(catalog.Created)],
		Updated:   &updated,
		Unchanged: counts[string(catalog.Unchanged)],
		Failed:    counts[string(catalog.Failed)],
	}
}

func newBulkRow(index int, result bulkResult) bulkRow {
	row := bulkRow{Index: index, Status: result.outcome}
	if result.id != 0 {
		row.ID = &result.id
	}
	if result.err != nil {
		row.Error = new(toAPIError(result.err).body())
	}
	return row
}

// writeBulk writes a response with status 207 if any row failed.
func writeBulk(
	w http.ResponseWriter, r *http.Request, meta bulkMeta, results []bulkResult, setKey func(*bulkRow, *string),
) error {
	status := http.StatusOK
	if meta.Failed > 0 {
		status = http.StatusMultiStatus
	}
	index := -1
	rows := arrayFrom(results, func(result bulkResult) bulkRow {
		index++
		row := newBulkRow(index, result)
		setKey(&row, result.key)
		return row
	})
	return writeLarge(w, r, status, envelope(rows, jsonField{"meta", meta}))
}
