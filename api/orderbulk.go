package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

// orderRow tells what became of one order of a bulk request.
type orderRow struct {
	Index  int           `json:"index"`
	Number *string       `json:"number"`
	Status sales.Outcome `json:"status"`
	ID     *int64        `json:"id"`
	Error  *failureBody  `json:"error,omitempty"`
}

type orderMeta struct {
	Total     int `json:"total"`
	Created   int `json:"created"`
	Unchanged int `json:"unchanged"`
	Failed    int `json:"failed"`
}

func (m *orderMeta) count(o sales.Outcome) {
	m.Total++
	switch o {
	case sales.Created:
		m.Created++
	case sales.Unchanged:
		m.Unchanged++
	default:
		m.Failed++
	}
}

// maxBulkItems is how many items the orders of a request may have together: what a
// transaction takes in a few seconds.
const maxBulkItems = 50_000

// createOrders answers POST /api/orders/bulk.
func (s *Server) createOrders(w http.ResponseWriter, r *http.Request) error {
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
	elements := body.rows("orders", maxBulk)
	body.refuseRest()
	if err := body.faults.Err(); err != nil {
		return err
	}
	rows, broken := make([]sales.Row, len(elements)), make([]error, len(elements))
	items := 0
	for i, element := range elements {
		rows[i], broken[i] = orderOf(element)
		if items += len(rows[i].Items); items > maxBulkItems {
			return tenancy.InvalidError{"orders": {fmt.Sprintf("must have at most %d items in all", maxBulkItems)}}
		}
	}
	results, err := s.sales.Ingest(r.Context(), tenant(r), rows)
	if err != nil {
		return err
	}
	var meta orderMeta
	shown, taken := make([]orderRow, len(results)), 0
	for i, result := range results {
		meta.count(result.Outcome)
		if result.Outcome == sales.Created {
			taken += len(rows[i].Items)
		}
		shown[i] = orderRowOf(i, rows[i], result, broken[i])
	}
	countRows(r, "order", meta.Created)
	countRows(r, "item", taken)
	return writeJSON(w, bulkStatus(meta.Failed), success{Success: true, Data: shown, Meta: meta})
}

// orderOf reads one order of a bulk request. What is no object at all comes out as
// an empty order, which fails.
func orderOf(raw json.RawMessage) (sales.Row, error) {
	o, err := readRow(raw)
	if err != nil {
		return sales.Row{}, err
	}
	return o.order(), nil
}

// orderRowOf shows the number as it is stored, if the row has one. What is wrong
// with a broken row is that, and not the fields that it lacks, too.
func orderRowOf(i int, row sales.Row, result sales.Result, broken error) orderRow {
	shown := orderRow{Index: i, Status: result.Outcome}
	if broken == nil && len(row.Invalid["number"]) == 0 {
		shown.Number = &result.Number
	}
	if result.ID != 0 {
		shown.ID = &result.ID
	}
	if broken != nil {
		result.Err = broken
	}
	if result.Err != nil {
		shown.Error = new(problemOf(result.Err).body())
	}
	return shown
}
