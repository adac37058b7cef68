package reports_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// scenario is the orders, refunds and cancellations of a tenant. They arrive in stages;
// the catalog changes between stages. It has no pointers, so that rapid can print it.
type scenario struct {
	Zone    string
	Orders  []scenarioOrder
	Refunds []scenarioRefund
	Cancels []scenarioCancel
	Stages  []scenarioStage
	// NoLookups reads reports as if more than maxSoldIDs products were equal.
	NoLookups bool
}

// GoString is shorter than the default format.
func (s scenario) GoString() string {
	type plain scenario
	return fmt.Sprintf("%+v", plain(s))
}

// noAmount means that an optional amount is absent.
const noAmount = -1

type scenarioOrder struct {
	Stage         int // in which it arrives
	PlacedAt      time.Time
	Channel       string
	Customer      string // "" for a guest
	DiscountTotal int64
	TaxTotal      int64
	ShippingTotal int64
	Items         []scenarioItem
}

type scenarioItem struct {
	SKU                                     string
	Quantity, UnitPrice, UnitCost, Discount int64
}

type scenarioRefund struct {
	Order      int
	Stage      int
	Amount     int64
	RefundedAt time.Time
	Named      bool // has a reference, so it can be resent
	Tax        int64
	Shipping   int64
	Restock    bool
	// Items are lines with the units that are returned, which no other refund of the order returns, and amounts.
	Items        []scenarioReturn
	RestockItems []scenarioReturn
}

type scenarioReturn struct{ Line, Quantity, Amount int64 }

type scenarioCancel struct{ Order, Stage int }

// scenarioStage starts with changes of the catalog, which stays the same while the
// messages of the stage arrive.
type scenarioStage struct {
	Changes     []scenarioChange
	Renamed     []scenarioRename
	Relabelled  []scenarioRelabel
	Disturbance disturbance
	Packs       bool // packs sums and orders after the messages
	Senders     int
	Chunks      [][]message
	Queries     scenarioQueries
}

// scenarioChange creates, changes or deletes a product; To changes its SKU.
type scenarioChange struct {
	SKU, To          string
	Delete           bool
	Name             string
	Cost             int64
	Category, Seller int // 0 for none
}

// scenarioRename renames a category or a seller; "" deletes it unless a product uses it.
type scenarioRename struct {
	Seller bool
	Which  int
	Name   string
}

type scenarioRelabel struct{ Channel, Label string }

// disturbance happens while the orders of a stage arrive.
type disturbance struct {
	Kind string // "", "zone" or "rollups"
	Zone string
	How  string // add, delete or insert
	Row  int
	Sum  string
	By   int
}

// message identifies an order, a refund or a cancellation of the scenario.
type message struct {
	Kind  string // order, refund or cancel
	Index int
}

type scenarioQueries struct {
	Range       reports.Range
	Channel     string
	Category    int // 0 for all
	ProductsBy  string
	CustomersBy string
	Ascending   bool
	Compare     reports.Comparison // "" for none
	// UntilQuarter ends the last compared day at this quarter of an hour of the clock; 0 does not.
	UntilQuarter int
	Explain      bool
	PerPage      int
	Customs      []scenarioCustom
}

type scenarioCustom struct {
	GroupBy    string
	Metrics    []string
	Channels   []string
	Categories []int
	Explain    bool
}

