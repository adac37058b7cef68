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

// orderPrefix begins the number of each order that the shop sells, and a count
// from 1 follows. Whoever changes what is drawn changes the prefix as well: a shop
// that began with other orders is then left as it is.
const orderPrefix = "LL-"

const batch = 500

// LoadSales sells what the shop has for two years up to now, and returns how many
// orders it made. Where an earlier call was cut short, or is some days past, it
// goes on from there; a tenant with only orders of its own is left alone. The
// orders are the same for everybody whose shop opened on the same day.
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
		if err := openChannels(ctx, store, tenant); err != nil {
			return 0, err
		}
	}
	if err := ingest(ctx, store, tenant, all[first:]); err != nil {
		return 0, err
	}
	if err := giveBack(ctx, store, tenant, all, now); err != nil {
		return 0, err
	}
	return len(all) - first, cancel(ctx, store, tenant, all, now)
}

// openingDay is the day of the first order, where there is one, or two years ago.
// It is zero where the tenant has orders, but none of ours.
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

// firstMissing is the place of the first order that is not there. Orders come in
// by batches, in their order, so that all before it are.
func firstMissing(ctx context.Context, store *sales.Store, tenant tenancy.ID, all []sold) (int, error) {
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

func openChannels(ctx context.Context, store *sales.Store, tenant tenancy.ID) error {
	var channels []sales.Channel
	for _, o := range outlets {
		channels = append(channels, sales.Channel{Identifier: o.identifier, Label: o.label})
	}
	_, err := store.EnsureChannels(ctx, tenant, channels)
	return err
}

func ingest(ctx context.Context, store *sales.Store, tenant tenancy.ID, missing []sold) error {
	for part := range slices.Chunk(missing, batch) {
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

// giveBack makes the refunds that are due, unless the last one is there.
func giveBack(ctx context.Context, store *sales.Store, tenant tenancy.ID, all []sold, now time.Time) error {
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
	if err != nil || slices.ContainsFunc(order.Refunds, func(r sales.StoredRefund) bool { return r.Reference != nil && *r.Reference == *last.Reference }) {
		return err
	}
	for part := range slices.Chunk(rows, batch) {
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

// cancel cancels the orders whose time has come, unless the last one is.
func cancel(ctx context.Context, store *sales.Store, tenant tenancy.ID, all []sold, now time.Time) error {
	var due []sold
	for _, o := range all {
		if !o.cancelled.IsZero() && !o.cancelled.After(now) {
			due = append(due, o)
		}
	}
	if len(due) == 0 {
		return nil
	}
	slices.SortStableFunc(due, func(a, b sold) int { return a.cancelled.Compare(b.cancelled) })
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

// number is the number of the order at a place of the history.
func number(place int) string { return fmt.Sprintf("%s%05d", orderPrefix, place+1) }
