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

// script is a tenant's life: what was sold, in stages, between which the catalog
// changes. It holds no pointers, so that rapid prints what it found.
type script struct {
	Zone    string
	Orders  []scriptOrder
	Refunds []scriptRefund
	Cancels []scriptCancel
	Stages  []scriptStage
}

// GoString is shorter than what Go would write.
func (s script) GoString() string {
	type plain script
	return fmt.Sprintf("%+v", plain(s))
}

// none stands for an amount that is not there.
const none = -1

type scriptOrder struct {
	Stage         int // when it comes in
	PlacedAt      time.Time
	Channel       string
	Customer      string // "" is a guest
	DiscountTotal int64
	TaxTotal      int64
	Items         []scriptItem
}

type scriptItem struct {
	SKU                                     string
	Quantity, UnitPrice, UnitCost, Discount int64
}

type scriptRefund struct {
	Order      int
	Stage      int
	Amount     int64
	RefundedAt time.Time
	Named      bool // has a reference, so that it may come twice
}

type scriptCancel struct{ Order, Stage int }

// scriptStage is a time in which the catalog stays as it is.
type scriptStage struct {
	Changes    []scriptChange
	Renamed    []scriptName
	Relabelled []scriptLabel
	Trouble    scriptTrouble
	Senders    int
	Chunks     [][]delivery
	Questions  scriptQuestions
}

// scriptChange makes a product what it says; To moves it to another SKU.
type scriptChange struct {
	SKU, To          string
	Delete           bool
	Name             string
	Cost             int64
	Category, Seller int // 0 is none
}

// scriptName renames a category or a seller; "" deletes it unless it is in use.
type scriptName struct {
	Seller bool
	Which  int
	Name   string
}

type scriptLabel struct{ Channel, Label string }

// scriptTrouble is what happens while a stage's orders come in.
type scriptTrouble struct {
	Kind string // "", "zone" or "rollups"
	Zone string
	How  string // add, delete or insert
	Row  int
	Sum  string
	By   int
}

// delivery is something that a sender sends, by its place in the script.
type delivery struct {
	Kind  string // order, refund or cancel
	Index int
}

type scriptQuestions struct {
	Range       reports.Range
	Channel     string
	Category    int // 0 is all
	ProductsBy  string
	CustomersBy string
	Ascending   bool
	Compare     bool
	Explain     bool
	PerPage     int
	Customs     []scriptCustom
}

type scriptCustom struct {
	GroupBy    string
	Metrics    []string
	Channels   []string
	Categories []int
	Explain    bool
}

