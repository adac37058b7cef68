package csvimport

import (
	"context"
	"errors"
	"regexp"
	"strconv"

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
	return r.eachBatch(ctx, "channels", channelColumns, func(ctx context.Context, rows []row) error {
		return r.ensure(rows, func(rows []row) (sales.Count, error) {
			channels := make([]sales.Channel, len(rows))
			for i, w := range rows {
				channels[i] = sales.Channel{Identifier: w.id("identifier"), Label: csvcell.Unguard(w.cells["label"])}
			}
			return r.sales.EnsureChannels(ctx, r.tenant, channels)
		})
	})
}

func (r *run) loadCustomers(ctx context.Context) error {
	return r.eachBatch(ctx, "customers", customerColumns, func(ctx context.Context, rows []row) error {
		return r.ensure(rows, func(rows []row) (sales.Count, error) {
			customers := make([]sales.Customer, len(rows))
			for i, w := range rows {
				customers[i] = sales.Customer{
					ID: w.id("id"), Name: cell(w, "name", parseText), Email: cell(w, "email", parseText),
				}
			}
			return r.sales.EnsureCustomers(ctx, r.tenant, customers)
		})
	})
}

// ensure stores rows. If store finds validation errors, the invalid rows are refused and
// the others are stored with a second call.
func (r *run) ensure(rows []row, store func([]row) (sales.Count, error)) error {
	stored, err := store(rows)
	if invalid, ok := errors.AsType[tenancy.InvalidError](err); ok {
		rows = r.refuseInvalid(rows, invalid)
		stored, err = store(rows)
	}
	c := r.count()
	c.Created += stored.Created
	c.Updated += stored.Updated
	c.Unchanged += len(rows) - stored.Created - stored.Updated // including duplicate rows
	return err
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

var elementPath = regexp.MustCompile(`^\w+\[([0-9]+)\]\.(.+)$`)

// splitPath splits a path such as items[3].unit_price into 3 and unit_price.
func splitPath(path string) (i int, field string, ok bool) {
	parts := elementPath.FindStringSubmatch(path)
	if parts == nil {
		return 0, path, false
	}
	i, err := strconv.Atoi(parts[1])
	return i, parts[2], err == nil
}
