package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// What the exports are to reach.
const (
	ofCopy     = 0.6                    // of the rows a second that COPY reads
	firstByte  = 200 * time.Millisecond // after the first row of the query
	flatMemory = 128 << 20              // bytes of the process at most
)

// exportWithin bounds one file.
const exportWithin = 2 * time.Minute

// exports are files of the wide tenant's products: all of them, and a fifth.
func exports(s *service) []scenario {
	csv, xlsx := s.files()
	all := []scenario{
		{name: "export: CSV", work: csv, beside: copied{s, sameProducts}, against: "COPY", aim: aim{ratio: ofCopy}, pieces: csv.rows},
		{name: "export: CSV, against lean SQL", work: csv, beside: copied{s, leanProducts}, against: "lean COPY", pieces: csv.rows},
		{name: "export: XLSX of a fifth", work: xlsx, pieces: csv.rows / 5},
	}
	for i := range all {
		all[i].clients = []int{1}
	}
	return all
}

func (s *service) files() (csv, xlsx download) {
	shop := s.shops[wide]
	path := "/api/reports/export/products?from=" + wideFrom + "&to=" + wideTo
	csv = download{address: s.address, key: shop.key, path: path + "&format=csv", rows: shop.sold}
	xlsx = csv
	xlsx.path, xlsx.rows = fmt.Sprint(path, "&format=xlsx&category_id=", shop.categories[0]), 0
	return csv, xlsx
}

// download is a file that the product streams.
type download struct {
	address, key, path string
	rows               int // that a CSV must have; 0 is not looked at
}

func (d download) open(context.Context, int) (worker, error) {
	return &downloader{download: d, client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}, nil
}

type downloader struct {
	download
	client *http.Client
	size   int64     // of the last file
	begun  time.Time // when its first byte came
}

func (d *downloader) close() { d.client.CloseIdleConnections() }

func (d *downloader) step(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, exportWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.address+d.path, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+d.key)
	answer, err := d.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
		return 0, fmt.Errorf("GET %s = %d %s", d.path, answer.StatusCode, body)
	}
	d.begun = time.Now()
	var lines lineCounter
	if d.size, err = io.Copy(&lines, answer.Body); err != nil {
		return 0, fmt.Errorf("read %s: %w", d.path, err)
	}
	if d.rows > 0 && int(lines) != d.rows+1 {
		return 0, fmt.Errorf("GET %s has %d rows and a header, want %d", d.path, int(lines)-1, d.rows)
	}
	return answer.StatusCode, nil
}

type lineCounter int

func (c *lineCounter) Write(b []byte) (int, error) {
	*c += lineCounter(bytes.Count(b, []byte{'\n'}))
	return len(b), nil
}

// copied is COPY … TO of the rows of the CSV, in its order, with the settings of a
// report (see Snapshot of tenancy.DB).
type copied struct {
	*service
	sql string
}

func (c copied) open(context.Context, int) (worker, error) { return c, nil }

func (copied) close() {}

func (c copied) step(ctx context.Context) (int, error) {
	shop := c.shops[wide]
	return http.StatusOK, c.db.Tx(ctx, shop.id, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `set local work_mem = '32MB'; set local statement_timeout = 0`); err != nil {
			return err
		}
		var lines lineCounter
		_, err := tx.Conn().PgConn().CopyTo(ctx, &lines, `copy (`+strings.ReplaceAll(c.sql, "$1", fmt.Sprint(shop.id))+`) to stdout (format csv)`)
		if err == nil && int(lines) != shop.sold {
			err = fmt.Errorf("COPY reads %d rows, want %d", lines, shop.sold)
		}
		return err
	})
}

