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

// people makes n rows of customers and calls seen now and then.
func people(n int, seen func()) export.Rows[reports.CustomerSums] {
	name, email := "Ada König, née Lovelace", "ada.koenig@example.com"
	at := time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC)
	return func(write func(reports.CustomerSums) error) error {
		for i := range n {
			if i%5000 == 0 {
				seen()
			}
			c := reports.CustomerSums{CustomerID: "customer-" + strconv.Itoa(i), Name: &name, Email: &email, FirstOrderAt: at, LastOrderAt: at.Add(time.Duration(i) * time.Second)}
			c.Orders, c.Revenue, c.Refunds = int64(i%7), 123456789, -5
			if err := write(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// peak is the most memory that the process had in use while a file was written.
type peak struct{ bytes uint64 }

func (p *peak) look() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.bytes = max(p.bytes, m.Sys-m.HeapReleased)
}

// TestFilesOfAnyLengthTakeLittleMemory is not parallel: it measures the process.
func TestFilesOfAnyLengthTakeLittleMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  int
		write func(export.Sheet) error
	}{
		{"CSV", 1_000_000, func(s export.Sheet) error { return export.CSV(io.Discard, s) }},
		{"XLSX", 200_000, func(s export.Sheet) error {
			f, err := export.XLSX(s)
			if err != nil {
				return err
			}
			t.Logf("%d bytes", f.Size)
			return f.Close()
		}},
	} {
		var p peak
		begin := time.Now()
		if err := c.write(export.Customers(people(c.rows, p.look), true)); err != nil {
			t.Fatal(err)
		}
		p.look()
		t.Logf("%s: %v, %d MiB", c.name, time.Since(begin), p.bytes>>20)
		if p.bytes > 96<<20 {
			t.Errorf("%s of %d rows took %d MiB", c.name, c.rows, p.bytes>>20)
		}
	}
}
