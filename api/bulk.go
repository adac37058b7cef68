package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/spool"
)

const (
	// maxBulkRows is the number of rows that a bulk request may contain.
	maxBulkRows = 1000
	// maxBulkItems is the number of items that the orders of a bulk request may contain together. One transaction
	// inserts them in a few seconds.
	maxBulkItems = 50_000
	bulkDeadline = 25 * time.Second
	// maxBulkErrors limits the invalid fields in a response, because errors take memory. Each row of the request gets
	// an equal part, so that small requests report all errors.
	maxBulkErrors = 20_000
)

// bulkResult is the outcome of one row of a bulk request.
type bulkResult struct {
	key     *string // SKU or order number; nil if the row has none
	id      int64   // 0 for a failed row
	outcome string
	short   bool // the order took less from stock than it has items
	err     error
}

// bulkRow is a bulkResult in a response. It has either sku or number, which is null if key is nil.
type bulkRow struct {
	Index  int        `json:"index"`
	SKU    any        `json:"sku,omitempty"`
	Number any        `json:"number,omitempty"`
	Status string     `json:"status"`
	ID     *int64     `json:"id"`
	Short  bool       `json:"short,omitempty"`
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
	q := readQuery(r)
	asPlan := q.oneOf("plan", "true", "false") == "true"
	body, err := readBulk(r, q, "items")
	if err != nil {
		return err
	}
	if asPlan {
		return s.planProducts(w, r, body)
	}
	keys, hasSKU := make([]catalog.RowKey, len(body.rows)), make([]bool, len(body.rows))
	err = body.eachRow(body.all(), func(i int, o *object) error {
		sku := field(o, "sku", parseLine)
		keys[i], hasSKU[i] = catalog.RowKey{SKU: sku.Value, Size: body.rows[i].length}, sku.Set && !sku.Null
		return nil
	})
	if err != nil {
		return err
	}
	read := func(ctx context.Context, indexes []int) ([]catalog.Row, error) {
		rows := make([]catalog.Row, len(indexes))
		return rows, body.eachRow(indexes, func(i int, o *object) error {
			rows[i] = catalog.Row{Changes: o.productRow(), Invalid: o.errs}
			limitErrors(o.errs, len(body.rows))
			return nil
		})
	}
	upserted, err := s.catalog(r).UpsertParts(r.Context(), actor(r), keys, read)
	if err != nil {
		return err
	}
	results := make([]bulkResult, len(upserted))
	for i, u := range upserted {
		results[i] = bulkResult{id: u.ID, outcome: string(u.Outcome), err: u.Err}
		if hasSKU[i] {
			results[i].key = &u.SKU
		}
	}
	body.reportMalformed(results)
	meta := newBulkMeta(results)
	countRows(r, "product", meta.Created+*meta.Updated)
	return writeBulk(w, r, meta, results, func(row *bulkRow, sku *string) { row.SKU = sku })
}