const (
	// sameProducts is the query of the report, which is made for any range, for
	// refunds, and for products that were sold under several names.
	sameProducts = `
		with g as materialized (
		     select p.product_id, case when p.product_id is null then p.sku end as stranger,
		            sum(orders)::bigint as orders, sum(items)::bigint as items, sum(units)::bigint as units,
		            sum(units_without_cost)::bigint as units_without_cost, sum(revenue)::bigint as revenue, sum(discounts)::bigint as discounts,
		            sum(tax)::bigint as tax, sum(cost)::bigint as cost, sum(refund_count)::bigint as refund_count, sum(refunds)::bigint as refunds
		       from sales_rollups s
		       join sold_products p on p.tenant_id = $1 and p.id = s.key
		      where s.tenant_id = $1 and s.kind = 4 and s.day >= '` + wideFrom + `' and s.day <= '` + wideTo + `'
		      group by 1, 2
		     having sum(s.items) > 0)
		select g.product_id, g.stranger, coalesce(g.stranger, latest.sku) as sku, coalesce(g.stranger, latest.name) as name,
		       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
		  from g
		  left join lateral (
		       select p.sku, p.name from sold_products p where p.tenant_id = $1 and p.product_id = g.product_id order by p.id desc limit 1
		       ) latest on true
		 order by revenue desc, product_id, stranger`
	// leanProducts knows that no product has another name or another month.
	leanProducts = `
		select p.product_id, p.sku, p.name, s.units, s.units_without_cost, s.revenue, s.cost
		  from sales_rollups s
		  join sold_products p on p.tenant_id = $1 and p.id = s.key
		 where s.tenant_id = $1 and s.kind = 4 and s.day = '` + wideFrom + `' and s.items > 0
		 order by s.revenue desc, p.product_id`
)

// file is how one was made: the most memory that the process held meanwhile, and
// how long its first byte came after the first rows from the database.
type file struct {
	File     string  `json:"file"`
	Bytes    int64   `json:"bytes"`
	Before   int64   `json:"before"` // of the process, as Peak
	Peak     int64   `json:"peak"`
	After    float64 `json:"first_byte_after_ms"`
	Streamed bool    `json:"streamed"` // After is to be within firstByte
}

func (f file) line() string {
	met := map[bool]string{true: "met", false: "MISSED"}
	text := fmt.Sprintf("  %-24s %6.1f MB, %d MiB of memory at most (%d before), %s ≤ %d MiB",
		f.File, float64(f.Bytes)/1e6, f.Peak>>20, f.Before>>20, met[f.Peak <= flatMemory], flatMemory>>20)
	if f.Streamed {
		text += fmt.Sprintf("; first byte %.1f ms after the first row, %s ≤ %d ms", f.After, met[f.After >= 0 && f.After <= ms(firstByte)], firstByte.Milliseconds())
	}
	return text
}

// exported makes the files whose names match, each alone, by a service that
// reaches its database through a tap. The process is that of the client and of all
// scenarios before, too.
func exported(ctx context.Context, d database, o options) (all []file, err error) {
	t, err := openTap(ctx, &d)
	if err != nil {
		return nil, err
	}
	defer t.close()
	s, err := openService(ctx, d, o.redis, wide)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	csv, xlsx := s.files()
	for _, f := range []struct {
		name     string
		streamed bool
		download
	}{{"file: CSV", true, csv}, {"file: XLSX of a fifth", false, xlsx}} {
		if !o.run.MatchString(f.name) {
			continue
		}
		made := file{File: f.name, Streamed: f.streamed}
		if err := made.make(ctx, f.download, t); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		all = append(all, made)
	}
	return all, nil
}

// make downloads the file from a process that has given back what it can.
func (f *file) make(ctx context.Context, d download, t *tap) error {
	w := &downloader{download: d, client: &http.Client{}}
	defer w.close()
	debug.FreeOSMemory()
	if err := errors.Join(forgetPeak(), peakMemory(&f.Before)); err != nil {
		return err
	}
	t.rows.Store(0)
	if _, err := w.step(ctx); err != nil {
		return err
	}
	f.Bytes = w.size
	if f.Streamed {
		f.After = ms(w.begun.Sub(time.Unix(0, t.rows.Load())))
	}
	return peakMemory(&f.Peak)
}

// forgetPeak makes the kernel begin the highest memory of this process anew.
func forgetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakMemory reads the most memory that this process ever held, in bytes.
func peakMemory(peak *int64) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return errors.New("/proc/self/status does not tell VmHWM")
	}
	kibibytes, err := strconv.ParseInt(fields[0], 10, 64)
	*peak = kibibytes << 10
	return err
}

// deadlocks are all that the database ever had to break.
func deadlocks(ctx context.Context, db *tenancy.DB) (n int64, err error) {
	err = db.Conn(ctx, func(conn *pgx.Conn) error {
		n, err = queryOne[int64](ctx, conn, `select deadlocks from pg_stat_database where datname = current_database()`)
		return err
	})
	return n, err
}