var (
	scriptZones    = []string{"America/Havana", "America/Sao_Paulo", "Europe/London", "Asia/Kolkata", "Pacific/Apia", "UTC"}
	scriptSKUs     = []string{"A", "B", "C", "a", "é"}
	scriptChannels = []string{"pos", "web", "m-1"}
	scriptPeople   = []string{"", "", "10", "7", "a", "é"}
	scriptMetrics  = []string{"revenue", "orders", "avg_order_value", "gross_profit", "margin_percent", "units_sold", "discounts", "tax", "refunds"}
	scriptSums     = []string{"orders", "items", "units", "units_without_cost", "revenue", "discounts", "tax", "cost", "refund_count", "refunds"}
	// Days about which clocks change somewhere, months and years end, or that never
	// were: Samoa had no 30 December 2011.
	scriptSeasons = [][]string{
		{"2011-11-30", "2011-12-29", "2011-12-30", "2011-12-31", "2012-01-01"},
		{"2018-10-28", "2018-10-31", "2018-11-03", "2018-11-04", "2018-11-30"},
		{"2018-12-31", "2019-01-01", "2019-01-31", "2019-02-16", "2019-02-17"},
		{"2024-01-31", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-10"},
		{"2024-02-29", "2024-03-31", "2024-04-01", "2024-04-07", "2024-04-30"},
		{"2024-10-27", "2024-10-31", "2024-11-03", "2024-11-04", "2024-12-01"},
		{"2024-11-30", "2024-12-30", "2024-12-31", "2025-01-01", "2025-01-31"},
	}
	scriptOffsets = []time.Duration{
		0, -time.Microsecond, time.Microsecond, -time.Second, -30 * time.Minute, 30 * time.Minute, 59 * time.Minute,
		time.Hour, 90 * time.Minute, 2 * time.Hour, 3 * time.Hour, 12 * time.Hour,
	}
)

func scripts() *rapid.Generator[script] {
	return rapid.Custom(func(t *rapid.T) script {
		season := rapid.SampledFrom(scriptSeasons).Draw(t, "season")
		stages := rapid.IntRange(1, 3).Draw(t, "stages")
		s := script{Zone: rapid.SampledFrom(scriptZones).Draw(t, "zone")}
		s.Orders = rapid.SliceOfN(scriptOrders(season, stages), 1, 25).Draw(t, "orders")
		for n := range rapid.IntRange(0, min(12, 2*len(s.Orders))).Draw(t, "refunds") {
			order, stage := s.drawOrder(t, fmt.Sprint("refund ", n), stages)
			s.Refunds = append(s.Refunds, scriptRefund{
				order, stage, rapid.SampledFrom([]int64{1, 2, 3, 10, 100, 997, 123_456, 999_999_999_999}).Draw(t, "amount"),
				scriptMoments(season).Draw(t, "refunded at"), rapid.Bool().Draw(t, "named"),
			})
		}
		for n := range rapid.IntRange(0, (len(s.Orders)+1)/2).Draw(t, "cancellations") {
			order, stage := s.drawOrder(t, fmt.Sprint("cancel ", n), stages)
			if rapid.Bool().Draw(t, "first of the person") {
				order = s.first(order)
				stage = max(stage, s.Orders[order].Stage)
			}
			s.Cancels = append(s.Cancels, scriptCancel{order, stage})
		}
		for n := range stages {
			s.Stages = append(s.Stages, s.drawStage(t, n, season))
		}
		return s
	})
}

// drawOrder chooses an order, and a stage that is not before it.
func (s script) drawOrder(t *rapid.T, label string, stages int) (order, stage int) {
	order = rapid.IntRange(0, len(s.Orders)-1).Draw(t, label)
	return order, rapid.IntRange(s.Orders[order].Stage, stages-1).Draw(t, "stage")
}

// first is the person's first order.
func (s script) first(order int) int {
	for i, o := range s.Orders {
		if o.Customer == s.Orders[order].Customer && o.PlacedAt.Before(s.Orders[order].PlacedAt) {
			order = i
		}
	}
	return order
}

func scriptMoments(season []string) *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		zone := mustZone(rapid.SampledFrom(scriptZones).Draw(t, "midnight in"))
		day := mustDay(rapid.SampledFrom(season).Draw(t, "day"))
		midnight := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
		return midnight.Add(rapid.SampledFrom(scriptOffsets).Draw(t, "offset")).UTC()
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

func scriptOrders(season []string, stages int) *rapid.Generator[scriptOrder] {
	return rapid.Custom(func(t *rapid.T) scriptOrder {
		o := scriptOrder{
			Stage:    rapid.IntRange(0, stages-1).Draw(t, "stage"),
			PlacedAt: scriptMoments(season).Draw(t, "placed at"),
			Channel:  rapid.SampledFrom(scriptChannels).Draw(t, "channel"),
			Customer: rapid.SampledFrom(scriptPeople).Draw(t, "customer"),
			TaxTotal: rapid.SampledFrom([]int64{none, 0, 1, 2, 7, 100, 333, 12_345, 999_999_999_999}).Draw(t, "tax"),
			Items:    rapid.SliceOfN(rapid.Custom(drawItem), 1, 6).Draw(t, "items"),
		}
		var value, discount int64
		for _, i := range o.Items {
			value, discount = value+i.Quantity*i.UnitPrice, discount+max(0, i.Discount)
		}
		rest := value - discount
		o.DiscountTotal = discount + rapid.SampledFrom([]int64{0, min(1, rest), rest / 3, rest/2 + rest%2, rest}).Draw(t, "more discount")
		if rapid.Bool().Draw(t, "no discount total") || o.DiscountTotal > int64(money.Max) {
			o.DiscountTotal = none
		}
		return o
	})
}

func drawItem(t *rapid.T) scriptItem {
	i := scriptItem{
		SKU:       rapid.SampledFrom(scriptSKUs).Draw(t, "sku"),
		Quantity:  rapid.SampledFrom([]int64{1, 2, 3, 7, 1000}).Draw(t, "quantity"),
		UnitPrice: rapid.SampledFrom([]int64{0, 1, 3, 10, 99, 333, 1000, 1999, 999_999_999_999}).Draw(t, "price"),
		UnitCost:  rapid.SampledFrom([]int64{none, none, 0, 1, 250, 5000, 999_999_999}).Draw(t, "cost"),
	}
	if i.UnitPrice > 999_999_999 {
		i.Quantity = 1
	}
	value := i.Quantity * i.UnitPrice
	i.Discount = rapid.SampledFrom([]int64{none, none, 0, min(1, value), value / 3, value}).Draw(t, "discount")
	return i
}

func (s script) drawStage(t *rapid.T, n int, season []string) scriptStage {
	stage := scriptStage{
		Changes:   rapid.SliceOfN(rapid.Custom(drawChange), 1, 8).Draw(t, "changes"),
		Trouble:   drawTrouble(t),
		Senders:   rapid.IntRange(1, 3).Draw(t, "senders"),
		Questions: drawQuestions(t, season),
	}
	if n > 0 {
		stage.Renamed = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) scriptName {
			return scriptName{rapid.Bool().Draw(t, "seller"), rapid.IntRange(1, 2).Draw(t, "which"), rapid.SampledFrom([]string{"", "X", "Y", "Z"}).Draw(t, "name")}
		}), 0, 2).Draw(t, "renamed")
	}
	if rapid.Bool().Draw(t, "relabel") {
		stage.Relabelled = []scriptLabel{{rapid.SampledFrom(scriptChannels).Draw(t, "channel"), rapid.SampledFrom([]string{"Shop", "web"}).Draw(t, "label")}}
	}
	due := s.due(n)
	for _, d := range s.due(0, n) {
		if again := rapid.IntRange(0, 3).Draw(t, "again") == 0; again && (d.Kind != "refund" || s.Refunds[d.Index].Named) {
			due = append(due, d)
		}
	}
	due = rapid.Permutation(due).Draw(t, "deliveries")
	for len(due) > 0 {
		n := rapid.IntRange(1, min(9, len(due))).Draw(t, "chunk")
		stage.Chunks, due = append(stage.Chunks, due[:n:n]), due[n:]
	}
	return stage
}

