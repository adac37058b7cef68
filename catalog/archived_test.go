package catalog_test

import (
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/money"
)

func TestAProductOfAnArchiveKeepsItsIDAndItsImages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ids, err := s.NewIDs(t.Context(), s.by.Tenant, "products", 2)
	if err != nil || ids[1] <= ids[0] {
		t.Fatalf("NewIDs = %v, %v, want ascending ids", ids, err)
	}
	_, err = s.database.DB.Exec(t.Context(), s.by.Tenant, `
		insert into unused_media (tenant_id, due, file)
		values ($1, now() + interval '1 hour', 'A.jpg')`, s.by.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	created := time.Date(2024, 3, 1, 12, 0, 0, 123000, time.UTC)
	row := catalog.PlanRow{
		Changes: catalog.Changes{
			SKU: catalog.Value("ARCHIVED"), Name: catalog.Value("Tea"), Price: catalog.Value(money.Cents(100)),
		},
		Stock: []catalog.StockOf{{Warehouse: "Main", Quantity: 3}},
		Archived: &catalog.Archived{ID: ids[0], CreatedAt: created, Images: []catalog.Image{
			{File: "A.jpg", Width: 10, Height: 20, Bytes: 300}, {URL: "https://example.com/a.jpg"},
		}},
	}
	planned, err := s.PlanProducts(t.Context(), s.by.Tenant, []catalog.PlanRow{row})
	if err != nil {
		t.Fatal(err)
	}
	applied := s.apply(t, []catalog.PlanRow{row}, planned)
	p, err := s.ProductBySKU(t.Context(), s.by.Tenant, "ARCHIVED")
	if err != nil {
		t.Fatal(err)
	}
	if p.ID != ids[0] || !p.CreatedAt.Equal(created) || p.Quantity != 3 || len(p.Images) != 2 ||
		p.Images[0].File != "A.jpg" || p.Images[1].Position != 2 || p.Images[1].ID == 0 {
		t.Errorf("the product is %+v", p)
	}
	planned, err = s.PlanProducts(t.Context(), s.by.Tenant, []catalog.PlanRow{row})
	if err != nil || planned[0].Outcome != catalog.Unchanged || planned[0].ID != ids[0] {
		t.Errorf("planned again: %+v, %v, want it unchanged", planned, err)
	}
	if kept := s.undo(t, applied); len(kept) > 0 {
		t.Errorf("kept %v", kept)
	}
	unused, err := s.database.DB.Exec(t.Context(), s.by.Tenant, `
		delete from unused_media where tenant_id = $1 and file = 'A.jpg' and due <= now()`, s.by.Tenant)
	if err != nil || unused != 1 {
		t.Errorf("%d files are due after the undo, %v", unused, err)
	}
}
