package reports_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
)

// The figures of testdata/shop are computed by hand; see figures.md there.
func TestReportsEqualFiguresComputedByHand(t *testing.T) {
	t.Parallel()
	s := mustGoldenShop(t, os.DirFS("testdata/shop"), "America/New_York")
	s.mustAgree(t)
	s.compare(t, "testdata/shop/figures.json")
	s.changeCatalog(t)
	t.Run("after the catalog has changed", func(t *testing.T) { s.compare(t, "testdata/shop/figures.json") })
}

// The figures of the real shops are computed by testdata/golden.py.
func TestReportsOfRealShopsEqualTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"uci", "contoso", "grocery"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			s := mustGoldenShop(t, os.DirFS(dbtest.SharedData(t, set)), "UTC")
			s.compare(t, "testdata/golden_"+set+".json")
			if set == "uci" {
				s.mustSellBest(t, "2011-12-09", "DOT")
			}
		})
	}
}

// mustSellBest fails unless a product is the best one on the overview of a day: it ranks by net revenue.
func (s *goldenShop) mustSellBest(t *testing.T, day, sku string) {
	t.Helper()
	got, err := s.reports.Overview(t.Context(), s.tenant, reports.OverviewQuery{
		Range: days(day, day), Compare: reports.PreviousPeriod, Limit: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Best) == 0 || got.Best[0].SKU != sku {
		t.Errorf("the best products of %s are %+v, want %s first", day, got.Best, sku)
	}
}

func TestGoldenFilesEqualTheOutputOfTheScript(t *testing.T) {
	t.Parallel()
	data, out := filepath.Dir(dbtest.SharedData(t, "uci")), t.TempDir()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Logf("the golden files are not checked: %v", err)
		return
	}
	command := exec.CommandContext(t.Context(), python, "testdata/golden.py", data, out)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("golden.py: %v\n%s", err, output)
	}
	for _, name := range []string{"golden_uci.json", "golden_contoso.json", "golden_grocery.json"} {
		if !bytes.Equal(mustFile(t, filepath.Join(out, name)), mustFile(t, filepath.Join("testdata", name))) {
			t.Errorf("testdata/%s differs from the output of testdata/golden.py", name)
		}
	}
}

func mustFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// goldenReport is a report with its expected figures by name. A row can omit figures.
type goldenReport struct {
	Report     string
	From, To   string
	Number     string // of an order
	Channel    string
	GroupBy    string `json:"group_by"`
	Metrics    []string
	Channels   []string
	Categories []string
	Sort       string
	Ascending  bool
	PerPage    int `json:"per_page"`
	Rows       []goldenRow
}

type goldenRow = map[string]string

// String returns the name of the test.
func (g goldenReport) String() string {
	name := []string{strings.ReplaceAll(g.Report, "_", " ")}
	for _, part := range []struct{ word, value string }{
		{"of", g.Number}, {"by", g.GroupBy}, {"of", g.Channel},
		{"of", strings.Join(g.Channels, " and ")}, {"in", strings.Join(g.Categories, " and ")},
		{"with", strings.Join(g.Metrics, " and ")}, {"by", g.Sort}, {"from", g.From}, {"to", g.To},
	} {
		if part.value != "" {
			name = append(name, part.word, part.value)
		}
	}
	return strings.Join(name, " ")
}

