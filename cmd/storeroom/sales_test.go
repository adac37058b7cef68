package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/api/imports"
)

// mustImportOrder creates a tenant and imports one order, placed late on 28 February in UTC, with two equal refunds
// that exceed the amount paid.
func (p program) mustImportOrder(t *testing.T, slug string) {
	t.Helper()
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", slug, "--name", slug)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"products.csv":    "sku,name,price,quantity\nA,Axe,20,5\n",
		"customers.csv":   "id,name,email\n7,Ada,ada@example.com\n",
		"orders.csv":      "number,placed_at,channel,customer\n1,2026-02-28T23:30:00Z,web,7\n",
		"order_items.csv": "order_number,sku,quantity,unit_price\n1,A,2,10\n",
		"refunds.csv":     "order_number,refunded_at,amount\n1,2026-03-02T12:00:00Z,15\n1,2026-03-02T12:00:00Z,15\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := p.run(t, "import", "--tenant", slug, dir)
	want := "FILE CREATED UPDATED UNCHANGED REFUSED IGNORED products.csv 1 0 0 0 0 customers.csv 1 0 0 0 0 " +
		"orders.csv 1 0 0 0 0 order_items.csv 1 0 0 0 0 refunds.csv 2 0 0 0 0 " +
		"to undo this import: storeroom import undo --tenant " + slug + " "
	if o.code != 0 || !strings.HasPrefix(strings.Join(strings.Fields(o.stdout), " "), want) ||
		o.stderr != "1 order is refunded above what was paid\n" {
		t.Fatalf("import = %+v", o)
	}
	var again importJSON
	p.mustRun(t, &again, "import", "--tenant", slug, dir)
	if again.Exceeding != 1 || again.Files[4] != (imports.Count{File: "refunds.csv", Unchanged: 2}) {
		t.Errorf("second import = %+v", again)
	}
}

func TestCustomerEraseKeepsTheSums(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.mustImportOrder(t, "acme")
	o := p.run(t, "customer", "erase", "--tenant", "acme", "--id", "7")
	if o.code != 0 ||
		o.stdout != "erased name and e-mail address of customer \"7\" of tenant acme; orders and sums remain\n" {
		t.Errorf("customer erase = %+v", o)
	}
	var answer map[string]any
	p.mustRun(t, &answer, "customer", "erase", "--tenant", "acme", "--id", "7")
	if diff := cmp.Diff(map[string]any{"tenant": "acme", "id": "7", "erased": true}, answer); diff != "" {
		t.Errorf("customer erase --json (-want +got):\n%s", diff)
	}
	p.mustSelect(t, []string{"7 - - 2000"}, `
		select c.number || ' ' || coalesce(c.name, '-') || ' ' || coalesce(c.email, '-') || ' ' || o.revenue
		  from customers c
		  join orders o on o.customer_id = c.id`)
	if o := p.run(t, "verify", "--tenant", "acme"); o.code != 0 {
		t.Errorf("verify = %+v, want that everything agrees", o)
	}
}

const rebuildHint = "`storeroom rebuild --tenant acme` corrects rollups, low products and the size of files\n"

