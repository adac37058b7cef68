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
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// duckVersion is the version of the package that -duckdb installs from npm.
const duckVersion = "1.5.6-r.1"

//go:embed duckdb.mjs
var duckScript string

// duckTables are the exported columns of the large tenant.
var duckTables = []struct{ name, columns string }{
	{"orders", "id, customer_id, placed_at, items, units, revenue, discounts, cost"},
	{"order_items", "order_id, line, placed_at, sold_id, quantity, unit_price, unit_cost, discount"},
	{"cancellations", "order_id"},
	{"refunds", "id, order_id, refunded_at, amount"},
	{"refund_items", "refund_id, order_id, line, amount"},
	{"sold_products", "id, product_id, sku, name, category_id, category_name, seller_id, seller_name"},
	{"categories", "id, name"},
	{"sellers", "id, name"},
	{"customers", "id, number, name, email"},
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
func openDuckDB(ctx context.Context, o options, d database, out io.Writer) (duck *duckDB, err error) {
	dir, err := filepath.Abs(filepath.Join(o.dir, "duckdb", duckVersion))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		fmt.Fprintln(out, "installing DuckDB …")
		install := command(ctx, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts",
			"@duckdb/node-api@"+duckVersion)
		if text, err := install.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("npm install: %w\n%s", err, text)
		}
	}
	version, err := generatorVersion(fullShops(o.products, o.orders))
	if err != nil {
		return nil, err
	}
	exported := sha256.Sum256(fmt.Append(nil, version, duckTables))
	file := filepath.Join(dir, fmt.Sprintf("%x.db", exported[:8]))
	duck = &duckDB{node: command(ctx, "node", "--input-type=module", "--eval", duckScript, dir, file)}
	duck.node.Stderr = os.Stderr
	if duck.in, err = duck.node.StdinPipe(); err != nil {
		return nil, err
	}
	pipe, err := duck.node.StdoutPipe()
	if err != nil {
		return nil, err
	}
	duck.out = bufio.NewReader(pipe)
	if err := duck.node.Start(); err != nil {
		return nil, fmt.Errorf("start Node.js: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, duck.close())
		}
	}()
	if _, err := duck.query(`set TimeZone = 'UTC'`); err != nil { // the days in queries are in it
		return duck, err
	}
	tables, err := duck.query(`select table_name as label from duckdb_tables()`)
	if err != nil || len(tables) > 0 {
		return duck, err
	}
	fmt.Fprintln(out, "exporting to DuckDB …")
	return duck, duck.load(ctx, d, dir)
}

