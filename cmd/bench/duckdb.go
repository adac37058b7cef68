package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// duckVersion is the version of the package that -duckdb installs from npm.
const duckVersion = "1.5.6-r.1"

//go:embed duckdb.mjs
var duckScript string

// duckTables are the exported columns of the large tenant, which the SQL of aggregations reads.
var duckTables = []struct{ name, columns string }{
	{"orders", "tenant_id, id, channel, customer_id, placed_at, revenue"},
	{"order_items", "tenant_id, order_id, sold_id, quantity, unit_price, unit_cost, discount"},
	{"cancellations", "tenant_id, order_id"},
	{"sold_products", "tenant_id, id, product_id, sku, name, category_id, seller_id"},
	{"customers", "tenant_id, id, number, name"},
}

// duckDB is a process of Node.js with DuckDB.
type duckDB struct {
	node *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// close ends the process, which ends with its input.
func (d *duckDB) close() error { return errors.Join(d.in.Close(), d.node.Wait()) }

// openDuckDB starts DuckDB with the rows of the large tenant, which it exports the first time.
func openDuckDB(ctx context.Context, o options, d database, out io.Writer) *duckDB {
	dir := must(filepath.Abs(filepath.Join(o.dir, "duckdb", duckVersion)))
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		fmt.Fprintln(out, "installing DuckDB …")
		install := command(ctx, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts",
			"@duckdb/node-api@"+duckVersion)
		if text, err := install.CombinedOutput(); err != nil {
			check(fmt.Errorf("npm install: %w\n%s", err, text))
		}
	}
	exported := sha256.Sum256(fmt.Append(nil, generatorVersion(fullShops(o.products, o.orders)), duckTables))
	file := filepath.Join(dir, fmt.Sprintf("%x.db", exported[:8]))
	node := command(ctx, "node", "--input-type=module", "--eval", duckScript, dir, file)
	node.Stderr = os.Stderr
	duck := &duckDB{node: node, in: must(node.StdinPipe()), out: bufio.NewReader(must(node.StdoutPipe()))}
	check(node.Start())
	defer closeFailed(duck.close)
	duck.query(`set TimeZone = 'UTC'`) // the days in queries are in it
	if len(duck.query(`select table_name from duckdb_tables()`)) == 0 {
		fmt.Fprintln(out, "exporting to DuckDB …")
		duck.load(ctx, d, dir)
	}
	return duck
}

// load copies the tables in one transaction, so that an interrupted copy is started again.
func (d *duckDB) load(ctx context.Context, from database, dir string) {
	withConn(ctx, from.super, func(conn *pgx.Conn) {
		d.query("begin")
		for _, t := range duckTables {
			path := filepath.Join(dir, t.name+".csv")
			file := must(os.Create(path))
			defer os.Remove(path)
			rows := fmt.Sprintf(`select %s from %s where tenant_id = (select id from tenants where slug = '%s')`,
				t.columns, t.name, large)
			must(conn.PgConn().CopyTo(ctx, file, `copy (`+rows+` order by 1, 2) to stdout with (format csv, header)`))
			check(file.Close())
			d.query(fmt.Sprintf(`create table %s as from read_csv('%s')`, t.name, path))
		}
		d.query("commit")
	})
}

// query returns the column revenue of the answer, in cents, or zeros if there is no such column.
func (d *duckDB) query(sql string) (revenue []int64) {
	must(d.in.Write(append(must(json.Marshal(sql)), '\n')))
	var answer struct {
		Rows []struct {
			Revenue int64 `json:",string"`
		}
		Error string
	}
	check(json.Unmarshal(must(d.out.ReadBytes('\n')), &answer))
	if answer.Error != "" {
		check(fmt.Errorf("DuckDB: %s\n%s", answer.Error, sql))
	}
	for _, row := range answer.Rows {
		revenue = append(revenue, row.Revenue)
	}
	return revenue
}

// duckReports compare reports with DuckDB, which runs the SQL of the aggregations. A target of 2 is half of its time.
func duckReports(s *service, duck *duckDB) (all []scenario) {
	for _, a := range append(aggregations(s.shops[large]), unaligned) {
		if a.duck == 0 {
			continue
		}
		sql := a.duckSQL(s.shops[large].id)
		all = append(all, scenario{
			name: "with DuckDB: " + a.name, work: s.at(large, a.next), clients: []int{1}, against: "DuckDB",
			baseline: func(ctx context.Context, _ int) step {
				if got, want := s.reportedRevenue(ctx, a), duck.query(sql); !slices.Equal(got, want) {
					check(fmt.Errorf("%s: the service returns %d, DuckDB %d", a.name, got, want))
				}
				return stepOf(func(context.Context) { duck.query(sql) })
			},
			target: target{ratio: a.duck},
		})
	}
	return all
}

// duckSQL returns the SQL with literals instead of parameters.
func (a aggregation) duckSQL(tenant tenancy.ID) string {
	end, _ := time.Parse(time.DateOnly, a.to)
	return strings.NewReplacer("$1", fmt.Sprint(tenant), "$2", "'"+a.from+"'",
		"$3", "'"+end.AddDate(0, 0, 1).Format(time.DateOnly)+"'").Replace(a.sql)
}
