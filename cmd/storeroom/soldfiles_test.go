package main

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	rational "math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// soldFiles is what the CSV files of a shop contain, read without the code of the program.
type soldFiles struct {
	names     map[string]string // of products, by SKU
	orders    []soldOrder
	refunds   []soldRefund
	firstDays map[string]time.Time // of each customer's orders
}

type soldOrder struct {
	day               time.Time
	channel, customer string
	lines             []soldLine
}

type soldLine struct {
	sku string
	fileSums
}

type soldRefund struct {
	day     time.Time
	channel string
	shares  []soldLine
	fileSums
}

// fileSums are sums of rows, with amounts in cents.
type fileSums struct {
	orders, items, units, unitsWithoutCost, refundCount                int64
	gross, discounts, cost, revenueWithoutCost, refunds, tax, shipping int64
}

func (s *fileSums) add(o fileSums) {
	s.orders, s.items, s.refundCount = s.orders+o.orders, s.items+o.items, s.refundCount+o.refundCount
	s.units, s.unitsWithoutCost = s.units+o.units, s.unitsWithoutCost+o.unitsWithoutCost
	s.gross, s.discounts, s.cost = s.gross+o.gross, s.discounts+o.discounts, s.cost+o.cost
	s.revenueWithoutCost, s.refunds = s.revenueWithoutCost+o.revenueWithoutCost, s.refunds+o.refunds
	s.tax, s.shipping = s.tax+o.tax, s.shipping+o.shipping
}

func (s fileSums) revenue() int64 { return s.gross - s.discounts }

// figures returns the figures of a group, or null, as text.
func (s fileSums) figures() map[string]string {
	net, costed := s.revenue()-s.refunds, s.revenue()-s.revenueWithoutCost
	profit := costed - s.cost
	figures := map[string]string{
		"gross_sales": amount(s.gross), "discounts": amount(s.discounts), "revenue": amount(s.revenue()),
		"refunds": amount(s.refunds), "net_revenue": amount(net), "tax": amount(s.tax), "shipping": amount(s.shipping),
		"total": amount(net + s.tax + s.shipping), "orders": count(s.orders), "items": count(s.items),
		"units_sold": count(s.units), "units_without_cost": count(s.unitsWithoutCost),
		"avg_order_value": quotient(s.revenue(), 100*s.orders),
		"gross_profit":    amount(profit), "margin_percent": quotient(100*profit, costed),
		"revenue_without_cost": amount(s.revenueWithoutCost), "costed_percent": quotient(100*costed, s.revenue()),
	}
	if s.units > 0 && s.units == s.unitsWithoutCost {
		figures["gross_profit"], figures["margin_percent"] = "null", "null"
	}
	return figures
}

// changes returns the change of each figure in percent from a range. No change is known from a range that begins before
// the first sale.
func (r *soldRange) changes(now, before map[string]string) map[string]string {
	changes := map[string]string{}
	for name := range now {
		from, known := new(rational.Rat).SetString(before[name])
		to, knownToo := new(rational.Rat).SetString(now[name])
		switch {
		case !r.comparable, !known || !knownToo || from.Sign() == 0 && to.Sign() != 0:
			changes[name] = "null"
		case from.Sign() == 0:
			changes[name] = "0.00"
		default:
			change := to.Sub(to, from)
			changes[name] = twoDigits(change.Mul(change, rational.NewRat(100, 1)).Quo(change, from.Abs(from)))
		}
	}
	return changes
}

func count(n int64) string      { return strconv.FormatInt(n, 10) }
func amount(cents int64) string { return twoDigits(rational.NewRat(cents, 100)) }

func quotient(n, d int64) string {
	if d == 0 {
		return "0.00"
	}
	return twoDigits(rational.NewRat(n, d))
}

// twoDigits rounds halves away from zero.
func twoDigits(n *rational.Rat) string {
	text := n.FloatString(2)
	if text == "-0.00" {
		return "0.00"
	}
	return text
}

