package imports_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
)

// storedPlan is what the database has of a plan that was computed, applied and undone.
type storedPlan struct {
	Details any
	Parts   []storedPart
}

type storedPart struct {
	Kind                  changeplan.RowKind
	Rows, Applied, Undone any
}

// mustStore computes, applies and undoes a plan, and returns what was stored after each step. Before it applies and
// undoes the plan, it calls change, which changes the rows as another user does.
func mustStore(
	t *testing.T, plans changeplan.Plans, tenant tenancy.ID, id int64, change func(to string),
) (stored storedPlan) {
	t.Helper()
	results := func() (parts []storedPart) {
		for part, err := range plans.Parts(t.Context(), tenant, id) {
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, storedPart{Kind: part.Kind, Rows: decoded(t, part.Rows), Applied: decoded(t, part.Result)})
		}
		return parts
	}
	settle := func(err error, want changeplan.State) {
		t.Helper()
		if err == nil {
			err = plans.Claim(t.Context(), tenant, id, nil)
		}
		if err == nil {
			err = plans.Work(t.Context(), tenant, id, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if plan, err := plans.Get(t.Context(), tenant, id); err != nil || plan.State != want {
			t.Fatalf("the plan is %s, %v, %v, want %s", plan.State, plan.Failure, err, want)
		}
	}
	settle(nil, changeplan.Planned)
	plan, err := plans.Get(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	change("Other")
	settle(plans.Apply(t.Context(), tenant, tenancy.Operator, id, true), changeplan.Applied)
	stored = storedPlan{decoded(t, plan.Details), results()}
	change("Another")
	settle(plans.Undo(t.Context(), tenant, tenancy.Operator, id), changeplan.Undone)
	for i, part := range results() {
		stored.Parts[i].Undone = part.Applied
	}
	return stored
}

// Ids, digests, the sizes of compressed files and the times at which a test runs differ between databases. The times of
// its data are in 2025.
var (
	ids     = regexp.MustCompile(`"(NewID|ProductID|WarehouseID|CategoryID|Product|ID|id)": ?[1-9][0-9]*`)
	facts   = regexp.MustCompile(`"(Orders|Refunds|Cancellations)": ?\[[0-9, ]*\]`)
	sizes   = regexp.MustCompile(`"size": ?[0-9]+`)
	digests = regexp.MustCompile(`"Content": ?"[^"]*"`)
	now     = regexp.MustCompile(`"20(2[6-9]|[3-9][0-9])-[0-9T:.-]*Z"`)
)

func decoded(t *testing.T, stored []byte) (value any) {
	t.Helper()
	if len(stored) == 0 {
		return nil
	}
	stored = sizes.ReplaceAll(stored, []byte(`"size":1`))
	stored = ids.ReplaceAll(facts.ReplaceAll(stored, []byte(`"$1":[1]`)), []byte(`"$1":1`))
	stored = now.ReplaceAll(digests.ReplaceAll(stored, []byte(`"Content":"digest"`)), []byte(`"now"`))
	if err := json.Unmarshal(stored, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// storedPlans computes, applies and undoes plans with rows of all kinds, some of which are refused or change nothing.
func storedPlans(t *testing.T) map[string]storedPlan {
	t.Helper()
	d := dbtest.New(t)
	tenant, other := d.MustTenant(t, "shop"), d.MustTenant(t, "other")
	worker := changeplan.New(d.DB, imports.Kinds(d.DB, imports.Pictures{}))
	jobs, changes := imports.NewJobs(worker), imports.NewChanges(worker)
	fill := shop{d, catalog.New(d.DB), sales.New(d.DB), tenant.ID, tenant}
	fill.mustImport(t, directory(
		"products.csv", "sku,name,price,quantity,tags\nMUG,Mug,9.00,4,blue\nKEPT,Kept,1.00,1,\n",
		"customers.csv", "id,name,email\nC-1,Ann,ann@example.com\n",
		"orders.csv", "number,placed_at,channel,tax_total\nA-0,2025-03-01T09:00:00Z,web,1.00\n",
		"order_items.csv", "order_number,sku,quantity,unit_price\nA-0,MUG,1,9.00\n"))
	renameCustomer := func(name string) {
		customer := sales.Customer{ID: "C-1", Name: &name}
		if _, err := fill.sales.EnsureCustomers(t.Context(), tenant.ID, []sales.Customer{customer}); err != nil {
			t.Fatal(err)
		}
	}
	renameProducts := func(name string) {
		for _, sku := range map[string][]string{"Other": {"MUG"}, "Another": {"KEPT"}}[name] {
			_, err := fill.store.Upsert(t.Context(), catalog.Actor{Tenant: tenant.ID}, []catalog.Row{
				{Changes: catalog.Changes{SKU: catalog.Value(sku), Name: catalog.Value(name)}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	ofFiles := func(of shop, files ...string) storedPlan {
		id, err := jobs.Create(t.Context(), of.of, tenancy.Operator, form(t, imports.Settings{}, files...))
		if err != nil {
			t.Fatal(err)
		}
		return mustStore(t, jobs.Plans, of.tenant, id, renameCustomer)
	}
	plans := map[string]storedPlan{
		"own files": ofFiles(fill,
			"categories.csv", "id,name\n1,Kitchen\n", "sellers.csv", "id,name\n1,Hill\n",
			"warehouses.csv", "id,name\n1,North\n",
			"products.csv", "sku,name,price,quantity,category_name,tags,images\n"+
				"MUG,Big mug,10.00,5,Kitchen,,\nKEPT,Kept,1.00,1,,,\nPOT,Pot,x,1,,,\n"+
				"CUP,Cup,3.00,2,Bar,red,https://example.com/cup.jpg\n",
			"stock.csv", "sku,warehouse_name,quantity\nMUG,North,3\nNONE,North,3\n",
			"channels.csv", "identifier,label\nfair,Fair\npos,Till\n",
			"customers.csv", "id,name,email\nC-1,Anna,ann@example.com\nC-2,Bob,\n,Eve,\n",
			"orders.csv", "number,placed_at,channel,customer,tax_total,cancelled_at\nA-0,2025-03-01T09:00:00Z,web,,1.00,\n"+
				"A-1,2025-03-01T10:00:00Z,web,C-3,1.50,2025-03-02T10:00:00Z\nA-2,2025-03-01T11:00:00Z,fair,C-2,,\nA-3,x,web,,,\n",
			"order_items.csv", "order_number,sku,quantity,unit_price\nA-0,MUG,1,9.00\nA-1,MUG,2,10.00\nA-2,CUP,1,3.00\n"+
				"A-3,CUP,1,3.00\n",
			"refunds.csv", "order_number,refunded_at,amount,reference\nA-0,2025-03-03T10:00:00Z,2.00,r\n"+
				"A-2,2025-03-03T10:00:00Z,5.00,\nNONE,2025-03-03T10:00:00Z,5.00,\n"),
		"a shop system": ofFiles(fill, "shop.csv",
			"Name,Financial Status,Created at,Subtotal,Total,Lineitem quantity,Lineitem name,Lineitem price,Refunded Amount,"+
				"Cancelled at,Email\n"+
				"#1,refunded,2025-03-01 10:00:00 +0000,30.00,31.00,1,Cup,30.00,10.00,2025-03-02 10:00:00 +0000,eve@example.com\n"+
				"#2,paid,2025-03-01 10:00:00 +0000,x,10.00,1,Cup,10.00,,,\n"),
		"an archive": ofFiles(shop{d, fill.store, fill.sales, other.ID, other},
			"shop.zip", string(fill.mustArchive(t, t.TempDir()))),
	}
	id, err := changes.Create(t.Context(), tenant.ID, tenancy.Operator, "a change", catalog.Filter{}, catalog.Change{
		PricePercent: 10_00, AddTags: []string{"sale"},
	})
	if err != nil {
		t.Fatal(err)
	}
	plans["a change of a filter"] = mustStore(t, changes.Plans, tenant.ID, id, func(string) {})
	id, err = changes.CreateRows(t.Context(), tenant.ID, tenancy.Operator, "rows",
		func(yield func(int, catalog.PlanRow) error) error {
			for i, row := range []catalog.Changes{
				{SKU: catalog.Value("MUG"), Name: catalog.Value("Huge mug"), Quantity: catalog.Value[int64](9)},
				{SKU: catalog.Value("NEW"), Name: catalog.Value("New"), Price: catalog.Value[money.Cents](100)},
				{SKU: catalog.Value("NEW"), Name: catalog.Value("Again")},
				{SKU: catalog.Value("KEPT"), Name: catalog.Value("Renamed")},
			} {
				if err := yield(i, catalog.PlanRow{Changes: row}); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	plans["rows of a request"] = mustStore(t, changes.Plans, tenant.ID, id, renameProducts)
	return plans
}

// Instances of two releases read the plans of each other while they are replaced. The file has what the release before
// stored. What a later release adds must be omitted here: do not change what the file has.
func TestPlansAreStoredAsBefore(t *testing.T) {
	t.Parallel()
	stored, err := os.ReadFile("testdata/storedplans.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(storedPlans(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, stored), decoded(t, text)); diff != "" {
		t.Errorf("stored plans (-before +now):\n%s", diff)
	}
}