var (
	scenarioZones = []string{
		"America/Havana", "America/Sao_Paulo", "Europe/London", "Asia/Kolkata", "Pacific/Apia", "UTC",
	}
	scenarioSKUs      = []string{"A", "B", "C", "a", "é"}
	scenarioChannels  = []string{"pos", "web", "m-1"}
	scenarioCustomers = []string{"", "", "10", "7", "a", "é"}
	scenarioMetrics   = []string{
		"revenue", "orders", "avg_order_value", "gross_profit", "margin_percent", "units_sold", "discounts", "tax", "refunds",
		"gross_sales", "net_revenue", "shipping", "total", "items",
		"net_gross_profit", "net_margin_percent", "units_returned", "refunded_revenue", "returned_cost",
	}
	scenarioSums = []string{
		"orders", "items", "units", "units_without_cost", "revenue", "discounts", "tax", "cost", "refund_count", "refunds",
		"shipping", "revenue_without_cost", "refunded_revenue", "refunded_revenue_without_cost", "units_returned",
		"returned_cost",
	}
	comparisons = []reports.Comparison{
		"", reports.PreviousPeriod, reports.PreviousYear, reports.PreviousYearWeekday,
	}
	// Days near clock changes and the ends of months and years. Samoa had no
	// 30 December 2011.
	scenarioSeasons = [][]string{
		{"2011-11-30", "2011-12-29", "2011-12-30", "2011-12-31", "2012-01-01"},
		{"2018-10-28", "2018-10-31", "2018-11-03", "2018-11-04", "2018-11-30"},
		{"2018-12-31", "2019-01-01", "2019-01-31", "2019-02-16", "2019-02-17"},
		{"2023-02-28", "2023-03-01", "2024-02-28", "2024-02-29", "2024-03-01"},
		{"2024-02-28", "2024-02-29", "2024-03-01", "2025-02-28", "2025-03-01"},
		{"2024-01-31", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-10"},
		{"2024-02-29", "2024-03-31", "2024-04-01", "2024-04-07", "2024-04-30"},
		{"2024-10-27", "2024-10-31", "2024-11-03", "2024-11-04", "2024-12-01"},
		{"2024-11-30", "2024-12-30", "2024-12-31", "2025-01-01", "2025-01-31"},
	}
	scenarioOffsets = []time.Duration{
		0, -time.Microsecond, time.Microsecond, -time.Second, -30 * time.Minute, 30 * time.Minute, 59 * time.Minute,
		time.Hour, 90 * time.Minute, 2 * time.Hour, 3 * time.Hour, 12 * time.Hour,
	}
)

func scenarios() *rapid.Generator[scenario] {
	return rapid.Custom(func(t *rapid.T) scenario {
		season := rapid.SampledFrom(scenarioSeasons).Draw(t, "season")
		stages := rapid.IntRange(1, 3).Draw(t, "stages")
		s := scenario{
			Zone: rapid.SampledFrom(scenarioZones).Draw(t, "zone"), NoLookups: rapid.Bool().Draw(t, "no lookups"),
		}
		s.Orders = rapid.SliceOfN(scenarioOrders(season, stages), 1, 25).Draw(t, "orders")
		for n := range rapid.IntRange(0, min(12, 2*len(s.Orders))).Draw(t, "refunds") {
			order, stage := s.drawOrder(t, fmt.Sprint("refund ", n), stages)
			r := scenarioRefund{
				Order: order, Stage: stage, Tax: noAmount,
				Amount:     rapid.SampledFrom([]int64{1, 2, 3, 10, 100, 997, 123_456, 999_999_999_999}).Draw(t, "amount"),
				RefundedAt: scenarioMoments(season).Draw(t, "refunded at"), Named: rapid.Bool().Draw(t, "named"),
			}
			s.drawReturn(t, &r)
			s.Refunds = append(s.Refunds, r)
		}
		for n := range rapid.IntRange(0, (len(s.Orders)+1)/2).Draw(t, "cancellations") {
			order, stage := s.drawOrder(t, fmt.Sprint("cancel ", n), stages)
			if rapid.Bool().Draw(t, "first of the customer") {
				order = s.first(order)
				stage = max(stage, s.Orders[order].Stage)
			}
			s.Cancels = append(s.Cancels, scenarioCancel{order, stage})
		}
		for n := range stages {
			s.Stages = append(s.Stages, s.drawStage(t, n, season))
		}
		return s
	})
}

// drawReturn draws the parts and the items of a refund. The units are some that no earlier refund of the order returns,
// so that the order in which refunds arrive does not matter.
func (s scenario) drawReturn(t *rapid.T, r *scenarioRefund) {
	if rapid.IntRange(0, 3).Draw(t, "sends parts") == 0 {
		r.Tax = rapid.Int64Range(0, r.Amount).Draw(t, "tax")
		r.Shipping = rapid.Int64Range(0, r.Amount-r.Tax).Draw(t, "shipping")
	}
	left := make([]int64, len(s.Orders[r.Order].Items))
	for i, item := range s.Orders[r.Order].Items {
		left[i] = item.Quantity
	}
	for _, other := range s.Refunds {
		for _, item := range slices.Concat(other.Items, other.RestockItems) {
			if other.Order == r.Order {
				left[item.Line-1] -= item.Quantity
			}
		}
	}
	kind := rapid.SampledFrom([]string{"", "", "items", "amounts", "restock items"}).Draw(t, "kind")
	var items []scenarioReturn
	for i, units := range left {
		if rapid.Bool().Draw(t, "names line") {
			units := rapid.Int64Range(0, min(units, 5)).Draw(t, "units")
			items = append(items, scenarioReturn{int64(i + 1), units, noAmount})
		}
	}
	switch {
	case len(items) == 0:
	case kind == "items":
		r.Items, r.Restock = items, rapid.Bool().Draw(t, "restock")
	case kind == "amounts":
		rest := r.Amount
		for i := range items {
			items[i].Amount = rest
			if i < len(items)-1 {
				items[i].Amount = rapid.Int64Range(0, rest).Draw(t, "amount of item")
			}
			rest -= items[i].Amount
		}
		r.Items, r.Restock = items, rapid.Bool().Draw(t, "restock")
	case kind == "restock items":
		items = slices.DeleteFunc(items, func(item scenarioReturn) bool { return item.Quantity == 0 })
		r.Restock, r.RestockItems = len(items) > 0, items
	}
}

// drawOrder draws an order, and a stage that is not before the order.
func (s scenario) drawOrder(t *rapid.T, label string, stages int) (order, stage int) {
	order = rapid.IntRange(0, len(s.Orders)-1).Draw(t, label)
	return order, rapid.IntRange(s.Orders[order].Stage, stages-1).Draw(t, "stage")
}

// first returns the first order of the same customer.
func (s scenario) first(order int) int {
	for i, o := range s.Orders {
		if o.Customer == s.Orders[order].Customer && o.PlacedAt.Before(s.Orders[order].PlacedAt) {
			order = i
		}
	}
	return order
}

func scenarioMoments(season []string) *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		zone := mustZone(rapid.SampledFrom(scenarioZones).Draw(t, "midnight in"))
		day := mustDay(rapid.SampledFrom(season).Draw(t, "day"))
		midnight := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
		return midnight.Add(rapid.SampledFrom(scenarioOffsets).Draw(t, "offset")).UTC()
	})
}