// mustReadFiles reads the files of a shop. Days are in the time zone.
func mustReadFiles(t *testing.T, dir fs.FS, zone *time.Location) *soldFiles {
	t.Helper()
	s := &soldFiles{names: map[string]string{}, firstDays: map[string]time.Time{}}
	dayOf := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		at = at.In(zone)
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	}
	cents := func(text string) int64 {
		n, ok := new(rational.Rat).SetString("0" + text)
		if n.Mul(n, rational.NewRat(100, 1)); !ok || !n.IsInt() {
			t.Fatalf("%q is no amount", text)
		}
		return n.Num().Int64()
	}
	costs, positions := map[string]string{}, map[string]int{}
	eachRow(t, dir, "products", func(_ []string, get func(string) string) {
		s.names[get("sku")], costs[get("sku")] = get("name"), get("cost")
	})
	eachRow(t, dir, "orders", func(_ []string, get func(string) string) {
		o := soldOrder{day: dayOf(get("placed_at")), channel: get("channel"), customer: get("customer")}
		if first, known := s.firstDays[o.customer]; !known || o.day.Before(first) {
			s.firstDays[o.customer] = o.day
		}
		positions[get("number")] = len(s.orders)
		s.orders = append(s.orders, o)
	})
	eachRow(t, dir, "order_items", func(_ []string, get func(string) string) {
		order := &s.orders[positions[get("order_number")]]
		quantity, err := strconv.ParseInt(get("quantity"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sums := fileSums{items: 1, units: quantity, gross: quantity * cents(get("unit_price")), discounts: cents(get("discount"))}
		if len(order.lines) == 0 {
			sums.orders = 1
		}
		cost := get("unit_cost")
		if cost == "" {
			cost = costs[get("sku")]
		}
		if sums.cost = quantity * cents(cost); cost == "" {
			sums.unitsWithoutCost, sums.revenueWithoutCost = quantity, sums.revenue()
		}
		order.lines = append(order.lines, soldLine{get("sku"), sums})
	})
	eachRow(t, dir, "refunds", func(_ []string, get func(string) string) {
		order, refunds := s.orders[positions[get("order_number")]], cents(get("amount"))
		s.refunds = append(s.refunds, soldRefund{
			dayOf(get("refunded_at")), order.channel, order.shares(refunds), fileSums{refundCount: 1, refunds: refunds},
		})
	})
	return s
}

// shares divides a refund over the lines by revenue, or by units if all revenue is zero. The cents that are left go
// to the largest remainders, and of equal ones to the earlier lines.
func (o soldOrder) shares(cents int64) (shares []soldLine) {
	weight := fileSums.revenue
	if !slices.ContainsFunc(o.lines, func(l soldLine) bool { return l.revenue() > 0 }) {
		weight = func(s fileSums) int64 { return s.units }
	}
	total, left := int64(0), cents
	for _, l := range o.lines {
		total += weight(l.fileSums)
	}
	byRemainder := make([]int, len(o.lines))
	for i, l := range o.lines {
		share := cents * weight(l.fileSums) / total
		shares, byRemainder[i], left = append(shares, soldLine{l.sku, fileSums{refunds: share}}), i, left-share
	}
	remainder := func(i int) int64 { return cents * weight(o.lines[i].fileSums) % total }
	slices.SortStableFunc(byRemainder, func(a, b int) int { return cmp.Compare(remainder(b), remainder(a)) })
	for _, i := range byRemainder[:left] {
		shares[i].refunds++
	}
	return slices.DeleteFunc(shares, func(share soldLine) bool { return share.refunds == 0 })
}

// mustSelectOrders returns a folder with the files of a shop, of which only the orders of some months, such as 2011-12.
func mustSelectOrders(t *testing.T, dir fs.FS, months []string) string {
	t.Helper()
	folder, numbers := t.TempDir(), map[string]bool{}
	for _, name := range []string{
		"categories", "sellers", "products", "channels", "customers", "orders", "order_items", "refunds",
	} {
		file, err := os.Create(filepath.Join(folder, name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		rows := csv.NewWriter(file)
		columns := eachRow(t, dir, name, func([]string, func(string) string) {})
		err = rows.Write(columns)
		eachRow(t, dir, name, func(record []string, get func(string) string) {
			selected := true
			switch name {
			case "orders":
				selected = slices.Contains(months, get("placed_at")[:len("2011-12")])
				numbers[get("number")] = selected
			case "order_items", "refunds":
				selected = numbers[get("order_number")]
			}
			if selected {
				err = errors.Join(err, rows.Write(record))
			}
		})
		rows.Flush()
		if err := errors.Join(err, rows.Error(), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// eachRow calls f with each row of a CSV file, which can be compressed. It returns the columns.
func eachRow(
	t *testing.T, dir fs.FS, name string, f func(record []string, get func(column string) string),
) (columns []string) {
	t.Helper()
	file, err := dir.Open(name + ".csv")
	var source io.Reader = file
	if err != nil {
		if file, err = dir.Open(name + ".csv.gz"); err == nil {
			source, err = gzip.NewReader(file)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := csv.NewReader(source)
	if columns, err = r.Read(); err != nil {
		t.Fatal(name, err)
	}
	r.ReuseRecord = true
	for {
		record, err := r.Read()
		if err == io.EOF {
			return columns
		}
		if err != nil {
			t.Fatal(name, err)
		}
		f(record, func(column string) string { return record[slices.Index(columns, column)] })
	}
}

// soldRange are the sums of the files in a range.
type soldRange struct {
	total                           fileSums
	days                            map[time.Time]fileSums
	channels, products              map[string]fileSums
	customers, newCustomers, guests int64
	comparable                      bool // does not begin before the first sale
}

func (s *soldFiles) between(from, to time.Time) soldRange {
	r := soldRange{
		days: map[time.Time]fileSums{}, channels: map[string]fileSums{}, products: map[string]fileSums{},
	}
	add := func(day time.Time, channel string, sums fileSums) {
		r.total.add(sums)
		addTo(r.days, day, sums)
		addTo(r.channels, channel, sums)
	}
	customers := map[string]bool{}
	for _, o := range s.orders {
		r.comparable = r.comparable || !o.day.After(from)
		if o.day.Before(from) || o.day.After(to) {
			continue
		}
		for _, line := range o.lines {
			add(o.day, o.channel, line.fileSums)
			addTo(r.products, line.sku, line.fileSums)
		}
		if o.customer == "" {
			r.guests++
		} else if !customers[o.customer] {
			customers[o.customer] = true
			if r.customers++; !s.firstDays[o.customer].Before(from) {
				r.newCustomers++
			}
		}
	}
	for _, refund := range s.refunds {
		if !refund.day.Before(from) && !refund.day.After(to) {
			add(refund.day, refund.channel, refund.fileSums)
			for _, share := range refund.shares {
				addTo(r.products, share.sku, share.fileSums)
			}
		}
	}
	return r
}

func addTo[K comparable](groups map[K]fileSums, key K, sums fileSums) {
	group := groups[key]
	group.add(sums)
	groups[key] = group
}
