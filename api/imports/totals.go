package imports

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

// maxTotals and maxNotes limit what a plan stores of a file with very many months, channels or notes.
const (
	maxTotals = 2_000
	maxNotes  = 200
)

// Total is the sum of the orders of a plan in a month and a channel, to compare with the system that the files come
// from. Orders that are already stored are included, refused ones are not. Refunds have separate rows without a
// channel.
type Total struct {
	Month     string      `json:"month"`   // 2026-03
	Channel   *string     `json:"channel"` // nil for refunds
	Orders    int64       `json:"orders"`
	Revenue   money.Cents `json:"revenue"`
	Discounts money.Cents `json:"discounts"`
	Tax       money.Cents `json:"tax"`
	Shipping  money.Cents `json:"shipping"`
	Refunds   money.Cents `json:"refunds"`
	Total     money.Cents `json:"total"` // revenue, tax and shipping without refunds
	// Theirs are the sums of amounts in the files, by column.
	Theirs map[string]money.Cents `json:"theirs,omitempty"`
}

// NoteCount is a note with the number of its rows and the sum of its amounts.
type NoteCount struct {
	Text   string      `json:"text"`
	Count  int64       `json:"count"`
	Amount money.Cents `json:"amount"`
}

// totals adds up the rows of a plan.
type totals struct {
	zone    *time.Location
	byGroup map[totalGroup]*Total
	notes   noteCounts
	omitted bool // there are more than maxTotals
	seed    maphash.Seed
	added   keySet // the orders and refunds, which several files can contain
}

type totalGroup struct{ month, channel string }

func newTotals(zone *time.Location) *totals {
	return &totals{zone: zone, byGroup: map[totalGroup]*Total{}, notes: noteCounts{}, seed: maphash.MakeSeed()}
}

// add adds planned rows, before their content is removed.
func (t *totals) add(rows []Record) {
	for _, row := range rows {
		counts := row.Action != changeplan.Refused && row.Action != changeplan.Ignored
		if counts && t.isAdded(row) {
			continue
		}
		for _, note := range row.Notes {
			t.notes.add(note)
		}
		if row.unsold != 0 {
			t.notes.add(Note{Text: "an order is not imported: " + row.Ignored, Amount: int64(row.unsold)})
		}
		if !counts {
			continue
		}
		switch {
		case row.Order != nil && row.Sums != nil:
			sum := t.of(row.Order.PlacedAt, row.Order.Channel)
			sum.Orders++
			sum.Revenue += row.Sums.Revenue
			sum.Discounts += row.Sums.Discounts
			sum.Tax += row.Sums.Tax
			sum.Shipping += row.Sums.Shipping
			sum.Total += row.Sums.Revenue + row.Sums.Tax + row.Sums.Shipping
			sum.addTheirs(row.Theirs, 0)
		case row.Refund != nil && row.Refund.RefundedAt != nil:
			sum := t.of(*row.Refund.RefundedAt, "")
			sum.Refunds += row.Refund.Amount
			sum.Total -= row.Refund.Amount
			sum.addTheirs(row.Theirs, row.refunded)
		}
	}
}

// isAdded reports whether an earlier row is the same order or refund, and remembers the row. A cumulative refund has
// only the difference from earlier ones.
func (t *totals) isAdded(row Record) bool {
	var key string
	switch {
	case row.Order != nil:
		key = row.Order.Number
	case row.Refund != nil && row.Refund.Reference != nil && row.Cumulative == "":
		key = row.Refund.OrderNumber + "\x00" + *row.Refund.Reference
	default:
		return false
	}
	hash := maphash.String(t.seed, key)
	if t.added.has(hash) {
		return true
	}
	t.added.add(hash)
	return false
}

// addTheirs adds amounts. before is what earlier rows have of a cumulative amount.
func (t *Total) addTheirs(amounts map[string]int64, before money.Cents) {
	for column, amount := range amounts {
		if before > 0 {
			amount = max(0, amount-int64(before))
		}
		if t.Theirs == nil {
			t.Theirs = map[string]money.Cents{}
		}
		t.Theirs[column] += money.Cents(amount)
	}
}

func (t *totals) of(at time.Time, channel string) *Total {
	group := totalGroup{tenancy.DayOf(at, t.zone).Format("2006-01"), channel}
	sum := t.byGroup[group]
	if sum == nil {
		sum = &Total{Month: group.month}
		if channel != "" {
			sum.Channel = &channel
		}
		if len(t.byGroup) >= maxTotals {
			t.omitted = true
			return sum
		}
		t.byGroup[group] = sum
	}
	return sum
}

// noteCounts are notes by their text.
type noteCounts map[string]*NoteCount

func (c noteCounts) add(n Note) {
	count := c[n.Text]
	if count == nil {
		count = &NoteCount{Text: n.Text}
		if len(c) >= maxNotes {
			return
		}
		c[n.Text] = count
	}
	count.Count++
	count.Amount += money.Cents(n.Amount)
}

// sorted returns the notes with the most frequent first.
func (c noteCounts) sorted() (notes []NoteCount) {
	for _, note := range c {
		notes = append(notes, *note)
	}
	slices.SortFunc(notes, func(a, b NoteCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	return notes
}

// sorted returns the totals by month and channel, and the notes with the most frequent first.
func (t *totals) sorted() ([]Total, []NoteCount) {
	var sums []Total
	for _, group := range slices.SortedFunc(maps.Keys(t.byGroup), func(a, b totalGroup) int {
		return cmp.Or(cmp.Compare(a.month, b.month), cmp.Compare(a.channel, b.channel))
	}) {
		sums = append(sums, *t.byGroup[group])
	}
	notes := t.notes.sorted()
	if t.omitted {
		notes = append(notes, NoteCount{Text: "The totals do not have all months and channels, because there are too many.", Count: 1})
	}
	return sums, notes
}