func mustZone(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return zone
}

func mustDay(day string) time.Time {
	d, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err)
	}
	return d
}

func scenarioOrders(season []string, stages int) *rapid.Generator[scenarioOrder] {
	return rapid.Custom(func(t *rapid.T) scenarioOrder {
		o := scenarioOrder{
			Stage:         rapid.IntRange(0, stages-1).Draw(t, "stage"),
			PlacedAt:      scenarioMoments(season).Draw(t, "placed at"),
			Channel:       rapid.SampledFrom(scenarioChannels).Draw(t, "channel"),
			Customer:      rapid.SampledFrom(scenarioCustomers).Draw(t, "customer"),
			TaxTotal:      rapid.SampledFrom([]int64{noAmount, 0, 1, 2, 7, 100, 333, 12_345, 999_999_999_999}).Draw(t, "tax"),
			ShippingTotal: rapid.SampledFrom([]int64{noAmount, noAmount, 0, 1, 5, 499, 999_999_999_999}).Draw(t, "shipping"),
			Items:         rapid.SliceOfN(rapid.Custom(drawItem), 1, 6).Draw(t, "items"),
		}
		var value, discount int64
		for _, i := range o.Items {
			value, discount = value+i.Quantity*i.UnitPrice, discount+max(0, i.Discount)
		}
		rest := value - discount
		more := []int64{0, min(1, rest), rest / 3, rest/2 + rest%2, rest}
		o.DiscountTotal = discount + rapid.SampledFrom(more).Draw(t, "more discount")
		if rapid.Bool().Draw(t, "no discount total") || o.DiscountTotal > int64(money.Max) {
			o.DiscountTotal = noAmount
		}
		return o
	})
}

func drawItem(t *rapid.T) scenarioItem {
	i := scenarioItem{
		SKU:       rapid.SampledFrom(scenarioSKUs).Draw(t, "sku"),
		Quantity:  rapid.SampledFrom([]int64{1, 2, 3, 7, 1000}).Draw(t, "quantity"),
		UnitPrice: rapid.SampledFrom([]int64{0, 1, 3, 10, 99, 333, 1000, 1999, 999_999_999_999}).Draw(t, "price"),
		UnitCost:  rapid.SampledFrom([]int64{noAmount, noAmount, 0, 1, 250, 5000, 999_999_999}).Draw(t, "cost"),
	}
	if i.UnitPrice > 999_999_999 {
		i.Quantity = 1
	}
	value := i.Quantity * i.UnitPrice
	i.Discount = rapid.SampledFrom([]int64{noAmount, noAmount, 0, min(1, value), value / 3, value}).Draw(t, "discount")
	return i
}