// compare compares reports with a golden file.
func (s *goldenShop) compare(t *testing.T, path string) {
	var wanted []goldenReport
	file := json.NewDecoder(bytes.NewReader(mustFile(t, path)))
	file.DisallowUnknownFields()
	if err := file.Decode(&wanted); err != nil {
		t.Fatal(err)
	}
	for _, want := range wanted {
		t.Run(want.String(), func(t *testing.T) {
			got, err := s.figures(t, want)
			if err != nil {
				t.Fatal(err)
			}
			for i := range min(len(got), len(want.Rows)) {
				got[i] = onlyWanted(got[i], want.Rows[i])
			}
			if diff := gocmp.Diff(want.Rows, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// onlyWanted returns the figures of got whose names are in want.
func onlyWanted(got, want goldenRow) goldenRow {
	kept := goldenRow{}
	for name := range want {
		if figure, ok := got[name]; ok {
			kept[name] = figure
		}
	}
	return kept
}

// figures runs a report and returns its figures as text.
func (s *goldenShop) figures(t *testing.T, g goldenReport) ([]goldenRow, error) {
	switch g.Report {
	case "summary", "previous", "previous_year", "daily", "by_channel":
		return s.summary(t, g)
	case "channels":
		got, err := s.reports.Channels(t.Context(), s.tenant, reports.ChannelsQuery{Range: g.mustRange(t)})
		return channelRows(got.Rows), err
	case "products":
		return s.products(t, g)
	case "customers", "customers_summary":
		return s.customers(t, g)
	case "custom", "custom_total":
		return s.custom(t, g)
	case "reconcile":
		return s.reconcile(t, g)
	case "order":
		return s.order(t, g)
	case "refunded_above_paid":
		return []goldenRow{{"orders": strconv.Itoa(len(s.abovePaid))}}, nil
	}
	return nil, errors.New("unknown report")
}

func (g goldenReport) mustRange(t *testing.T) reports.Range {
	t.Helper()
	from, err := time.Parse(time.DateOnly, g.From)
	to, err2 := time.Parse(time.DateOnly, g.To)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return reports.Range{From: from, To: to}
}

// sumRow returns all figures that follow from sums, and the pairs in more.
func sumRow(s reports.Sums, more ...string) goldenRow {
	row := goldenRow{
		"cost": s.Cost.String(), "refund_count": strconv.FormatInt(s.RefundCount, 10),
		"refunded_revenue_without_cost": s.RefundedRevenueWithoutCost.String(),
	}
	for _, c := range reports.Figures {
		row[c.Name] = figureText(c.Metric.Of(s), c.Metric.Unit)
	}
	for pair := range slices.Chunk(more, 2) {
		row[pair[0]] = pair[1]
	}
	return row
}

func (s *goldenShop) summary(t *testing.T, g goldenReport) (rows []goldenRow, err error) {
	q := reports.SummaryQuery{Range: g.mustRange(t), Channel: g.Channel, Compare: reports.PreviousPeriod}
	if g.Report == "previous_year" {
		q.Compare = reports.PreviousYear
	}
	got, err := s.reports.Summary(t.Context(), s.tenant, q)
	if err != nil {
		return nil, err
	}
	switch g.Report {
	case "summary":
		return []goldenRow{sumRow(got.Total)}, nil
	case "previous", "previous_year":
		before := got.Previous.Total
		return []goldenRow{sumRow(before,
			"revenue_change_percent", changeText(int64(got.Total.Revenue), int64(before.Revenue)),
			"orders_change_percent", changeText(got.Total.Orders, before.Orders))}, nil
	case "by_channel":
		return channelRows(got.Channels), nil
	}
	for _, d := range got.Days {
		rows = append(rows, sumRow(d.Sums, "group", d.Day))
	}
	return rows, nil
}

func changeText(now, before int64) string {
	if c := reports.Change(now, before); c != nil {
		return figureText(*c, reports.Percent)
	}
	return "null"
}

func channelRows(channels []reports.ChannelSums) []goldenRow {
	rows := []goldenRow{}
	for _, c := range channels {
		percent := figureText(c.PercentOfTotal, reports.Percent)
		rows = append(rows, sumRow(c.Sums, "group", c.Channel, "label", c.Label, "percent_of_total", percent))
	}
	return rows
}

func (s *goldenShop) products(t *testing.T, g goldenReport) ([]goldenRow, error) {
	q := reports.ProductsQuery{
		Range: g.mustRange(t), By: g.Sort, Ascending: g.Ascending, Page: 1, PerPage: cmp.Or(g.PerPage, 100),
	}
	for _, name := range g.Categories {
		q.CategoryID = new(s.categories[name])
	}
	got, err := s.reports.Products(t.Context(), s.tenant, q)
	rows := []goldenRow{}
	for _, p := range got.Rows {
		known := p.ProductID != nil
		if known && *p.ProductID != s.productIDs[p.SKU] {
			t.Errorf("product %s has id %d, want %d", p.SKU, *p.ProductID, s.productIDs[p.SKU])
		}
		rows = append(rows, sumRow(p.Sums, "sku", p.SKU, "name", p.Name,
			"in_catalog", strconv.FormatBool(known), "count", strconv.FormatInt(got.Count, 10)))
	}
	return rows, err
}

func (s *goldenShop) customers(t *testing.T, g goldenReport) ([]goldenRow, error) {
	got, err := s.reports.Customers(t.Context(), s.tenant, reports.CustomersQuery{
		Range: g.mustRange(t), Channel: g.Channel, By: g.Sort, Ascending: g.Ascending,
		Page: 1, PerPage: cmp.Or(g.PerPage, 100),
	})
	if g.Report == "customers_summary" {
		return []goldenRow{{
			"total_customers": strconv.FormatInt(got.Customers, 10), "new_customers": strconv.FormatInt(got.New, 10),
			"returning_customers":          strconv.FormatInt(got.Customers-got.New, 10),
			"guest_orders":                 strconv.FormatInt(got.Guests.Orders, 10),
			"repeat_rate_percent":          figureText(got.RepeatRatePercent(), reports.Percent),
			"average_revenue_per_customer": got.AverageRevenue().String(),
		}}, err
	}
	rows := []goldenRow{}
	for _, c := range got.Rows {
		rows = append(rows, sumRow(c.Sums, "customer_id", c.CustomerID, "name", textOf(c.Name), "email", textOf(c.Email),
			"first_order_at", c.FirstOrderAt.UTC().Format(time.RFC3339),
			"last_order_at", c.LastOrderAt.UTC().Format(time.RFC3339)))
	}
	return rows, err
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (s *goldenShop) custom(t *testing.T, g goldenReport) ([]goldenRow, error) {
	q := reports.CustomQuery{Range: g.mustRange(t), GroupBy: g.GroupBy, Channels: g.Channels, Metrics: g.Metrics}
	if q.Metrics == nil {
		for _, m := range reports.Metrics {
			q.Metrics = append(q.Metrics, m.Name)
		}
	}
	for _, name := range g.Categories {
		q.CategoryIDs = append(q.CategoryIDs, s.categories[name])
	}
	got, err := s.reports.Custom(t.Context(), s.tenant, q)
	if g.Report == "custom_total" {
		return []goldenRow{sumRow(got.Total)}, err
	}
	rows := []goldenRow{}
	for _, r := range got.Rows {
		rows = append(rows, sumRow(r.Sums, "group", r.Key, "label", r.Label))
	}
	return rows, err
}

// reconcile returns the figures of the facts; all others must be equal.
func (s *goldenShop) reconcile(t *testing.T, g goldenReport) (rows []goldenRow, err error) {
	got, err := s.reports.Reconcile(t.Context(), s.tenant, g.mustRange(t))
	balanced := got.Balanced
	for _, figure := range got.Figures {
		balanced = balanced && figure.Balanced
		others := []*reports.Figure{
			&figure.Summary, figure.Channels, figure.Days, figure.Products, figure.Categories, figure.Sellers,
		}
		for i, column := range others {
			if column != nil && *column != figure.Facts {
				t.Errorf("%s: column %d has %s, the facts %s", figure.Figure, i, column, figure.Facts)
			}
		}
		rows = append(rows, goldenRow{"figure": figure.Figure, "facts": figureText(figure.Facts, figure.Unit)})
	}
	if err == nil && !balanced {
		t.Error("not balanced")
	}
	return rows, err
}

// order returns an order and those of its lines that the golden file has.
func (s *goldenShop) order(t *testing.T, g goldenReport) ([]goldenRow, error) {
	got, err := s.sales.Order(t.Context(), s.tenant.ID, g.Number)
	if err != nil {
		return nil, err
	}
	if len(got.Lines) != int(got.ItemCount) {
		t.Errorf("%d lines, want %d", len(got.Lines), got.ItemCount)
	}
	whole := reports.Sums{
		Items: int64(got.ItemCount), Units: got.Units, UnitsWithoutCost: got.UnitsWithoutCost,
		Revenue: got.Revenue, Discounts: got.Discounts, Tax: got.Tax, Shipping: got.Shipping, Cost: got.Cost,
		Refunds: got.Refunded,
	}
	rows := []goldenRow{sumRow(whole)}
	lines := reports.Sums{Items: whole.Items, Cost: whole.Cost, UnitsWithoutCost: whole.UnitsWithoutCost}
	for _, l := range got.Lines {
		sums := reports.Sums{
			Units: int64(l.Quantity), Revenue: money.Cents(l.Quantity)*l.UnitPrice - l.Discount,
			Discounts: l.Discount, Tax: l.Tax, Shipping: l.Shipping, Refunds: l.Refunded,
		}
		lines.Add(sums)
		number := strconv.Itoa(int(l.Line))
		if slices.ContainsFunc(g.Rows, func(r goldenRow) bool { return r["line"] == number }) {
			rows = append(rows, sumRow(sums, "line", number, "sku", l.SKU, "name", l.Name))
		}
	}
	if diff := gocmp.Diff(whole, lines); diff != "" {
		t.Errorf("the lines do not add up to the order (-order +lines):\n%s", diff)
	}
	return rows, nil
}

// figureText formats a figure as JSON and CSV do.
func figureText(f reports.Figure, u reports.Unit) string {
	if u == reports.Number {
		return f.String()
	}
	return string(f.Append(nil))
}
