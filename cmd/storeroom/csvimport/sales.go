package csvimport

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/csvcell"
)

var (
	channelColumns = columns{[]string{"identifier", "label"}, 2, "identifier"}
	// The country is accepted and ignored.
	customerColumns = columns{[]string{"id", "name", "email", "country"}, 1, "id"}
)

func (r *run) loadChannels(ctx context.Context) error {
	store := func(ctx context.Context, rows []row) (sales.Count, error) {
		channels := make([]sales.Channel, len(rows))
		for i, w := range rows {
			channels[i] = sales.Channel{Identifier: w.id("identifier"), Label: csvcell.Unguard(w.cells["label"])}
		}
		return r.sales.EnsureChannels(ctx, r.tenant, channels)
	}
	return r.eachBatch(ctx, "channels", channelColumns, r.ensure(store))
}

func (r *run) loadCustomers(ctx context.Context) error {
	store := func(ctx context.Context, rows []row) (sales.Count, error) {
		customers := make([]sales.Customer, len(rows))
		for i, w := range rows {
			customers[i] = sales.Customer{
				ID: w.id("id"), Name: cell(w, "name", parseText), Email: cell(w, "email", parseText),
			}
		}
		return r.sales.EnsureCustomers(ctx, r.tenant, customers)
	}
	return r.eachBatch(ctx, "customers", customerColumns, r.ensure(store))
}

// ensure returns a function that stores rows. If store finds validation errors, the
// invalid rows are refused and the others are stored with a second call.
func (r *run) ensure(
	store func(context.Context, []row) (sales.Count, error),
) func(context.Context, []row) error {
	return func(ctx context.Context, rows []row) error {
		stored, err := store(ctx, rows)
		if invalid, ok := errors.AsType[tenancy.InvalidError](err); ok {
			rows = r.refuseInvalid(rows, invalid)
			stored, err = store(ctx, rows)
		}
		c := r.count()
		c.Created += stored.Created
		c.Updated += stored.Updated
		c.Unchanged += len(rows) - stored.Created - stored.Updated // including duplicate rows
		return err
	}
}

// refuseInvalid refuses the rows with errors, and returns the others.
func (r *run) refuseInvalid(rows []row, invalid tenancy.InvalidError) (valid []row) {
	for path, messages := range invalid {
		i, column, _ := splitPath(path)
		if rows[i].cells[column] == "" {
			messages = []string{"is required"}
		}
		rows[i].invalid[column] = messages
	}
	for _, w := range rows {
		if len(w.invalid) > 0 {
			r.refuse(w)
		} else {
			valid = append(valid, w)
		}
	}
	return valid
}

// splitPath splits a path such as items[3].unit_price into 3 and unit_price.
func splitPath(path string) (i int, field string, ok bool) {
	element, field, _ := strings.Cut(path, "].")
	_, index, _ := strings.Cut(element, "[")
	i, err := strconv.Atoi(index)
	if err != nil || field == "" {
		return 0, path, false
	}
	return i, field, true
}
