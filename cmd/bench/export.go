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
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"

	"github.com/storeroom/storeroom/reports/sums"
)

// Targets of exports.
const (
	ofCopy       = 0.6                    // share of the rows per second of COPY
	maxFirstByte = 200 * time.Millisecond // of a CSV, after COPY's first byte
	maxMemory    = 128 << 20              // bytes of this process
)

const exportTimeout = 2 * time.Minute

// exports download the wide tenant's products.
func exports(s *service) []scenario {
	csv := s.csv()
	return []scenario{{
		name: "export: CSV", work: repeat(csv.get), pieces: csv.rows, clients: []int{1},
		baseline: repeat(s.copyProducts), against: "COPY", target: target{ratio: ofCopy},
	}}
}

func (s *service) csv() download {
	shop := s.shops[wide]
	path := "/api/reports/export/products?format=csv&from=" + wideFrom + "&to=" + wideTo
	return download{address: s.address, key: shop.key, path: path, rows: shop.sold}
}

// download requests a file from the service.
type download struct {
	address, key, path string
	rows               int // that it must have
}

// get downloads the file and returns its size and the time of its first byte.
func (d download) get(ctx context.Context) (lineCounter, error) {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	var lines lineCounter
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.address+d.path, nil)
	if err != nil {
		return lines, err
	}
	r.Header.Set("Authorization", "Bearer "+d.key)
	r.Header.Set("Accept-Encoding", "identity")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return lines, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		return lines, fmt.Errorf("GET %s = %d %s", d.path, response.StatusCode, body)
	}
	if _, err := io.Copy(&lines, response.Body); err != nil {
		return lines, fmt.Errorf("read %s: %w", d.path, err)
	}
	if lines.lines != d.rows+1 {
		return lines, fmt.Errorf("GET %s has %d rows and a header, want %d", d.path, lines.lines-1, d.rows)
	}
	return lines, nil
}

// lineCounter counts what is written to it.
type lineCounter struct {
	lines, bytes int
	first        time.Time // of the first byte
}

func (c *lineCounter) Write(b []byte) (int, error) {
	if c.bytes == 0 {
		c.first = time.Now()
	}
	c.bytes += len(b)
	c.lines += bytes.Count(b, []byte{'\n'})
	return len(b), nil
}

// copyProducts reads the rows of the CSV with COPY TO STDOUT, in the same order and with the
// settings of a report (see Snapshot of db.DB).
func (s *service) copyProducts(ctx context.Context) (lines lineCounter, err error) {
	shop := s.shops[wide]
	sql := `copy (` + strings.ReplaceAll(sameProducts, "$1", fmt.Sprint(shop.id)) + `) to stdout (format csv)`
	err = s.db.Tx(ctx, shop.id, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `set local work_mem = '32MB'; set local statement_timeout = 0`); err != nil {
			return err
		}
		_, err := tx.Conn().PgConn().CopyTo(ctx, &lines, sql)
		if err == nil && lines.lines != shop.sold {
			err = fmt.Errorf("COPY reads %d rows, want %d", lines.lines, shop.sold)
		}
		return err
	})
	return lines, err
}

// sameProducts is the query of the report. It supports any range, refunds, and products that were sold under several
// names.
var sameProducts = `
		with g as materialized (
			select p.product_id, case when p.product_id is null then p.sku end as unknown_sku, ` + sums.Totals + `
			  from sales_rollups s
			  join sold_products p on p.tenant_id = $1 and p.id = s.key
			 where s.tenant_id = $1 and s.kind = ` + sums.ByProduct.SQL() + `
			   and s.day >= '` + wideFrom + `' and s.day <= '` + wideTo + `'
			 group by 1, 2
			having sum(s.items) > 0
		)
		select g.product_id, g.unknown_sku, coalesce(g.unknown_sku, latest.sku) as sku,
		       coalesce(g.unknown_sku, latest.name) as name, ` + sums.List + `
		  from g
		  left join lateral (
		       select p.sku, p.name
		         from sold_products p
		        where p.tenant_id = $1 and p.product_id = g.product_id
		        order by p.id desc
		        limit 1
		       ) latest on true
		 order by revenue desc, product_id, unknown_sku`

// file is the measurement of one download.
type file struct {
	File      string
	Bytes     int
	Before    uint64   // resident memory of this process
	Peak      uint64   // highest resident memory
	FirstByte *float64 // milliseconds after the first byte of COPY, of a CSV
}

func (f file) String() string {
	met := map[bool]string{true: "met", false: "MISSED"}
	text := fmt.Sprintf("  %-24s %6.1f MB, at most %d MiB of memory (%d before), %s ≤ %d MiB",
		f.File, float64(f.Bytes)/1e6, f.Peak>>20, f.Before>>20, met[f.Peak <= maxMemory], maxMemory>>20)
	if f.FirstByte != nil {
		text += fmt.Sprintf("; first byte %.1f ms after COPY's, %s ≤ %d ms",
			*f.FirstByte, met[*f.FirstByte <= ms(maxFirstByte)], maxFirstByte.Milliseconds())
	}
	return text
}

// measureFiles downloads a CSV with a new service, after returning free memory to the system, and compares the time of
// its first byte with that of COPY. The memory includes the client and what earlier scenarios left.
func measureFiles(ctx context.Context, d database, o options) (files []file, err error) {
	f := file{File: "file: CSV"}
	if !o.run.MatchString(f.File) {
		return nil, nil
	}
	s, err := openService(ctx, d, o.redis, wide)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	started := time.Now()
	lines, err := s.copyProducts(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.File, err)
	}
	before := lines.first.Sub(started)
	debug.FreeOSMemory()
	if err := resetPeakMemory(os.Getpid()); err != nil {
		return nil, err
	}
	if f.Before, err = peakMemory(); err != nil {
		return nil, err
	}
	started = time.Now()
	if lines, err = s.csv().get(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", f.File, err)
	}
	f.FirstByte, f.Bytes = new(ms(lines.first.Sub(started)-before)), lines.bytes
	f.Peak, err = peakMemory()
	return []file{f}, err
}

// peakMemory returns the peak of this process's resident memory in bytes.
func peakMemory() (uint64, error) {
	self, err := procfs.Self()
	if err != nil {
		return 0, err
	}
	status, err := self.NewStatus()
	return status.VmHWM, err
}