// createOrders handles POST /api/orders/bulk.
func (s *Server) createOrders(w http.ResponseWriter, r *http.Request) error {
	body, err := readBulk(r, readQuery(r), "orders")
	if err != nil {
		return err
	}
	rows, hasNumber, items := make([]sales.Row, len(body.rows)), make([]bool, len(body.rows)), 0
	err = body.eachRow(body.all(), func(i int, o *object) error {
		rows[i] = o.order()
		hasNumber[i] = len(o.errs["number"]) == 0
		rows[i].MoreInvalid = limitErrors(o.errs, len(body.rows))
		if items += len(rows[i].Items); items > maxBulkItems {
			return tenancy.InvalidError{"orders": {fmt.Sprintf("must have at most %d items in total", maxBulkItems)}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	ingested, err := s.sales(r).WithStock(actor(r)).Ingest(r.Context(), tenant(r), rows)
	if err != nil {
		return err
	}
	results, createdItems := make([]bulkResult, len(ingested)), 0
	for i, ingest := range ingested {
		results[i] = bulkResult{id: ingest.ID, outcome: string(ingest.Outcome), short: ingest.Short, err: ingest.Err}
		if hasNumber[i] {
			results[i].key = &ingest.Number
		}
		if ingest.Outcome == sales.Created {
			createdItems += len(rows[i].Items)
		}
	}
	body.reportMalformed(results)
	meta := newBulkMeta(results)
	meta.Updated = nil // an order is created or unchanged, never updated
	countRows(r, "order", meta.Created)
	countRows(r, "item", createdItems)
	return writeBulk(w, r, meta, results, func(row *bulkRow, number *string) { row.Number = number })
}

// bulkBody is the array in the body of a bulk request. The body can be in a file, so that only some rows are in memory.
type bulkBody struct {
	spool     *spool.Spool
	rows      []span
	malformed map[int]error // of rows that are not objects, by index
}

// maxRow is more than a row can need: an order of 5,000 items with 800 bytes each.
const maxRow = 4 << 20

var errRowTooLarge = errors.New("found more than 4 MiB")

// readBulk validates the body and finds the rows in one of its fields. The known parameters are taken from q.
func readBulk(r *http.Request, q *query, field string) (*bulkBody, error) {
	if err := q.err(); err != nil {
		return nil, err
	}
	if err := checkJSONContent(r); err != nil {
		return nil, err
	}
	b := &bulkBody{spool: stateOf(r).body, malformed: map[int]error{}}
	if err := b.spool.Reserve(r.Context()); err != nil {
		return nil, err
	}
	return b, b.spool.View(func(content []byte) error {
		body, err := parseBody(r, content)
		if err != nil {
			return err
		}
		rows := required(body, field, func(raw json.RawMessage) ([]json.RawMessage, error) {
			return splitArray(raw, maxBulkRows, "an array")
		})
		body.rejectUnknown()
		for _, row := range rows {
			b.rows = append(b.rows, placeOf(content, row))
		}
		return body.errs.Err()
	})
}

// eachRow calls f with each row of indexes. A row that is not an object counts as an empty one: it fails, and its
// result reports the syntax instead of the missing fields. Other requests may use the CPU between rows.
func (b *bulkBody) eachRow(indexes []int, f func(i int, o *object) error) error {
	for i, index := range indexes {
		runtime.Gosched()
		o, err := b.row(index)
		if err != nil {
			return err
		}
		if err := f(i, o); err != nil {
			return err
		}
	}
	return nil
}

// limitErrors removes the errors of a row above its part of maxBulkErrors, and reports whether it removed any. Later
// checks of a product can add an error of a field again, and the caller removes it again.
func limitErrors(errs tenancy.InvalidError, rows int) (removed bool) {
	limit := maxBulkErrors / rows
	if len(errs) <= limit {
		return false
	}
	for _, field := range slices.Sorted(maps.Keys(errs))[limit:] {
		delete(errs, field)
	}
	return true
}

func (b *bulkBody) row(index int) (*object, error) {
	span, malformed := b.rows[index], errRowTooLarge
	if span.length <= maxRow {
		raw, err := b.spool.Part(span.at, span.length)
		if err != nil {
			return nil, err
		}
		var o *object
		if o, malformed = newObject(raw, "", tenancy.InvalidError{}); malformed == nil {
			return o, nil
		}
	}
	b.malformed[index] = malformed
	return &object{errs: tenancy.InvalidError{}}, nil
}

// all returns the indexes of all rows.
func (b *bulkBody) all() []int {
	indexes := make([]int, len(b.rows))
	for i := range indexes {
		indexes[i] = i
	}
	return indexes
}

// malformedRow returns why a row is not an object.
func malformedRow(err error) string { return fmt.Sprintf("must be one JSON object: %v", err) }

// reportMalformed replaces the errors of rows that are not objects.
func (b *bulkBody) reportMalformed(results []bulkResult) {
	for i, err := range b.malformed {
		results[i].key = nil
		results[i].err = &apiError{code: ValidationError, message: "The row " + malformedRow(err) + "."}
	}
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

func newBulkRow(index, rows int, result bulkResult) bulkRow {
	row := bulkRow{Index: index, Status: result.outcome, Short: result.short}
	if result.id != 0 {
		row.ID = &result.id
	}
	if result.err != nil {
		if invalid, ok := errors.AsType[tenancy.InvalidError](result.err); ok {
			limitErrors(invalid, rows)
		}
		if short, ok := errors.AsType[sales.StockError](result.err); ok {
			limitErrors(tenancy.InvalidError(short), rows)
		}
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
		row := newBulkRow(index, len(results), result)
		setKey(&row, result.key)
		return row
	})
	return writeLarge(w, r, status, envelope(rows, jsonField{"meta", meta}))
}
