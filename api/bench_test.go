package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/spool"
)

const benchBody = `{"sku":"KET-SA-0001042","name":"Brushed kettle, sage","description":"<p>Boils, whistles, stays.</p>",
	"price":"49.90","msrp":62.50,"cost":"27.45","status":"active","condition":"new","quantity":120,"reorder_point":20,
	"category_id":17,"seller_id":4,"warehouse_id":1,"bin_location":"C-12","upc":"400000007294","tags":["kitchen","gift"]}`

func benchProduct() catalog.Product {
	text := "<p>Boils, whistles, stays.</p>"
	return catalog.Product{
		ID: 1042, SKU: "KET-SA-0001042", Name: "Brushed kettle, sage", Description: &text, Price: 4990,
		Status: "active", Condition: "new", Quantity: 120, CategoryID: new(int64(17)), CategoryName: new("Kitchen ware"),
		SellerID: new(int64(4)), SellerName: new("Alder & Co"), WarehouseID: 1, WarehouseName: "Main warehouse",
		UPC: new("400000007294"), Tags: []string{"kitchen", "gift"}, CreatedAt: time.Unix(1_750_000_000, 0),
		UpdatedAt: time.Unix(1_760_000_000, 0),
	}
}

func BenchmarkDecodeProduct(b *testing.B) {
	s := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "/api/products", strings.NewReader(benchBody))
		r.Header.Set("Content-Type", "application/json")
		r = r.WithContext(context.WithValue(r.Context(), stateKey{}, &requestState{}))
		if _, problems, err := s.readProduct(r); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
}

// BenchmarkDecodeOrders reads the body of a bulk of 1,000 orders.
func BenchmarkDecodeOrders(b *testing.B) {
	const order = `{"number":"SO-%06d","placed_at":"2026-03-01T09:30:00+01:00","channel":"web","discount_total":"3.00","tax_total":7.98,
		"customer":{"id":"C-10042","name":"Zoë Hill","email":"zoe@example.com"},"items":[
		{"sku":"MUG-BLUE-350","quantity":2,"unit_price":"24.90","unit_cost":"11.35","discount":"1.00"},
		{"sku":"KET-SA-0001042","quantity":1,"unit_price":49.90,"unit_cost":27.45},
		{"sku":"LIT-108-60CM","quantity":12,"unit_price":"14.90"}]}`
	orders := make([]string, maxBulkRows)
	for i := range orders {
		orders[i] = fmt.Sprintf(order, i)
	}
	raw := []byte(`{"orders":[` + strings.Join(orders, ",") + `]}`)
	content := spool.New(nil)
	defer content.Close()
	if _, err := content.Write(raw); err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/api/orders/bulk", nil)
	r.Header.Set("Content-Type", "application/json")
	r = r.WithContext(context.WithValue(r.Context(), stateKey{}, &requestState{body: content}))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		body, err := readBulk(r, readQuery(r), "orders")
		if err != nil {
			b.Fatal(err)
		}
		err = body.eachRow(body.all(), func(i int, o *object) error {
			if row := o.order(); len(row.Items) != 3 || len(row.Invalid) > 0 {
				b.Fatal(i, row)
			}
			return nil
		})
		if err != nil || len(body.rows) != maxBulkRows {
			b.Fatal(len(body.rows), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/maxBulkRows, "µs/order")
}

func BenchmarkReadFilter(b *testing.B) {
	for b.Loop() {
		q := readQuery(httptest.NewRequest(
			"GET", "/api/products?page=3&per_page=100&sort=price&direction=desc&status=active&category_id=17", nil,
		))
		q.page()
		q.order(catalog.ProductOrders)
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{1, 25, 100} {
		page := paging.List[catalog.Product]{Total: 1_000_000, Items: make([]catalog.Product, n)}
		for i := range page.Items {
			page.Items[i] = benchProduct()
		}
		b.Run(fmt.Sprint(n, " products"), func(b *testing.B) {
			r := httptest.NewRequest("GET", "/", nil)
			b.ReportAllocs()
			for b.Loop() {
				if err := writePage(discard{http.Header{}}, r, paging.Page{Number: 1, PerPage: n}, page, new(Server).productShape); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncodeSummary encodes the longest summary: of 7,320 days.
func BenchmarkEncodeSummary(b *testing.B) {
	day := reports.Sums{
		Orders: 52, Items: 150, Units: 342, UnitsWithoutCost: 12, Revenue: 8_412_37, Discounts: 212_50, Tax: 1_682_47,
		Cost: 4_120_11, RefundCount: 2, Refunds: 84_20, Shipping: 120_60, RevenueWithoutCost: 312_40,
	}
	from := time.Date(2006, 1, 1, 0, 0, 0, 0, time.UTC)
	of := func(from time.Time) reports.Summary {
		s := reports.Summary{
			Zone: "UTC", Total: day, Range: reports.Range{From: from, To: from.AddDate(0, 0, reports.MaxDays-1)},
		}
		for i := range reports.MaxDays {
			s.Days = append(s.Days, reports.DaySums{Day: from.AddDate(0, 0, i).Format(time.DateOnly), Sums: day})
		}
		return s
	}
	plain, compared := of(from), of(from)
	compared.Compare, compared.Previous = reports.PreviousPeriod, new(of(from.AddDate(0, 0, -reports.MaxDays)))
	for name, s := range map[string]reports.Summary{"plain": plain, "compared": compared} {
		b.Run(name, func(b *testing.B) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("GET", "/", nil)
			q := reports.SummaryQuery{Range: s.Range, Compare: s.Compare}
			if err := writeLarge(w, r, http.StatusOK, envelope(summaryShape(s, q, "USD"))); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(w.Body.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if err := writeLarge(discard{http.Header{}}, r, http.StatusOK, envelope(summaryShape(s, q, "USD"))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGet is the whole of a read but the network: key, limit, PostgreSQL, JSON.
func BenchmarkGet(b *testing.B) {
	a := newAPI(b)
	id := a.mustProduct(b, `{"sku":"A","name":"A","price":1}`)
	for _, path := range []string{fmt.Sprint("/api/products/", id), "/api/products/sku/A", "/api/products"} {
		b.Run(path, func(b *testing.B) {
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("Authorization", "Bearer "+a.key)
			b.ReportAllocs()
			for b.Loop() {
				a.server.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

// discard is a ResponseWriter that drops the response.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