// load copies the tables in one transaction, so that an interrupted copy is started again.
func (d *duckDB) load(ctx context.Context, from database, dir string) error {
	statements := []string{"begin"}
	err := withConn(ctx, from.super, func(conn *pgx.Conn) error {
		for _, t := range duckTables {
			path := filepath.Join(dir, t.name+".csv")
			file, err := os.Create(path)
			if err != nil {
				return err
			}
			defer os.Remove(path)
			rows := fmt.Sprintf(`select %s from %s where tenant_id = (select id from tenants where slug = '%s')`,
				t.columns, t.name, large)
			_, err = conn.PgConn().CopyTo(ctx, file, `copy (`+rows+` order by 1) to stdout with (format csv, header)`)
			if err := errors.Join(err, file.Close()); err != nil {
				return fmt.Errorf("export %s: %w", t.name, err)
			}
			statements = append(statements, fmt.Sprintf(`create table %s as from read_csv('%s')`, t.name, path))
		}
		for _, statement := range append(statements, "commit") {
			if _, err := d.query(statement); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// duckRow has what an answer of DuckDB and a row of a report are compared by.
type duckRow struct {
	Label   string `json:"label"`
	Revenue string `json:"revenue"`
}

func (d *duckDB) query(sql string) ([]duckRow, error) {
	line, err := json.Marshal(sql)
	if err != nil {
		return nil, err
	}
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("send to DuckDB: %w", err)
	}
	if line, err = d.out.ReadBytes('\n'); err != nil {
		return nil, fmt.Errorf("read from DuckDB: %w", err)
	}
	var answer struct {
		Rows  []duckRow
		Error string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, fmt.Errorf("read from DuckDB: %w", err)
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("DuckDB: %s\n%s", answer.Error, sql)
	}
	return answer.Rows, nil
}

// duckLines are the lines of orders and refunds of a range, without cancelled orders.
const duckLines = `
	lines as (
	    select sold_id, order_id, 1 as items, quantity as units, if(unit_cost is null, quantity, 0) as units_without_cost,
	           quantity * unit_price - discount as revenue, discount, coalesce(quantity * unit_cost, 0) as cost,
	           if(unit_cost is null, quantity * unit_price - discount, 0) as revenue_without_cost, 0 as refunds
	      from order_items anti join cancellations using (order_id)
	     where placed_at >= '{from}' and placed_at < date '{to}' + 1
	     union all
	    select i.sold_id, null, 0, 0, 0, 0, 0, 0, 0, x.amount
	      from refunds r
	      anti join cancellations using (order_id)
	      join refund_items x on x.refund_id = r.id
	      join order_items i on i.order_id = x.order_id and i.line = x.line
	     where r.refunded_at >= '{from}' and r.refunded_at < date '{to}' + 1
	)`

const duckSums = `sum(items) as items, sum(units) as units, sum(units_without_cost) as units_without_cost,
	sum(revenue) as revenue, sum(discount) as discount, sum(cost) as cost,
	sum(revenue_without_cost) as revenue_without_cost, sum(refunds) as refunds`

const duckProducts = `with` + duckLines + `, sold as (
	    select sold_id, ` + duckSums + ` from lines group by sold_id
	), products as (
	    select product_id, if(product_id is null, sku, null) as unknown_sku, ` + duckSums + `
	      from sold join sold_products s on s.id = sold_id
	     group by all
	    having sum(items) > 0
	), page as (
	    select * from products order by {order} desc, revenue desc, product_id, unknown_sku limit 25
	)
	select 'all of ' || count(*) as label, ` + duckSums + ` from products
	union all
	select coalesce(unknown_sku, (select arg_max(name, id) from sold_products s where s.product_id = page.product_id)),
	       items, units, units_without_cost, revenue, discount, cost, revenue_without_cost, refunds
	  from page`

const duckMargin = `if(revenue = revenue_without_cost, 0,
	round(10000 * (revenue - revenue_without_cost - cost) / (revenue - revenue_without_cost)))`

const duckGroups = `with` + duckLines + `, groups as (
	    select grouping({group}_id) as is_total, {group}_id as id, ` + duckSums + `, count(distinct {counted}) as orders
	      from lines join sold_products s on s.id = sold_id
	     where {where}
	     group by grouping sets (({group}_id), ())
	)
	select if(is_total = 1, 'all', coalesce(n.name,
	           (select arg_max({group}_name, id) from sold_products s where s.{group}_id = groups.id), 'None')) as label,
	       groups.*
	  from groups left join {names} n using (id)
	 order by revenue desc`

const duckCustomers = `with sales as (
	    select customer_id, 1 as orders, revenue, 0 as refunds, placed_at as last_order_at
	      from orders o anti join cancellations c on c.order_id = o.id
	     where placed_at >= '{from}' and placed_at < date '{to}' + 1
	     union all
	    select o.customer_id, 0, 0, r.amount, null
	      from refunds r anti join cancellations using (order_id) join orders o on o.id = r.order_id
	     where r.refunded_at >= '{from}' and r.refunded_at < date '{to}' + 1
	), firsts as (
	    select customer_id, min(placed_at) as first_order_at
	      from orders o anti join cancellations c on c.order_id = o.id
	     group by customer_id
	), buyers as (
	    select customer_id, sum(orders) as orders, sum(revenue) as revenue, sum(refunds) as refunds,
	           max(last_order_at) as last_order_at
	      from sales
	     group by customer_id
	    having sum(orders) > 0
	), page as (
	    select number, name, email, b.*, first_order_at
	      from buyers b join customers c on c.id = customer_id join firsts using (customer_id)
	     order by revenue desc, number
	     limit 25
	)
	select 'all of ' || count(customer_id) || ', new: ' || count(*) filter (first_order_at >= '{from}') as label,
	       sum(revenue) as revenue, sum(orders) as orders, sum(refunds) as refunds,
	       sum(orders) filter (customer_id is null) as guests, null as number, null as email, null as last_order_at
	  from buyers left join firsts using (customer_id)
	union all
	select name, revenue, orders, refunds, null, number, email, last_order_at from page`

// duckReports compare reports with SQL in DuckDB that computes the same figures. A target of 2 is half of its time.
func duckReports(s *service, duck *duckDB) []scenario {
	shop := s.shops[large]
	products := func(from, to, by, order string) (func(*rand.Rand) request, string) {
		path := fmt.Sprintf("/api/reports/products?per_page=25&from=%s&to=%s&sort=%s", from, to, by)
		return always(path), strings.NewReplacer("{from}", from, "{to}", to, "{order}", order).Replace(duckProducts)
	}
	groups := func(group, names, metrics, filters, counted, where string) (func(*rand.Rand) request, string) {
		return custom(yearFrom, yearTo, metrics, group, filters), strings.NewReplacer("{from}", yearFrom, "{to}", yearTo,
			"{group}", group, "{names}", names, "{counted}", counted, "{where}", where).Replace(duckGroups)
	}
	const metrics = `"revenue","units_sold","gross_profit"`
	two := fmt.Sprintf("%d, %d", shop.categories[0], shop.categories[1])
	var all []scenario
	add := func(name string, ratio float64, next func(*rand.Rand) request, sql string) {
		all = append(all, scenario{
			name: "with DuckDB: " + name, work: s.at(large, next), clients: []int{1}, against: "DuckDB",
			baseline: func(ctx context.Context, _ int) (step, error) {
				run := func(context.Context) (int, error) {
					_, err := duck.query(sql)
					return http.StatusOK, err
				}
				return run, s.sameAnswer(ctx, next(nil), duck, sql)
			},
			target: target{ratio: ratio},
		})
	}
	named := func(name string, ratio float64) func(func(*rand.Rand) request, string) {
		return func(next func(*rand.Rand) request, sql string) { add(name, ratio, next, sql) }
	}
	named("by revenue", 2)(products(yearFrom, yearTo, "revenue", "revenue"))
	named("by units", 2)(products(yearFrom, yearTo, "units", "units"))
	named("by margin", 2)(products(yearFrom, yearTo, "margin", duckMargin))
	named("17 March to 9 October", 1)(products("2024-03-17", "2024-10-09", "revenue", "revenue"))
	named("by seller", 5)(groups("seller", "sellers", metrics, "", "null", "items > 0"))
	named("by category", 5)(groups("category", "categories", metrics, "", "null", "items > 0"))
	named("two categories", 1)(groups("category", "categories", metrics+`,"orders"`,
		`"category_id":[`+strings.ReplaceAll(two, " ", "")+`]`, "order_id", "items > 0 and category_id in ("+two+")"))
	named("customers", 1)(always("/api/reports/customers?per_page=25&from="+yearFrom+"&to="+yearTo),
		strings.NewReplacer("{from}", yearFrom, "{to}", yearTo).Replace(duckCustomers))
	return all
}

// sameAnswer returns an error unless DuckDB and the service return the same names and revenue.
func (s *service) sameAnswer(ctx context.Context, r request, duck *duckDB, sql string) error {
	client, err := dial(ctx, s.address, s.shops[large].key)
	if err != nil {
		return err
	}
	status, err := client.do(r)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s %s: status %d", r.method, r.path, status)
	}
	answer, err := duck.query(sql)
	if err != nil {
		return err
	}
	var want []string
	for _, row := range answer {
		if !strings.HasPrefix(row.Label, "all") {
			want = append(want, row.Label+" "+row.Revenue)
		}
	}
	var rows []struct{ Name, Label, Revenue string }
	if err := unmarshalRows(client.body.Bytes(), &rows); err != nil {
		return err
	}
	var got []string
	for _, row := range rows {
		got = append(got, row.Name+row.Label+" "+strings.TrimLeft(strings.Replace(row.Revenue, ".", "", 1), "0"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(got) == 0 || !slices.Equal(want, got) {
		return fmt.Errorf("%s %s: the service returns %q, DuckDB %q", r.method, r.path, got, want)
	}
	return nil
}

// unmarshalRows reads the rows of a report, which are its data or a member of it.
func unmarshalRows(body []byte, rows any) error {
	var report struct{ Data json.RawMessage }
	if err := json.Unmarshal(body, &report); err != nil {
		return err
	}
	var object struct{ Rows, Customers json.RawMessage }
	if json.Unmarshal(report.Data, &object) == nil {
		return json.Unmarshal(append(object.Rows, object.Customers...), rows)
	}
	return json.Unmarshal(report.Data, rows)
}
