package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// orderPrefix is the prefix of the order numbers. A change of the simulation needs a new
// prefix, so that LoadSales does not add orders to shops with other ones.
const orderPrefix = "LM-"

const batchSize = 500

// LoadSales adds the orders of two years up to now, and returns how many it created. It continues after the orders of
// an earlier call, even if that call was interrupted. A tenant that has only other orders does not change.
func LoadSales(ctx context.Context, store *sales.Store, tenant tenancy.ID, now time.Time) (created int, err error) {
	opening, err := openingDay(ctx, store, tenant, now)
	if err != nil || opening.IsZero() {
		return 0, err
	}
	all := history(opening, now)
	first, err := firstMissing(ctx, store, tenant, all)
	if err != nil {
		return 0, err
	}
	if first == 0 {
		if err := createChannels(ctx, store, tenant); err != nil {
			return 0, err
		}
	}
	if err := ingest(ctx, store, tenant, all[first:]); err != nil {
		return 0, err
	}
	if err := refundOrders(ctx, store, tenant, all, now); err != nil {
		return 0, err
	}
	return len(all) - first, cancelOrders(ctx, store, tenant, all, now)
}

// openingDay returns the day of the first order of the simulation, or two years ago if the
// tenant has no orders. It returns the zero time if the tenant has only other orders.
func openingDay(ctx context.Context, store *sales.Store, tenant tenancy.ID, now time.Time) (time.Time, error) {
	first, err := store.Order(ctx, tenant, number(0))
	if err == nil {
		return tenancy.DayOf(first.PlacedAt, time.UTC), nil
	}
	if !errors.Is(err, tenancy.ErrNotFound) {
		return time.Time{}, err
	}
	orders, err := store.List(ctx, tenant, sales.Filter{Page: paging.Page{Number: 1, PerPage: 1}})
	if err != nil || orders.Total > 0 {
		return time.Time{}, err
	}
	return tenancy.DayOf(now, time.UTC).AddDate(-2, 0, 0), nil
}

// firstMissing returns the index of the first order that is not stored. Orders are stored
// in their order.
func firstMissing(ctx context.Context, store *sales.Store, tenant tenancy.ID, all []demoOrder) (int, error) {
	var failed error
	n := sort.Search(len(all), func(i int) bool {
		_, err := store.Order(ctx, tenant, all[i].Number)
		if err != nil && !errors.Is(err, tenancy.ErrNotFound) {
			failed = err
		}
		return err != nil
	})
	return n, failed
}

func createChannels(ctx context.Context, store *sales.Store, tenant tenancy.ID) error {
	var all []sales.Channel
	for _, c := range channels {
		all = append(all, sales.Channel{Identifier: c.identifier, Label: c.label})
	}
	_, err := store.EnsureChannels(ctx, tenant, all)
	return err
}

func ingest(ctx context.Context, store *sales.Store, tenant tenancy.ID, missing []demoOrder) error {
	for part := range slices.Chunk(missing, batchSize) {
		rows := make([]sales.Row, len(part))
		for i, o := range part {
			rows[i].Order = o.Order
		}
		results, err := store.Ingest(ctx, tenant, rows)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Err != nil {
				return fmt.Errorf("demo order %s: %w", r.Number, r.Err)
			}
		}
	}
	return nil
}

// refundOrders adds the refunds that are due, unless the last one exists.
func refundOrders(ctx context.Context, store *sales.Store, tenant tenancy.ID, all []demoOrder, now time.Time) error {
	var rows []sales.RefundRow
	for _, o := range all {
		if o.refund != nil && !o.refund.RefundedAt.After(now) {
			rows = append(rows, sales.RefundRow{Refund: *o.refund})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b sales.RefundRow) int { return a.RefundedAt.Compare(*b.RefundedAt) })
	last := rows[len(rows)-1].Refund
	order, err := store.Order(ctx, tenant, last.OrderNumber)
	if err != nil || slices.ContainsFunc(order.Refunds, func(r sales.StoredRefund) bool {
		return r.Reference != nil && *r.Reference == *last.Reference
	}) {
		return err
	}
	for part := range slices.Chunk(rows, batchSize) {
		results, err := store.Refund(ctx, tenant, part)
		if err != nil {
			return err
		}
		for i, r := range results {
			if r.Err != nil {
				return fmt.Errorf("refund of demo order %s: %w", part[i].OrderNumber, r.Err)
			}
		}
	}
	return nil
}

// cancelOrders cancels the orders that are due, unless the last one is cancelled.
func cancelOrders(ctx context.Context, store *sales.Store, tenant tenancy.ID, all []demoOrder, now time.Time) error {
	var due []demoOrder
	for _, o := range all {
		if !o.cancelled.IsZero() && !o.cancelled.After(now) {
			due = append(due, o)
		}
	}
	if len(due) == 0 {
		return nil
	}
	slices.SortStableFunc(due, func(a, b demoOrder) int { return a.cancelled.Compare(b.cancelled) })
	last, err := store.Order(ctx, tenant, due[len(due)-1].Number)
	if err != nil || last.CancelledAt != nil {
		return err
	}
	for _, o := range due {
		if _, err := store.Cancel(ctx, tenant, o.Number, &o.cancelled); err != nil {
			return fmt.Errorf("cancel demo order %s: %w", o.Number, err)
		}
	}
	return nil
}

// number returns the number of the order with this index in the history.
func number(index int) string { return fmt.Sprintf("%s%05d", orderPrefix, index+1) }
