package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
)

// Targets of exports.
const (
	ofCopy       = 0.6                    // share of the rows per second of COPY
	maxFirstByte = 200 * time.Millisecond // of a CSV, after COPY's first byte
	maxMemory    = 128 << 20              // bytes of this process
)

const exportTimeout = 2 * time.Minute

// exports download the wide tenant's products as CSV. The memory includes that of the client and what earlier
// scenarios left.
func exports(s *service) []scenario {
	rows := s.shops[wide].sold
	return []scenario{{
		name: "export: CSV", work: readLines(s.csv, rows+1), pieces: rows, clients: []int{1}, // with a header
		baseline: readLines(s.copyProducts, rows), against: "COPY", target: target{ratio: ofCopy, memory: maxMemory},
		memory: func() uint64 { return must(processStatus(os.Getpid())).VmHWM },
	}, {
		name: "export: first byte of the CSV", work: untilFirstByte(s.csv), clients: []int{1},
		baseline: untilFirstByte(s.copyProducts), against: "COPY", target: target{later: maxFirstByte},
	}}
}

// readLines returns work that reads all lines.
func readLines(read func(context.Context, io.Writer), want int) work {
	return func(context.Context, int) step {
		debug.FreeOSMemory()
		check(resetPeakMemory(os.Getpid()))
		return stepOf(func(ctx context.Context) {
			var lines lineCounter
			read(ctx, &lines)
			if int(lines) != want {
				check(fmt.Errorf("%d lines, want %d", lines, want))
			}
		})
	}
}

// untilFirstByte returns work that reads until the first byte has arrived.
func untilFirstByte(read func(context.Context, io.Writer)) work {
	return repeat(func(ctx context.Context) {
		if err := catch(func() { read(ctx, firstByte{}) }); !errors.Is(err, errFirstByte) {
			check(errors.Join(errors.New("no first byte"), err))
		}
	})
}

var errFirstByte = errors.New("the first byte has arrived")

// firstByte ends what writes to it.
type firstByte struct{}

func (firstByte) Write([]byte) (int, error) { return 0, errFirstByte }

// lineCounter counts the lines that are written to it.
type lineCounter int

func (c *lineCounter) Write(b []byte) (int, error) {
	*c += lineCounter(bytes.Count(b, []byte{'\n'}))
	return len(b), nil
}

// csv downloads the products.
func (s *service) csv(ctx context.Context, out io.Writer) {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	r := get("/api/reports/export/products?format=csv&from=" + wideFrom + "&to=" + wideTo)
	fetch(ctx, s.address, r.by(s.shops[wide].key), out)
}

// copyProducts reads the rows of the CSV with COPY TO STDOUT, in the same order and with the
// settings of a report (see Snapshot of db.DB).
func (s *service) copyProducts(ctx context.Context, out io.Writer) {
	shop := s.shops[wide]
	sql := `copy (` + strings.ReplaceAll(sameProducts, "$1", fmt.Sprint(shop.id)) + `) to stdout (format csv)`
	check(s.db.Tx(ctx, shop.id, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `set local work_mem = '32MB'; set local statement_timeout = 0`); err != nil {
			return err
		}
		_, err := tx.Conn().PgConn().CopyTo(ctx, out, sql)
		return err
	}))
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
