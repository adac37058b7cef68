package api

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
)

// maxClockSkew is how far the clock of a client may be ahead.
const maxClockSkew = time.Minute

// changedTypes are the types of the feed that change reports.
var changedTypes = []string{"order", "refund"}

// changedDays is an entry of the feed with the days of its order or refund.
type changedDays struct {
	feed.Entry
	orderNumber *string
	days        []time.Time // empty for what no longer exists
}

// matches reports whether the entry changed days of a range, or may have.
func (c changedDays) matches(r reports.Range) bool {
	return len(c.days) == 0 || slices.ContainsFunc(c.days, func(day time.Time) bool {
		return !day.Before(r.From) && !day.After(r.To)
	})
}

// reportChanges handles GET /api/reports/changes.
func (s *Server) reportChanges(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	period, err := q.period(r, true)
	if err != nil {
		return err
	}
	read, err := s.changesSince(r, q)
	if err != nil {
		return err
	}
	limit := read.Limit
	found := []changedDays{}
	meta := changesMeta{HasMore: true}
	for begin := time.Now(); meta.HasMore && len(found) < limit && time.Since(begin) < maxDataTime; {
		read.Limit = limit - len(found)
		page, err := s.feed(r).Read(r.Context(), tenant(r), read)
		if err != nil {
			return err
		}
		entries := slices.DeleteFunc(page.Entries, func(e feed.Entry) bool { return !changesSums(e) })
		changed, err := s.daysOfChanges(r, entries)
		if err != nil {
			return err
		}
		found = append(found, slices.DeleteFunc(changed, func(c changedDays) bool { return !c.matches(period) })...)
		read.After, meta.HasMore = page.Next, page.HasMore
	}
	meta.NextCursor = read.After.String(tenant(r))
	return writeLarge(w, r, http.StatusOK, envelope(arrayFrom(found, func(c changedDays) jsonObject {
		return jsonObject{
			{"seq", c.At.String(tenant(r))}, {"type", c.Type}, {"id", c.ID}, {"order_number", c.orderNumber},
			{"action", c.Action}, {"at", timestamp(c.Time)}, {"api_key", optionalNamed(c.KeyID, c.KeyName)},
			{"changed", orEmpty(c.Changed)},
			{"days", mapSlice(c.days, func(day time.Time) string { return day.Format(time.DateOnly) })},
		}
	}), jsonField{"meta", meta}))
}

// changesSince reads the parameters since, after and limit, and checks all parameters.
func (s *Server) changesSince(r *http.Request, q *query) (read feed.Query, err error) {
	since := parsed(q, "since", readTime)
	text, continues := q.take("after")
	after, err := feed.ParseCursor(tenant(r), text)
	q.check("after", err)
	if since == nil && !continues && len(q.errs["since"]) == 0 {
		q.errs.Add("since", "is required without after")
	}
	if since != nil && time.Until(*since) > maxClockSkew {
		q.errs.Add("since", "must not be in the future")
	}
	limit := q.between("limit", 1, maxChanges, defaultChanges)
	if err := q.err(); err != nil {
		return read, err
	}
	if !continues {
		after, err = s.feed(r).Since(r.Context(), tenant(r), *since)
		if errors.Is(err, feed.ErrExpired) {
			return read, &apiError{
				code: CursorExpired, message: "Changes are no longer kept for that long. Send a later time as since.", cause: err,
			}
		}
		if err != nil {
			return read, err
		}
	}
	read = feed.Query{After: after, IsStored: !continues, Types: changedTypes, Limit: limit}
	if since != nil {
		read.Since = *since
	}
	return read, nil
}

// changesSums reports whether an entry changed sums of its days. The other updates of an order add a refund, which has
// an entry itself.
func changesSums(e feed.Entry) bool {
	return e.Action != feed.Updated || slices.Contains(e.Changed, "status")
}

// daysOfChanges adds the days to entries.
func (s *Server) daysOfChanges(r *http.Request, entries []feed.Entry) ([]changedDays, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	var numbers, refundIDs []string
	for _, e := range entries {
		switch {
		case e.Action == feed.Deleted:
		case e.Type == "order":
			numbers = append(numbers, e.ID)
		default:
			refundIDs = append(refundIDs, e.ID)
		}
	}
	orders, refunds, err := s.sales(r).DaysOfFacts(r.Context(), tenant(r), db.Distinct(numbers), integers(refundIDs))
	if err != nil {
		return nil, err
	}
	return mapSlice(entries, func(e feed.Entry) changedDays {
		c := changedDays{Entry: e}
		var of sales.FactDays
		exists := false
		switch e.Type {
		case "order":
			c.orderNumber = &e.ID
			of, exists = orders[e.ID]
		case "refund":
			id, _ := strconv.ParseInt(e.ID, 10, 64) // the database wrote it
			if of, exists = refunds[id]; exists && e.Action != feed.Deleted {
				c.orderNumber = &of.OrderNumber
			}
		}
		switch {
		case !exists || e.Action == feed.Deleted:
		case e.Action == feed.Updated: // a cancellation, which removes refunds too
			c.days = of.All()
		default:
			c.days = []time.Time{of.Day}
		}
		return c
	}), nil
}
