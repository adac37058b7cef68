package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// An import that was killed at ten points, and its undo at two, lose and duplicate nothing.
func TestAKilledImportEndsWithTheSameFigures(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	dir := mustSalesFiles(t, 4000)
	for _, slug := range []string{"killed", "whole"} {
		p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", slug, "--name", slug, "--timezone", "Europe/London")
	}
	p.mustRun(t, &importJSON{}, "import", "--tenant", "whole", dir)

	db := p.MustSuper(t)
	killAt := func(condition string, args ...string) {
		t.Helper()
		p.mustKillImport(t, db, condition, args...)
	}
	for parts := range 3 {
		// Nothing is imported before the plan is complete.
		killAt(fmt.Sprintf(`state = 'planning' and parts >= %d and not exists (select from orders o where o.tenant_id = p.tenant_id)
			and id = %d + (select min(id) from change_plans where tenant_id = p.tenant_id)`, 3*parts, parts),
			"--tenant", "killed", dir)
	}
	killAt(`state = 'applying'`, "--tenant", "killed", dir)
	var id string
	if err := db.QueryRow(t.Context(), `select max(id)::text from change_plans`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	for part := range 6 {
		killAt(fmt.Sprintf(`id = %s and state = 'applying' and next_part > %d`, id, 2*part), "--tenant", "killed", "--resume", id)
	}
	if n, all := p.mustCount(t, db, "killed", "orders"), p.mustCount(t, db, "whole", "orders"); n == 0 || n >= all {
		t.Errorf("%d of %d orders are stored after the last kill, want some", n, all)
	}
	p.mustRun(t, &importJSON{}, "import", "--tenant", "killed", "--resume", id)
	p.mustHaveSameSums(t, db)

	for _, part := range []int{9, 4} {
		killAt(fmt.Sprintf(`id = %s and state = 'undoing' and next_part < %d`, id, part), "undo", "--tenant", "killed", id)
	}
	if o := p.run(t, "import", "undo", "--tenant", "killed", id); o.code != 0 {
		t.Errorf("import undo = %+v", o)
	}
	for _, table := range []string{"products", "customers", "orders", "refunds"} {
		if n := p.mustCount(t, db, "killed", table); n > 0 {
			t.Errorf("%d rows of %s remain after the undo", n, table)
		}
	}
	p.mustRun(t, &importJSON{}, "import", "--tenant", "killed", dir)
	p.mustHaveSameSums(t, db)
}

// mustKillImport runs an import of the tenant killed, and kills it when one of its plans fulfils a condition.
func (p program) mustKillImport(t *testing.T, db *pgx.Conn, condition string, args ...string) {
	t.Helper()
	running := start(t, p.dir, p.environ, append([]string{"import"}, args...)...)
	for range poll(t) {
		if p.mustExist(t, db, "killed", condition) {
			break
		}
	}
	_ = running.Process.Kill() // wait checks the result
	if err := running.wait(t); exitSignal(err) != syscall.SIGKILL {
		t.Fatalf("storeroom import %q ended with %v before the kill at %s", args, err, condition)
	}
	// The claim of the killed process would end after ten seconds.
	if _, err := db.Exec(t.Context(), `update change_plans set lease_until = now()`); err != nil {
		t.Fatal(err)
	}
}

// An import of an archive that was killed at seven points loses and duplicates nothing: the archive of the new tenant
// has the same rows and as many pictures.
func TestAKilledImportOfAnArchiveGivesTheSameArchive(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	media := t.TempDir()
	p = p.with("STOREROOM_MEDIA_URL=file://" + media)
	created := map[string]*tenantJSON{"whole": {}, "killed": {}}
	for slug, tenant := range created {
		p.mustRun(t, tenant, "tenant", "create", "--slug", slug, "--name", slug, "--timezone", "Europe/London")
	}
	p.mustRun(t, &importJSON{}, "import", "--tenant", "whole", mustSalesFiles(t, 3000))
	db := p.MustSuper(t)
	p.mustStorePictures(t, p.MustSuperAt(t, created["whole"].ID), media)
	file := filepath.Join(t.TempDir(), "whole.zip")
	p.mustRun(t, &exported{}, "export", "--tenant", "whole", file)

	for n, parts := range []int{0, 2} {
		p.mustKillImport(t, db, fmt.Sprintf(`state = 'planning' and parts >= %d
			and id = %d + (select min(id) from change_plans where tenant_id = p.tenant_id)`, parts, n), "--tenant", "killed", file)
	}
	p.mustKillImport(t, db, `state = 'applying'`, "--tenant", "killed", file)
	var id string
	if err := db.QueryRow(t.Context(), `select max(id)::text from change_plans`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	for _, part := range []int{0, 1, 3, 5} {
		p.mustKillImport(t, db, fmt.Sprintf(`id = %s and state = 'applying' and next_part > %d`, id, part),
			"--tenant", "killed", "--resume", id)
	}
	if n, all := p.mustCount(t, db, "killed", "orders"), p.mustCount(t, db, "whole", "orders"); n >= all {
		t.Errorf("%d of %d orders are stored after the last kill, want some", n, all)
	}
	p.mustRun(t, &importJSON{}, "import", "--tenant", "killed", "--resume", id)
	p.mustHaveSameSums(t, db)
	again := filepath.Join(t.TempDir(), "killed.zip")
	p.mustRun(t, &exported{}, "export", "--tenant", "killed", again)
	if diff := cmp.Diff(archivedRows(t, file), archivedRows(t, again)); diff != "" {
		t.Errorf("the archive of the new tenant differs (-old +new):\n%s", diff)
	}
}

// mustStorePictures gives ten products of the tenant whole a picture.
func (p program) mustStorePictures(t *testing.T, db *pgx.Conn, dir string) {
	t.Helper()
	var content bytes.Buffer
	if err := jpeg.Encode(&content, image.NewGray(image.Rect(0, 0, 30, 20)), nil); err != nil {
		t.Fatal(err)
	}
	const setTenant = `select set_config('app.tenant_id', id::text, false) from tenants where slug = 'whole'`
	if _, err := db.Exec(t.Context(), setTenant); err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		name := strings.Repeat(string(rune('A'+n)), 26) + ".jpg"
		path := filepath.Join(dir, name[:2], name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			`insert into old_media (tenant_id, file) select id, $1 from tenants where slug = 'whole' and $2 <> ''`,
			`insert into unused_media (tenant_id, due, file) select id, now() + interval '1 hour', $1 from tenants
			  where slug = 'whole' and $2 <> ''`,
			`update products
			    set images = jsonb_build_array(jsonb_build_object(
			        'id', 1, 'position', 1, 'file', $1::text, 'width', 30, 'height', 20, 'bytes', 100))
			  where sku = $2 and tenant_id = (select id from tenants where slug = 'whole')`,
		} {
			if _, err := db.Exec(t.Context(), statement, name, fmt.Sprint("P-", n)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// archivedRows returns the rows of the CSV files of an archive by name, but the ledger, which an import does not read,
// and the number of pictures. Ids and names of pictures are replaced by numbers in the order of their first occurrence.
func archivedRows(t *testing.T, path string) map[string][]string {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	rows := map[string][]string{}
	for _, entry := range archive.File {
		switch {
		case strings.HasPrefix(entry.Name, "images/"):
			rows["pictures"] = append(rows["pictures"], "picture")
		case strings.HasSuffix(entry.Name, ".csv") && entry.Name != "inventory_adjustments.csv":
			rows[entry.Name] = withoutIDs(t, entry)
		}
	}
	return rows
}

func withoutIDs(t *testing.T, entry *zip.File) (rows []string) {
	t.Helper()
	file, err := entry.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]int{}
	for n, row := range all {
		for i, column := range all[0] {
			isID := column == "id" && entry.Name != "customers.csv" || strings.HasSuffix(column, "_id") ||
				slices.Contains([]string{"product", "category", "seller", "sold_product", "file"}, column)
			if n > 0 && isID && row[i] != "" {
				key := column + " " + row[i]
				if numbers[key] == 0 {
					numbers[key] = len(numbers) + 1
				}
				row[i] = fmt.Sprint(numbers[key])
			}
		}
		rows = append(rows, strings.Join(row, ","))
	}
	return rows
}

func (p program) mustExist(t *testing.T, db *pgx.Conn, slug, condition string) (exists bool) {
	t.Helper()
	err := db.QueryRow(t.Context(), `
		select exists (
		       select from change_plans p
		        where tenant_id = (select id from tenants where slug = $1) and `+condition+`)`, slug).Scan(&exists)
	if err != nil {
		t.Fatal(err)
	}
	return exists
}

func (p program) mustHaveSameSums(t *testing.T, db *pgx.Conn) {
	t.Helper()
	if killed, whole := p.mustSums(t, db, "killed"), p.mustSums(t, db, "whole"); killed != whole {
		t.Errorf("figures of the killed import:\n%s\nof the undisturbed import:\n%s", killed, whole)
	}
	if o := p.run(t, "verify", "--tenant", "killed"); o.code != 0 {
		t.Errorf("verify = %+v, want that everything agrees", o)
	}
}

func (p program) mustCount(t *testing.T, db *pgx.Conn, slug, table string) (n int) {
	t.Helper()
	err := db.QueryRow(t.Context(), `
		select count(*)
		  from `+table+`
		 where tenant_id = (select id from tenants where slug = $1)`, slug).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// mustSums returns the sums of the facts, and of each kind of rollup.
func (p program) mustSums(t *testing.T, db *pgx.Conn, slug string) (text string) {
	t.Helper()
	err := db.QueryRow(t.Context(), `
		with t as (
			select id from tenants where slug = $1
		), figures as (
			select 0 as kind, format('facts %s', array[
			       (select count(*) from products where tenant_id = t.id),
			       (select count(*) from customers where tenant_id = t.id),
			       (select count(*) from orders where tenant_id = t.id),
			       (select sum(revenue) from orders where tenant_id = t.id),
			       (select count(*) from order_items where tenant_id = t.id),
			       (select sum(quantity * unit_price - discount) from order_items where tenant_id = t.id),
			       (select count(*) from refunds where tenant_id = t.id),
			       (select sum(amount) from refunds where tenant_id = t.id),
			       (select sum(amount) from refund_items where tenant_id = t.id)]) as figure
			  from t
			union all
			select kind, format('rollups %s %s', kind, array[
			       count(*), sum(orders), sum(items), sum(units), sum(revenue),
			       sum(discounts), sum(tax), sum(refund_count), sum(refunds)])
			  from t
			  join sales_rollups r on r.tenant_id = t.id
			 where r.kind < 4
			 group by kind
		)
		select string_agg(figure, E'\n' order by kind) from figures`, slug).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mustSalesFiles writes random CSV files: orders of one to five items, every third with a refund, some of them with two
// equal refunds.
func mustSalesFiles(t *testing.T, orders int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(20260304, 0))
	files := map[string]*strings.Builder{}
	for name, header := range map[string]string{
		"products.csv": "sku,name,price,cost,quantity", "customers.csv": "id,name", "channels.csv": "identifier,label",
		"orders.csv":      "number,placed_at,channel,customer,discount_total,tax_total",
		"order_items.csv": "order_number,sku,quantity,unit_price,discount",
		"refunds.csv":     "order_number,refunded_at,amount",
	} {
		files[name] = &strings.Builder{}
		fmt.Fprintln(files[name], header)
	}
	for i := range 50 {
		fmt.Fprintf(files["products.csv"], "P-%d,Product %d,10,4.%02d,%d\n", i, i, i, i)
		fmt.Fprintf(files["customers.csv"], "%d,Customer %d\n", i, i)
	}
	files["channels.csv"].WriteString("web,Web shop\n")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range orders {
		at = at.Add(time.Duration(random.IntN(60)) * time.Minute)
		fmt.Fprintf(
			files["orders.csv"], "N-%d,%s,%s,%d,1.01,0.%02d\n", i, at.Format(time.RFC3339), []string{"web", "pos"}[i%2],
			random.IntN(60), random.IntN(100))
		for range 1 + random.IntN(5) {
			fmt.Fprintf(
				files["order_items.csv"], "N-%d,P-%d,%d,%d.%02d,0.10\n", i, random.IntN(60), 1+random.IntN(3), 2+random.IntN(9),
				random.IntN(100))
		}
		if i%3 == 0 {
			refund := fmt.Sprintf("N-%d,%s,1.%02d\n", i, at.AddDate(0, 0, 3).Format(time.RFC3339), random.IntN(100))
			files["refunds.csv"].WriteString(strings.Repeat(refund, 1+i%2))
		}
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