func (s scenario) drawStage(t *rapid.T, n int, season []string) scenarioStage {
	stage := scenarioStage{
		Changes:     rapid.SliceOfN(rapid.Custom(drawChange), 1, 8).Draw(t, "changes"),
		Disturbance: drawDisturbance(t),
		Packs:       rapid.Bool().Draw(t, "packs"),
		Senders:     rapid.IntRange(1, 3).Draw(t, "senders"),
		Queries:     drawQueries(t, season),
	}
	if n > 0 {
		stage.Renamed = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) scenarioRename {
			return scenarioRename{
				rapid.Bool().Draw(t, "seller"), rapid.IntRange(1, 2).Draw(t, "which"),
				rapid.SampledFrom([]string{"", "X", "Y", "Z"}).Draw(t, "name"),
			}
		}), 0, 2).Draw(t, "renamed")
	}
	if rapid.Bool().Draw(t, "relabel") {
		stage.Relabelled = []scenarioRelabel{{
			rapid.SampledFrom(scenarioChannels).Draw(t, "channel"), rapid.SampledFrom([]string{"Shop", "web"}).Draw(t, "label"),
		}}
	}
	due := s.due(n)
	for _, d := range s.due(0, n) {
		if resend := rapid.IntRange(0, 3).Draw(t, "resend") == 0; resend && (d.Kind != "refund" || s.Refunds[d.Index].Named) {
			due = append(due, d)
		}
	}
	due = rapid.Permutation(due).Draw(t, "messages")
	for len(due) > 0 {
		n := rapid.IntRange(1, min(9, len(due))).Draw(t, "chunk")
		stage.Chunks, due = append(stage.Chunks, due[:n:n]), due[n:]
	}
	return stage
}

// due returns the new messages of one stage, or of the stages from the first to the last.
func (s scenario) due(stages ...int) (due []message) {
	add := func(kind string, index, stage int) {
		if stage >= stages[0] && stage <= stages[len(stages)-1] {
			due = append(due, message{kind, index})
		}
	}
	for i, o := range s.Orders {
		add("order", i, o.Stage)
	}
	for i, r := range s.Refunds {
		add("refund", i, r.Stage)
	}
	for i, c := range s.Cancels {
		add("cancel", i, c.Stage)
	}
	return due
}

func drawChange(t *rapid.T) scenarioChange {
	return scenarioChange{
		SKU:      rapid.SampledFrom(scenarioSKUs).Draw(t, "sku"),
		To:       rapid.SampledFrom(append([]string{"", "", ""}, scenarioSKUs...)).Draw(t, "to"),
		Delete:   rapid.IntRange(0, 4).Draw(t, "delete") == 0,
		Name:     rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "name"),
		Cost:     rapid.SampledFrom([]int64{noAmount, 0, 1, 333, 100_000}).Draw(t, "cost"),
		Category: rapid.IntRange(0, 3).Draw(t, "category"),
		Seller:   rapid.IntRange(0, 2).Draw(t, "seller"),
	}
}

func drawDisturbance(t *rapid.T) disturbance {
	return disturbance{
		Kind: rapid.SampledFrom([]string{"", "", "pack", "zone", "rollups"}).Draw(t, "disturbance"),
		Zone: rapid.SampledFrom(scenarioZones).Draw(t, "new zone"),
		How:  rapid.SampledFrom([]string{"add", "delete", "insert"}).Draw(t, "how"),
		Row:  rapid.IntRange(0, 30).Draw(t, "row"),
		Sum:  rapid.SampledFrom(scenarioSums).Draw(t, "sum"),
		By:   rapid.SampledFrom([]int{1, -1, 100}).Draw(t, "by"),
	}
}