// due is what comes in first in one stage, or from one stage to another.
func (s script) due(stages ...int) (due []delivery) {
	add := func(kind string, index, stage int) {
		if stage >= stages[0] && stage <= stages[len(stages)-1] {
			due = append(due, delivery{kind, index})
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

func drawChange(t *rapid.T) scriptChange {
	return scriptChange{
		SKU:      rapid.SampledFrom(scriptSKUs).Draw(t, "sku"),
		To:       rapid.SampledFrom(append([]string{"", "", ""}, scriptSKUs...)).Draw(t, "to"),
		Delete:   rapid.IntRange(0, 4).Draw(t, "delete") == 0,
		Name:     rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "name"),
		Cost:     rapid.SampledFrom([]int64{none, 0, 1, 333, 100_000}).Draw(t, "cost"),
		Category: rapid.IntRange(0, 3).Draw(t, "category"),
		Seller:   rapid.IntRange(0, 2).Draw(t, "seller"),
	}
}

func drawTrouble(t *rapid.T) scriptTrouble {
	return scriptTrouble{
		Kind: rapid.SampledFrom([]string{"", "", "", "zone", "rollups"}).Draw(t, "trouble"),
		Zone: rapid.SampledFrom(scriptZones).Draw(t, "new zone"),
		How:  rapid.SampledFrom([]string{"add", "delete", "insert"}).Draw(t, "how"),
		Row:  rapid.IntRange(0, 30).Draw(t, "row"),
		Sum:  rapid.SampledFrom(scriptSums).Draw(t, "sum"),
		By:   rapid.SampledFrom([]int{1, -1, 100}).Draw(t, "by"),
	}
}

func drawQuestions(t *rapid.T, season []string) scriptQuestions {
	bound := rapid.Custom(func(t *rapid.T) time.Time {
		day := mustDay(rapid.SampledFrom(season).Draw(t, "bound"))
		if rapid.IntRange(0, 3).Draw(t, "whole months") == 0 {
			return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
		}
		return day.AddDate(0, 0, rapid.IntRange(-1, 1).Draw(t, "days"))
	})
	days := []time.Time{bound.Draw(t, "from"), bound.Draw(t, "to")}
	slices.SortFunc(days, time.Time.Compare)
	return scriptQuestions{
		Range:       reports.Range{From: days[0], To: days[1]},
		Channel:     rapid.SampledFrom(append([]string{"", "", "never"}, scriptChannels...)).Draw(t, "channel"),
		Category:    rapid.IntRange(0, 4).Draw(t, "category"),
		ProductsBy:  rapid.SampledFrom([]string{"", "revenue", "units", "margin"}).Draw(t, "products by"),
		CustomersBy: rapid.SampledFrom([]string{"", "revenue", "orders", "last_order"}).Draw(t, "customers by"),
		Ascending:   rapid.Bool().Draw(t, "ascending"),
		Compare:     rapid.Bool().Draw(t, "compare"),
		Explain:     rapid.Bool().Draw(t, "explain"),
		PerPage:     rapid.SampledFrom([]int{2, 3, 100}).Draw(t, "per page"),
		Customs:     rapid.SliceOfN(rapid.Custom(drawCustom), 4, 4).Draw(t, "customs"),
	}
}

func drawCustom(t *rapid.T) scriptCustom {
	metrics := rapid.Permutation(scriptMetrics).Draw(t, "metrics")
	c := scriptCustom{
		GroupBy: rapid.SampledFrom([]string{"", "day", "week", "month", "channel", "category", "seller"}).Draw(t, "group by"),
		Explain: rapid.Bool().Draw(t, "explain"),
		Metrics: metrics[:rapid.IntRange(1, len(metrics)).Draw(t, "how many")],
	}
	if rapid.Bool().Draw(t, "by channels") {
		c.Channels = rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{"never"}, scriptChannels...)), 1, 3, rapid.ID).Draw(t, "channels")
	}
	if rapid.Bool().Draw(t, "by categories") {
		c.Categories = rapid.SliceOfNDistinct(rapid.IntRange(1, 4), 1, 3, rapid.ID).Draw(t, "categories")
	}
	return c
}

func (o scriptOrder) sale(index int) sales.Order {
	sent := sales.Order{
		Number: fmt.Sprint("N", index), PlacedAt: o.PlacedAt, Channel: o.Channel,
		DiscountTotal: scriptMoney(o.DiscountTotal), TaxTotal: scriptMoney(o.TaxTotal),
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
			UnitCost: scriptMoney(i.UnitCost), Discount: scriptMoney(i.Discount),
		})
	}
	return sent
}

func scriptMoney(n int64) *money.Cents {
	if n == none {
		return nil
	}
	return (*money.Cents)(&n)
}

func (r scriptRefund) refund(index int) sales.Refund {
	sent := sales.Refund{OrderNumber: fmt.Sprint("N", r.Order), Amount: money.Cents(r.Amount), RefundedAt: &r.RefundedAt}
	if r.Named {
		reference := fmt.Sprint("R", index)
		sent.Reference = &reference
	}
	return sent
}
