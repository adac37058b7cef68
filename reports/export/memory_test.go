package export_test

import (
	"io"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
)

// manyCustomers returns n rows and calls measure after each 5,000 rows.
func manyCustomers(n int, measure func()) export.Rows[reports.CustomerSums] {
	name, email := "Ada König, née Lovelace", "ada.koenig@example.com"
	at := time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC)
	return func(write func(reports.CustomerSums) error) error {
		for i := range n {
			if i%5000 == 0 {
				measure()
			}
			c := reports.CustomerSums{
				CustomerID: "customer-" + strconv.Itoa(i), Name: &name, Email: &email,
				FirstOrderAt: at, LastOrderAt: at.Add(time.Duration(i) * time.Second),
			}
			c.Orders, c.Revenue, c.Refunds = int64(i%7), 123456789, -5
			if err := write(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// peak is the maximum memory of the process.
type peak struct{ bytes uint64 }

func (p *peak) measure() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.bytes = max(p.bytes, m.Sys-m.HeapReleased)
}

// TestLongFilesNeedLittleMemory is not parallel: it measures the process.
func TestLongFilesNeedLittleMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  int
		write func(export.Sheet) error
	}{
		{"CSV", 1_000_000, func(s export.Sheet) error { return export.CSV(io.Discard, s) }},
		{"XLSX", 200_000, func(s export.Sheet) error {
			return export.WriteWorkbook(t.Context(), io.Discard, s)
		}},
	} {
		var p peak
		begin := time.Now()
		if err := c.write(export.Customers(manyCustomers(c.rows, p.measure), true)); err != nil {
			t.Fatal(err)
		}
		p.measure()
		t.Logf("%s: %v, %d MiB", c.name, time.Since(begin), p.bytes>>20)
		if p.bytes > 40<<20 {
			t.Errorf("%s of %d rows took %d MiB", c.name, c.rows, p.bytes>>20)
		}
	}
}