func TestVerifyPrintsDifferencesAndRebuildCorrectsRollups(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.mustImportOrder(t, "acme")
	p.mustImportOrder(t, "bolt")
	if o := p.run(t, "verify", "--tenant", "acme"); o.code != 0 ||
		o.stdout != "everything agrees: 1 product, 1 order, days in UTC\n" {
		t.Errorf("verify = %+v, want that everything agrees", o)
	}
	if o := p.run(t, "verify", "--all"); o.code != 0 || o.stdout != "everything agrees: 2 tenants, 2 products, 2 orders\n" {
		t.Errorf("verify --all = %+v, want that everything agrees", o)
	}
	db := p.MustSuper(t)
	const acme = ` where tenant_id = (select id from tenants where slug = 'acme')`
	for _, sql := range []string{
		`update sales_rollups set revenue = 1` + acme + ` and kind = 1 and revenue > 0`,
		`update products set quantity = 9` + acme,
		`insert into media_totals select tenant_id, 70 from products` + acme,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	o := p.run(t, "verify", "--tenant", "acme")
	want := `OBJECT                                  FIGURE             STORED  COMPUTED
rollup of day 2026-02-28, channel web   revenue            0.01    20.00
stock of product 1                      sum of warehouses  9       5
stock of product 1                      end of ledger      9       5
files of images                         bytes              70      0
`
	if diff := cmp.Diff(joinColumns(want), joinColumns(o.stdout)); diff != "" || o.code != 1 ||
		o.stderr != "storeroom: 4 differences; "+rebuildHint {
		t.Errorf("verify = %d, %s (-want +got):\n%s", o.code, o.stderr, diff)
	}
	o = p.run(t, "verify", "--all")
	want = `TENANT  OBJECT                                  FIGURE             STORED  COMPUTED
acme    rollup of day 2026-02-28, channel web   revenue            0.01    20.00
acme    stock of product 1                      sum of warehouses  9       5
acme    stock of product 1                      end of ledger      9       5
acme    files of images                         bytes              70      0
`
	if diff := cmp.Diff(joinColumns(want), joinColumns(o.stdout)); diff != "" || o.code != 1 ||
		o.stderr != "storeroom: 1 tenant has differences; `storeroom verify --tenant SLUG` says what corrects them\n" {
		t.Errorf("verify --all = %d, %s (-want +got):\n%s", o.code, o.stderr, diff)
	}
	o = p.run(t, "rebuild", "--tenant", "acme")
	if o.code != 0 || !strings.HasPrefix(o.stdout, "changed 1 rollup and 0 low products of tenant acme in ") ||
		!strings.HasSuffix(o.stdout, "\ncorrected the size of the files of images\n") {
		t.Errorf("rebuild = %+v, want one rollup and the size of files changed", o)
	}
	o = p.run(t, "verify", "--tenant", "acme", "--json")
	want = `{
  "tenant": "acme",
  "timezone": "UTC",
  "products": 1,
  "orders": 1,
  "differences": [
    {
      "what": "stock of product 1",
      "figure": "sum of warehouses",
      "stored": "9",
      "facts": "5"
    },
    {
      "what": "stock of product 1",
      "figure": "end of ledger",
      "stored": "9",
      "facts": "5"
    }
  ]
}
`
	if diff := cmp.Diff(want, o.stdout); diff != "" || o.code != 1 || o.stderr != "storeroom: 2 differences\n" {
		t.Errorf("verify --json = %d, %s (-want +got):\n%s", o.code, o.stderr, diff)
	}
	if o := p.run(t, "verify", "--tenant", "bolt"); o.code != 0 {
		t.Errorf("verify of another tenant = %+v, want that everything agrees", o)
	}
}

// joinColumns replaces the padding of a table by single spaces.
func joinColumns(table string) string {
	var lines []string
	for line := range strings.Lines(table) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestANewTimeZoneRecomputesDays(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.mustImportOrder(t, "acme")
	const days = `select to_char(day, 'YYYY-MM-DD') from sales_rollups where kind = 1 and orders > 0 order by 1`
	p.mustSelect(t, []string{"2026-02-28"}, days)
	o := p.run(t, "tenant", "set", "--slug", "acme", "--timezone", "Europe/Rome")
	if o.code != 0 || !strings.Contains(o.stdout, "Europe/Rome, USD\nreports now count days in Europe/Rome\n") {
		t.Errorf("tenant set = %+v, want that days are counted in Rome", o)
	}
	p.mustSelect(t, []string{"2026-03-01"}, days)
	if o := p.run(t, "tenant", "set", "--slug", "acme", "--timezone", "Europe/Rome"); o.code != 0 ||
		strings.Contains(o.stdout, "reports") {
		t.Errorf("the same zone again = %+v, want nothing of reports", o)
	}

	// tenant set may have been interrupted before the rollups changed.
	if _, err := p.MustSuper(t).Exec(t.Context(), `update tenants set timezone = 'America/New_York'`); err != nil {
		t.Fatal(err)
	}
	o = p.run(t, "verify", "--tenant", "acme")
	if o.code != 1 || !strings.Contains(joinColumns(o.stdout), "days of reports time zone Europe/Rome America/New_York") ||
		o.stderr != "storeroom: 1 difference; "+rebuildHint {
		t.Errorf("verify = %+v, want the time zones", o)
	}
	var rebuilt struct {
		Timezone    string
		ZoneChanged bool `json:"zone_changed"`
		Changed     int
	}
	p.mustRun(t, &rebuilt, "rebuild", "--tenant", "acme")
	if rebuilt.Timezone != "America/New_York" || !rebuilt.ZoneChanged || rebuilt.Changed == 0 {
		t.Errorf("rebuild = %+v, want New York", rebuilt)
	}
	p.mustSelect(t, []string{"2026-02-28"}, days)
	if o := p.run(t, "verify", "--tenant", "acme"); o.code != 0 {
		t.Errorf("verify = %+v, want that everything agrees", o)
	}
}

// A script that stops with a question must not go on with an earlier answer.
func TestAnImportUsesOnlyItsOwnSettings(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "acme", "--name", "Acme")
	file := filepath.Join(t.TempDir(), "sales.csv")
	write := func(number string) {
		t.Helper()
		text := "Order number,Date,SKU,Product,Quantity,Unit price\n" + number + ",03/04/2026,MUG,Mug,2,9.50\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	if o := p.run(t, "import", "--tenant", "acme", file); o.code != 1 || !strings.Contains(o.stderr, "--set date_order") {
		t.Errorf("import = %+v, want a question", o)
	}
	if o := p.run(t, "import", "--tenant", "acme", "--set", "date_order=dmy", "--set", "channel=fair", file); o.code != 0 {
		t.Errorf("import with settings = %+v", o)
	}
	write("2")
	o := p.run(t, "import", "--tenant", "acme", file)
	if o.code != 1 || !strings.Contains(o.stderr, "--set date_order") {
		t.Errorf("import without settings = %+v, want a question", o)
	}
	p.mustSelect(t, []string{"1 2026-04-03 fair"}, `
		select number || ' ' || (placed_at at time zone 'UTC')::date || ' ' || channel from orders order by number`)
}
