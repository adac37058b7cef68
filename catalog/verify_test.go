package catalog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// storeFile adds an image with a file of 70 bytes to the products.
const storeFile = `
	insert into unused_media select id, now(), 'A.jpg' from tenants;
	update products
	   set images = '[{"id": 1, "position": 1, "file": "A.jpg", "bytes": 70}, {"id": 2, "position": 2, "url": "https://a"}]'
	 where id = PRODUCT`

// A trigger that adds the size of an image waits until the sum of all is corrected.
func TestRepairFilesSizeWhileImagesChange(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustCreate(t, "A")
	writer, reader := s.database.MustSuper(t), s.database.MustSuper(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := writer.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`insert into media_totals select id, 5 from tenants; begin;` + strings.ReplaceAll(storeFile, "id = PRODUCT", "true"))
	repaired := make(chan error, 1)
	go func() {
		_, err := s.RepairFilesSize(t.Context(), s.by.Tenant)
		repaired <- err
	}()
	for waits := false; !waits && len(repaired) == 0; time.Sleep(10 * time.Millisecond) {
		if err := reader.QueryRow(t.Context(), `select exists (select from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock')`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	exec(`commit`)
	if err := <-repaired; err != nil {
		t.Fatal(err)
	}
	if found, err := s.Verify(t.Context(), s.by.Tenant, 10); err != nil || len(found) > 0 {
		t.Errorf("Verify = %v, %v", found, err)
	}
}

func TestVerifyFindsDifferences(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sql  string
		want []string // object: figure: stored, computed
	}{
		{`select`, nil},
		{`update products set quantity = 9 where id = PRODUCT`, []string{
			"stock of product PRODUCT: sum of warehouses: 9, 12",
			"stock of product PRODUCT: end of ledger: 9, 12",
		}},
		{`delete from stock where product_id = PRODUCT`, []string{"stock of product PRODUCT: sum of warehouses: 12, 0"}},
		{`delete from inventory_adjustments where id = LAST`, []string{"stock of product PRODUCT: end of ledger: 12, 10"}},
		{`delete from inventory_adjustments where id = FIRST`, []string{"ledger row LAST: quantity_before: 10, 0"}},
		{`delete from product_counts`, []string{
			"count of active products: count: 0, 1", "count of draft products: count: 0, 1",
		}},
		{`insert into product_counts select id, 99, 'active', 5 from tenants`, []string{
			"count of active products: count: 6, 1",
		}},
		{`update facet_counts set count = 5 where facet = 'tag'`, []string{"count of active products tag red: count: 5, 1"}},
		{`delete from facet_counts where facet = 'warehouse' and status = 'draft'`, []string{
			"count of draft products warehouse WAREHOUSE: count: 0, 1",
		}},
		{`delete from product_tags`, []string{"tag red of product PRODUCT: row: none, active CREATED 1250 A Product A"}},
		{`delete from low_products`, []string{"low product PRODUCT: quantity: none, 12"}},
		{`update low_products set quantity = 3`, []string{"low product PRODUCT: quantity: 3, 12"}},
		{`insert into low_products select tenant_id, id, 0 from products where sku = 'B'`, []string{
			"low product SECOND: quantity: 0, none",
		}},
		{storeFile, nil},
		{storeFile + `; update media_totals set bytes = 9`, []string{"files of images: bytes: 9, 70"}},
		{storeFile + `; delete from media_totals`, []string{"files of images: bytes: 0, 70"}},
		{`insert into media_totals select id, 5 from tenants`, []string{"files of images: bytes: 5, 0"}},
	} {
		t.Run(test.sql, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			p := s.mustCreate(t, "A", quantity(10), func(c *catalog.Changes) { c.Tags = catalog.Value([]string{"red"}) },
				func(c *catalog.Changes) { c.ReorderPoint = catalog.Value(int64(20)) })
			second := s.mustCreate(t, "B", func(c *catalog.Changes) { c.Status = catalog.Value("draft") })
			_, last, err := s.Adjust(t.Context(), s.by, p.ID, adjustment("add", 2), nil)
			if err != nil {
				t.Fatal(err)
			}
			ids := strings.NewReplacer(
				"PRODUCT", fmt.Sprint(p.ID), "SECOND", fmt.Sprint(second.ID), "FIRST", fmt.Sprint(last.ID-1),
				"LAST", fmt.Sprint(last.ID), "WAREHOUSE", fmt.Sprint(p.WarehouseID), "CREATED", p.CreatedAt.Format("2006-01-02 15:04:05.999999+00"),
			)
			if _, err := s.database.MustSuper(t).Exec(t.Context(), ids.Replace(test.sql)); err != nil {
				t.Fatal(err)
			}
			for i := range test.want {
				test.want[i] = ids.Replace(test.want[i])
			}
			found, err := s.Verify(t.Context(), s.by.Tenant, 10)
			var got []string
			for _, d := range found {
				got = append(got, fmt.Sprintf("%s: %s: %s, %s", d.What, d.Figure, d.Stored, d.Facts))
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("Verify differs, %v (-want +got):\n%s", err, diff)
			}
			n, err := s.RepairLow(t.Context(), s.by.Tenant)
			if isLow := strings.HasPrefix(strings.Join(got, ""), "low"); err != nil || (n == 1) != isLow {
				t.Errorf("RepairLow = %d, %v", n, err)
			}
			changed, err := s.RepairFilesSize(t.Context(), s.by.Tenant)
			isSize := strings.HasPrefix(strings.Join(got, ""), "files")
			if err != nil || changed != isSize {
				t.Errorf("RepairFilesSize = %v, %v", changed, err)
			}
			found, err = s.Verify(t.Context(), s.by.Tenant, 10)
			if (n == 1 || isSize) && (err != nil || len(found) > 0) {
				t.Errorf("Verify after the repair = %v, %v", found, err)
			}
		})
	}
}

func TestRepairLowHasNoTimeout(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustCreate(t, "A", func(c *catalog.Changes) { c.ReorderPoint = catalog.Value(int64(20)) })
	writer, reader := s.database.MustSuper(t), s.database.MustSuper(t)
	for _, sql := range []string{`delete from low_products`, `begin`, `update products set quantity = 9`} {
		if _, err := writer.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	impatient := dbtest.MustOpen(t, s.database.URL+"&lock_timeout=50ms&statement_timeout=1s")
	done := make(chan error, 1)
	go func() {
		n, err := catalog.New(impatient).RepairLow(t.Context(), s.by.Tenant)
		if err == nil && n != 1 {
			err = fmt.Errorf("%d rows were corrected", n)
		}
		done <- err
	}()
	const waits = `select exists (select from pg_stat_activity where datname = current_database()
		and wait_event_type = 'Lock' and query_start < clock_timestamp() - interval '1100 ms')`
	for long := false; !long && len(done) == 0; time.Sleep(10 * time.Millisecond) {
		if err := reader.QueryRow(t.Context(), waits).Scan(&long); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := writer.Exec(t.Context(), `commit`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if found, err := s.Verify(t.Context(), s.by.Tenant, 10); err != nil ||
		strings.Contains(fmt.Sprint(found), "low product") {
		t.Errorf("Verify = %v, %v", found, err)
	}
}