func drawQueries(t *rapid.T, season []string) scenarioQueries {
	bound := rapid.Custom(func(t *rapid.T) time.Time {
		day := mustDay(rapid.SampledFrom(season).Draw(t, "bound"))
		if rapid.IntRange(0, 3).Draw(t, "whole months") == 0 {
			return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
		}
		return day.AddDate(0, 0, rapid.IntRange(-1, 1).Draw(t, "days"))
	})
	days := []time.Time{bound.Draw(t, "from"), bound.Draw(t, "to")}
	slices.SortFunc(days, time.Time.Compare)
	return scenarioQueries{
		Range:        reports.Range{From: days[0], To: days[1]},
		Channel:      rapid.SampledFrom(append([]string{"", "", "never"}, scenarioChannels...)).Draw(t, "channel"),
		Category:     rapid.IntRange(0, 4).Draw(t, "category"),
		ProductsBy:   rapid.SampledFrom([]string{"", "revenue", "net_revenue", "units", "margin"}).Draw(t, "products by"),
		CustomersBy:  rapid.SampledFrom([]string{"", "revenue", "orders", "last_order"}).Draw(t, "customers by"),
		Ascending:    rapid.Bool().Draw(t, "ascending"),
		Compare:      rapid.SampledFrom(comparisons).Draw(t, "compare"),
		UntilQuarter: rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 13), rapid.IntRange(0, 95)).Draw(t, "until"),
		Explain:      rapid.Bool().Draw(t, "explain"),
		PerPage:      rapid.SampledFrom([]int{2, 3, 100}).Draw(t, "per page"),
		Customs:      rapid.SliceOfN(rapid.Custom(drawCustom), 4, 4).Draw(t, "customs"),
	}
}

func drawCustom(t *rapid.T) scenarioCustom {
	metrics := rapid.Permutation(scenarioMetrics).Draw(t, "metrics")
	c := scenarioCustom{
		GroupBy: rapid.SampledFrom([]string{"", "day", "week", "month", "channel", "category", "seller"}).Draw(t, "group by"),
		Explain: rapid.Bool().Draw(t, "explain"),
		Metrics: metrics[:rapid.IntRange(1, len(metrics)).Draw(t, "how many")],
	}
	if rapid.Bool().Draw(t, "filter channels") {
		channel := rapid.SampledFrom(append([]string{"never"}, scenarioChannels...))
		c.Channels = rapid.SliceOfNDistinct(channel, 1, 3, rapid.ID).Draw(t, "channels")
	}
	if rapid.Bool().Draw(t, "filter categories") {
		c.Categories = rapid.SliceOfNDistinct(rapid.IntRange(1, 4), 1, 3, rapid.ID).Draw(t, "categories")
	}
	return c
}

func (o scenarioOrder) order(index int) sales.Order {
	sent := sales.Order{
		Number: fmt.Sprint("N", index), PlacedAt: o.PlacedAt, Channel: o.Channel,
		DiscountTotal: scenarioMoney(o.DiscountTotal), TaxTotal: scenarioMoney(o.TaxTotal),
		ShippingTotal: scenarioMoney(o.ShippingTotal),
	}
	if o.Customer != "" {
		sent.Customer = &sales.Customer{ID: o.Customer}
		if o.Customer != "7" && index%2 == 0 {
			name, email := "Name of "+o.Customer, o.Customer+"@example.com"
			sent.Customer.Name, sent.Customer.Email = &name, &email
		}
	}
	for _, i := range o.Items {
		sent.Items = append(sent.Items, sales.Item{
			SKU: i.SKU, Quantity: i.Quantity, UnitPrice: money.Cents(i.UnitPrice),
			UnitCost: scenarioMoney(i.UnitCost), Discount: scenarioMoney(i.Discount),
		})
	}
	return sent
}

func scenarioMoney(n int64) *money.Cents {
	if n == noAmount {
		return nil
	}
	return (*money.Cents)(&n)
}

func (r scenarioRefund) refund(index int) sales.Refund {
	sent := sales.Refund{OrderNumber: fmt.Sprint("N", r.Order), Amount: money.Cents(r.Amount), RefundedAt: &r.RefundedAt}
	if r.Named {
		reference := fmt.Sprint("R", index)
		sent.Reference = &reference
	}
	if r.Tax != noAmount {
		sent.Tax, sent.Shipping = scenarioMoney(r.Tax), scenarioMoney(r.Shipping)
	}
	sent.Restock = r.Restock
	for _, item := range r.Items {
		named := sales.RefundItem{Line: item.Line, Amount: scenarioMoney(item.Amount)}
		if item.Quantity > 0 {
			named.Quantity = &item.Quantity
		}
		sent.Items = append(sent.Items, named)
	}
	for _, item := range r.RestockItems {
		sent.RestockItems = append(sent.RestockItems, sales.RestockItem{Line: item.Line, Quantity: item.Quantity})
	}
	return sent
}
