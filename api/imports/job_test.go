package imports_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/spool"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// jobs are the imports of a tenant, and the worker that carries them out.
type jobs struct {
	*dbtest.Database
	*imports.Jobs
	tenant tenants.Tenant
	worker *changeplan.Store
}

func newJobs(t *testing.T) jobs {
	t.Helper()
	d := dbtest.New(t)
	store := changeplan.New(d.DB, imports.Kinds(d.DB, imports.Pictures{}))
	return jobs{d, imports.NewJobs(store), d.MustTenant(t, "acme"), store}
}

// form is a form with files by name and content, and with settings.
func form(t *testing.T, settings imports.Settings, files ...string) *spool.Form {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(files); i += 2 {
		part, err := w.CreateFormFile("file", files[i])
		if err == nil {
			_, err = io.WriteString(part, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(settings)
	if err == nil {
		err = w.WriteField("settings", string(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return spool.NewForm(&body, w.Boundary())
}

// mustImport uploads files and returns the computed plan.
func (j jobs) mustImport(t *testing.T, settings imports.Settings, files ...string) imports.Import {
	t.Helper()
	id, err := j.Create(t.Context(), j.tenant, tenancy.Operator, form(t, settings, files...))
	if err != nil {
		t.Fatal(err)
	}
	return j.mustWork(t, id)
}

func (j jobs) mustWork(t *testing.T, id int64) imports.Import {
	t.Helper()
	err := j.worker.Claim(t.Context(), j.tenant.ID, id, nil)
	if err == nil {
		err = j.worker.Work(t.Context(), j.tenant.ID, id, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return j.mustGet(t, id)
}

func (j jobs) mustGet(t *testing.T, id int64) imports.Import {
	t.Helper()
	i, err := j.Get(t.Context(), j.tenant.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

const (
	someOrders = "number,placed_at,channel\nA-1,2026-03-01T10:00:00Z,web\nA-2,2026-04-01T10:00:00Z,pos\n"
	someItems  = "order_number,sku,quantity,unit_price\nA-1,MUG,2,10.00\nA-2,MUG,1,9.50\nA-2,CUP,x,1.00\n"
)

// The plan shows which orders reports will not include, and what each row creates.
func TestAPlanShowsRefundsAndCancelledOrders(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	i := j.mustImport(t, imports.Settings{},
		"orders.csv", "number,placed_at,channel,tax_total,cancelled_at\nA-1,2026-03-01T10:00:00Z,web,1.50,2026-03-02T10:00:00Z\n"+
			"A-2,2026-03-01T10:00:00Z,web,,\n",
		"order_items.csv", "order_number,sku,quantity,unit_price\nA-1,MUG,2,10.00\nA-2,MUG,1,10.00\n",
		"refunds.csv", "order_number,refunded_at,amount\nA-2,2026-03-03T10:00:00Z,4.50\n")
	if n := i.Notes; len(n) != 1 || n[0].Count != 1 || n[0].Amount != 2150 || !strings.Contains(n[0].Text, "cancelled") {
		t.Errorf("the plan has notes %+v, want one cancelled order of 21.50", n)
	}
	rows, err := j.Rows(t.Context(), j.tenant.ID, i.ID, changeplan.RowFilter{Page: paging.Page{Number: 1, PerPage: 100}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[imports.Kind]string{}
	for _, row := range rows.Items {
		values, _ := json.Marshal(row.New)
		got[row.Kind] = string(values)
	}
	for kind, want := range map[imports.Kind]string{
		imports.Refund:       `{"amount":"4.50","refunded_at":"2026-03-03T10:00:00Z"}`,
		imports.Cancellation: `{"cancelled_at":"2026-03-02T10:00:00Z"}`,
	} {
		if got[kind] != want {
			t.Errorf("a %s creates %s, want %s", kind, got[kind], want)
		}
	}
}

func TestAnUploadIsPlannedAppliedAndUndone(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	i := j.mustImport(t, imports.Settings{}, "orders.csv", someOrders, "order_items.csv", someItems)
	if i.State != changeplan.Planned {
		t.Fatalf("the import is %s, failure %v, questions %+v, want planned", i.State, i.Failure, i.Questions)
	}
	if c := i.Counts[imports.Order]; c.Created != 1 || c.Refused != 1 {
		t.Errorf("the plan has orders %+v, want one created and one refused", c)
	}
	if len(i.Totals) != 1 || i.Totals[0].Month != "2026-03" || *i.Totals[0].Channel != "web" ||
		i.Totals[0].Revenue.String() != "20.00" || i.Totals[0].Orders != 1 {
		t.Errorf("the plan has totals %+v, want 20.00 in March", i.Totals)
	}
	if i.Progress.Rows != 0 || i.Progress.Of == nil || *i.Progress.Of == 0 {
		t.Errorf("the progress is %+v, want no rows of some", i.Progress)
	}
	refused, err := j.Rows(t.Context(), j.tenant.ID, i.ID, changeplan.RowFilter{
		Action: changeplan.Refused, Page: paging.Page{Number: 1, PerPage: 10},
	})
	if err != nil || refused.Total != 1 || refused.Items[0].Key != "A-2" ||
		len(refused.Items[0].Invalid["items[1].quantity"]) != 1 {
		t.Errorf("the refused rows are %+v, %v, want A-2 with its quantity", refused, err)
	}

	if err := j.Apply(t.Context(), j.tenant.ID, tenancy.Operator, i.ID, false); err != nil {
		t.Fatal(err)
	}
	if i = j.mustWork(t, i.ID); i.State != changeplan.Applied || i.Progress.Rows != *i.Progress.Of {
		t.Errorf("the import is %s with progress %+v, want applied and complete", i.State, i.Progress)
	}
	if n := j.count(t, "orders"); n != 1 {
		t.Errorf("the tenant has %d orders, want 1", n)
	}
	if err := j.Undo(t.Context(), j.tenant.ID, tenancy.Operator, i.ID); err != nil {
		t.Fatal(err)
	}
	if i = j.mustWork(t, i.ID); i.State != changeplan.Undone {
		t.Errorf("the import is %s, want undone", i.State)
	}
	if n := j.count(t, "orders"); n != 0 {
		t.Errorf("the tenant has %d orders, want none", n)
	}
}

func (j jobs) count(t *testing.T, table string) int64 {
	t.Helper()
	n, err := db.One[struct{ Count int64 }](t.Context(), j.DB, j.tenant.ID,
		`select count(*) from `+table+` where tenant_id = $1`, j.tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	return n.Count
}

// Overlapping files have the same orders and refunds, and later ones a higher sum of refunds.
func TestTotalsHaveRowsOfSeveralFilesOnce(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	const shop = "Name,Financial Status,Created at,Subtotal,Total,Lineitem quantity,Lineitem name,Lineitem price," +
		"Refunded Amount,Cancelled at\n#1,paid,2026-03-01 10:00:00 +0000,30.00,30.00,1,Cup,30.00,"
	const sheet = "Order,Date,SKU,Quantity,Price\nA,2026-03-01,CUP,2,10.00\nA,2026-03-01,CUP,-1,10.00\n"
	i := j.mustImport(t, imports.Settings{}, "a.csv", shop+"10.00,2026-03-02 10:00:00 +0000\n",
		"b.csv", shop+"15.00,2026-03-02 10:00:00 +0000\n", "c.csv", sheet, "d.csv", sheet)
	var got []string
	for _, total := range i.Totals {
		got = append(got, fmt.Sprint(total.Orders, " ", total.Revenue, " ", total.Refunds, " ", total.Theirs["Total"], " ",
			total.Theirs["Refunded Amount"]))
	}
	if diff := cmp.Diff([]string{"0 0.00 25.00 0.00 15.00", "1 20.00 0.00 0.00 0.00", "1 30.00 0.00 30.00 0.00"}, got); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	for _, note := range i.Notes {
		if strings.Contains(note.Text, "cancelled") && note.Count != 1 {
			t.Errorf("notes %+v, want one cancelled order", i.Notes)
		}
	}
}

// mustWriteRefused returns the file of refused rows.
func (j jobs) mustWriteRefused(t *testing.T, i imports.Import) string {
	t.Helper()
	var file bytes.Buffer
	if err := j.WriteRefused(t.Context(), j.tenant.ID, i, &file); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// A refund and a cancellation have rows of their orders.
func TestARefusedRowIsInTheFileOnce(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	i := j.mustImport(t, imports.Settings{}, "shop.csv",
		"Name,Financial Status,Created at,Currency,Subtotal,Total,Lineitem quantity,Lineitem name,Lineitem price,"+
			"Refunded Amount,Cancelled at\n"+
			"#1,refunded,2026-03-01 10:00:00 +0000,EUR,ten,30.00,1,Cup,10.00,5.00,2026-03-02 10:00:00 +0000\n"+
			"#1,,2026-03-01 10:00:00 +0000,,,,1,Mug,20.00,,\n")
	rows := strings.Split(strings.TrimSpace(j.mustWriteRefused(t, i)), "\n")
	if len(rows) != 3 || !strings.Contains(rows[1], "Cup") || !strings.Contains(rows[2], "Mug") {
		t.Errorf("the refused rows are %q, want each row once", rows)
	}
}

func TestRefusedRowsOfOtherSystemsKeepTheirTexts(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	const header, reason = "Handle,Title,Body (HTML),Option1 Value,Variant SKU,Variant Price", ",price must be a decimal number"
	i := j.mustImport(t, imports.Settings{}, "shop.csv", header+"\n"+
		"a,'90s; -50%,\"Features:\n- Red\n'- Blue\",,'001,abc\n"+
		"b,=B,-b,,'-2,abc\n")
	file := j.mustWriteRefused(t, i)
	want := header + ",reason\n" +
		"a,'90s;' -50%,\"Features:\n'- Red\n''- Blue\",,'001,abc" + reason + "\n" +
		"b,'=B,'-b,,''-2,abc" + reason + "\n"
	if diff := cmp.Diff(want, file); diff != "" {
		t.Errorf("refused rows (-want +got):\n%s", diff)
	}
	if again := j.mustWriteRefused(t, j.mustImport(t, imports.Settings{}, "shop.csv", file)); again != file {
		t.Errorf("rows that are refused again are\n%s\nwant\n%s", again, file)
	}
	i = j.mustImport(t, imports.Settings{}, "shop.csv", strings.ReplaceAll(file, ",abc,", ",1.00,"))
	rows, err := j.Rows(t.Context(), j.tenant.ID, i.ID, changeplan.RowFilter{Page: paging.Page{Number: 1, PerPage: 10}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows.Items {
		got = append(got, fmt.Sprintf("%s %v %q", row.Key, row.New["name"], row.New["description"]))
	}
	if diff := cmp.Diff([]string{`001 '90s; -50% "Features:\n- Red\n'- Blue"`, `-2 =B "-b"`}, got); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
}

// A row with malformed quotes or too many cells is part of its order again when it is corrected.
func TestRefusedRowsThatCouldNotBeReadKeepTheirCells(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	const header = "Order,Date,Item,Quantity,Price"
	i := j.mustImport(t, imports.Settings{}, "s.csv", header+"\n"+
		"A1,2026-03-01,Cup,1,10.00\nA1,2026-03-01,\"Mug\" big,1,20.00\nA2,2026-03-01,Cup,1,10.00\n"+
		"A3,2026-03-01,Cup,1,10.00\nA4,2026-03-01,Cup,1,10.00\nA4,2026-03-01,Mug, big,1,20.00\nA5,2026-03-01,Cup,1,10.00\n")
	file := j.mustWriteRefused(t, i)
	for _, want := range []string{"\nA1,2026-03-01,\"\"\"Mug\"\" big\",1,20.00,", "\nA4,2026-03-01,Mug,\" big\",1,20.00,"} {
		if !strings.Contains(file, want) {
			t.Errorf("the refused rows are\n%s, want %q", file, want)
		}
	}
	i = j.mustImport(t, imports.Settings{}, "s.csv", file)
	if c := i.Counts[imports.Order]; c.Created != 2 || i.Totals[0].Revenue.String() != "40.00" {
		t.Errorf("the orders are %+v with totals %+v, want A1 and A5 with 40.00; the file is\n%s", c, i.Totals, file)
	}
}

func TestRefusedRowsCanBeCorrectedAndUploadedAgain(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	i := j.mustImport(t, imports.Settings{}, "products.csv",
		"sku,name,price,tags\nMUG,Mug,ten,=1\nCUP,Cup,5.00,\nPOT,,7.00,\n")
	var file bytes.Buffer
	if err := j.WriteRefused(t.Context(), j.tenant.ID, i, &file); err != nil {
		t.Fatal(err)
	}
	const want = "sku,name,price,tags,reason\nMUG,Mug,ten,'=1,"
	if text := file.String(); !strings.HasPrefix(text, want) || !strings.Contains(text, "name is required") ||
		strings.Contains(text, "CUP") || i.RefusedFile() != "refused-rows-"+id(i)+".csv" {
		t.Errorf("%s is\n%s, want the rows of MUG and POT with the reasons", i.RefusedFile(), text)
	}
	corrected := strings.NewReplacer(",ten,", ",10.00,", "POT,,", "POT,Pot,").Replace(file.String())
	i = j.mustImport(t, imports.Settings{}, "products.csv", corrected)
	if c := i.Counts[imports.Product]; c.Created != 2 || c.Refused != 0 {
		t.Errorf("the corrected file is %s with products %+v, %+v, %v, want two created", i.State, c, i.Files, i.Questions)
	}
}

// The order of a return was imported before. A later order of the file has the item too.
func TestAReturnBelongsToTheStoredOrderWithItsNumber(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	const head = "Order,Date,Customer ID,SKU,Quantity,Price\n"
	for _, rows := range []string{
		"A1,2026-03-01,c1,X,1,10.00\nA2,2026-03-01,c1,Y,1,10.00\n",
		"A9,2026-04-01,c1,X,1,10.00\nA1,2026-04-05,c1,X,-1,10.00\nA2,2026-04-05,c1,Y,-1,10.00\n",
		"A9,2026-04-01,c1,X,1,10.00\nA1,2026-04-05,c1,X,-1,10.00\n", // again
	} {
		i := j.mustImport(t, imports.Settings{}, "sales.csv", head+rows)
		if err := j.Apply(t.Context(), j.tenant.ID, tenancy.Operator, i.ID, false); err != nil {
			t.Fatal(err)
		}
		if i = j.mustWork(t, i.ID); i.State != changeplan.Applied || i.Counts[imports.Refund].Refused > 0 {
			t.Fatalf("the import is %s with %+v", i.State, i.Counts)
		}
	}
	refunded, err := db.One[struct{ Numbers string }](t.Context(), j.DB, j.tenant.ID, `
		select string_agg(o.number || ' ' || r.amount, ', ' order by o.number) as numbers
		  from refunds r
		  join orders o on o.tenant_id = r.tenant_id and o.id = r.order_id
		 where r.tenant_id = $1`, j.tenant.ID)
	if want := "A1 1000, A2 1000"; err != nil || refunded.Numbers != want {
		t.Errorf("refunds of %s, %v, want %s", refunded.Numbers, err, want)
	}
}

// A return with the number of another customer's order is not a refund of that order.
func TestAReturnDoesNotBelongToTheOrderOfAnotherCustomer(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	const head = "Order,Date,Customer ID,Email,SKU,Quantity,Price\n"
	first := j.mustImport(t, imports.Settings{}, "sales.csv", head+
		"A1,2026-03-01,c1,ann@example.com,X,1,10.00\nA2,2026-03-01,,bob@example.com,X,1,10.00\n")
	if err := j.Apply(t.Context(), j.tenant.ID, tenancy.Operator, first.ID, false); err != nil {
		t.Fatal(err)
	}
	j.mustWork(t, first.ID)
	refused, created := changeplan.Counts{Refused: 1}, changeplan.Counts{Created: 1}
	for _, test := range []struct {
		rows string
		want changeplan.Counts
	}{
		{"A1,2026-04-05,c2,,X,-1,10.00\n", refused},
		{"A1,2026-04-05,c1,bob@example.com,X,-1,10.00\n", refused},
		{"A2,2026-04-05,,ann@example.com,X,-1,10.00\n", refused},
		{"A2,2026-04-05,,BOB@example.com,X,-1,10.00\n", created},
		{"A9,2026-04-01,c2,,X,1,9\nA1,2026-04-05,c2,,X,-1,9\n", created},
		{"A1,2026-04-05,c1,,X,-1,10.00\n", created},
	} {
		i := j.mustImport(t, imports.Settings{Refunds: "attach"}, "sales.csv", head+test.rows)
		if got := i.Counts[imports.Refund]; got != test.want {
			t.Errorf("the refunds of %q are %+v, want %+v", test.rows, got, test.want)
		}
		if err := j.Cancel(t.Context(), j.tenant.ID, tenancy.Operator, i.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func id(i imports.Import) string {
	return strings.Trim(strings.SplitAfter(i.RefusedFile(), "rows-")[1], ".csvzip")
}

func TestAQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	i := j.mustImport(t, imports.Settings{}, "sales.csv",
		"Order number,Date,SKU,Quantity,Unit price\n1,03/04/2026,MUG,1,10.00\n")
	if i.State != changeplan.NeedsMapping || len(i.Questions) == 0 || i.Questions[0].ID != "date_order" {
		t.Fatalf("the import is %s with %+v, %v, want a question about the date", i.State, i.Questions, i.Failure)
	}
	if err := j.Configure(t.Context(), j.tenant.ID, i.ID, answersOf(imports.Settings{DateOrder: "ymd"})); err == nil {
		t.Error("an unknown answer returns no error")
	}
	answer := i.Settings
	answer.DateOrder = "dmy"
	if err := j.Configure(t.Context(), j.tenant.ID, i.ID, answersOf(answer)); err != nil {
		t.Fatal(err)
	}
	if i = j.mustWork(t, i.ID); i.State != changeplan.Planned || i.Totals[0].Month != "2026-04" {
		t.Errorf("the import is %s with totals %+v, %+v, want an order in April", i.State, i.Totals, i.Questions)
	}
}

func TestFilesThatAreNotImports(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	for name, files := range map[string][]string{
		"no file": nil, "no name": {"/", "a"}, "two of a name": {"a.csv", "a", "x/a.csv", "a"},
	} {
		_, err := j.Create(t.Context(), j.tenant, tenancy.Operator, form(t, imports.Settings{}, files...))
		if invalid, ok := errors.AsType[tenancy.InvalidError](err); !ok || len(invalid["file"]) != 1 {
			t.Errorf("%s: Create = %v, want an error of file", name, err)
		}
	}
	for name, body := range map[string]string{
		"a broken upload":     "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nsku,na",
		"a part without name": "--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--\r\n",
	} {
		_, err := j.Create(t.Context(), j.tenant, tenancy.Operator, spool.NewForm(strings.NewReader(body), "x"))
		if !errors.Is(err, imports.ErrForm) {
			t.Errorf("%s: Create = %v, want ErrForm", name, err)
		}
	}
	if list, err := j.List(t.Context(), j.tenant.ID, paging.Page{Number: 1, PerPage: 10}); err != nil || list.Total != 0 {
		t.Errorf("the tenant has %d imports, %v, want none", list.Total, err)
	}
	i := j.mustImport(t, imports.Settings{}, "picture.png", "\x89PNG\r\n\x1a\n\x00\x00")
	if i.State != changeplan.Failed || *i.Failure != "No file can be read: picture.png is not a CSV or XLSX file." {
		t.Errorf("a picture is %s: %v", i.State, i.Failure)
	}
}

func TestRowsThatHaveChangedAreNotOverwritten(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	const content = "sku,name,price\nMUG,Mug,10.00\nCUP,Cup,5.00\n"
	first := j.mustImport(t, imports.Settings{}, "products.csv", content)
	second := j.mustImport(t, imports.Settings{}, "products.csv", strings.Replace(content, "10.00", "11.00", 1))
	apply := func(i imports.Import, skipChanged bool) imports.Import {
		t.Helper()
		if err := j.Apply(t.Context(), j.tenant.ID, tenancy.Operator, i.ID, skipChanged); err != nil {
			t.Fatal(err)
		}
		return j.mustWork(t, i.ID)
	}
	if first = apply(first, false); first.State != changeplan.Applied {
		t.Fatalf("the first import is %s, want applied", first.State)
	}
	if second = apply(second, false); second.State != changeplan.Planned || second.Failure == nil {
		t.Fatalf("the second import is %s, %v, want planned with the reason", second.State, second.Failure)
	}
	page := paging.Page{Number: 1, PerPage: 10}
	rows, err := j.Rows(t.Context(), j.tenant.ID, second.ID, changeplan.RowFilter{Page: page})
	if err != nil || rows.Total != 2 {
		t.Errorf("the second import has %d rows, %v, want 2", rows.Total, err)
	}
	if err := j.WriteRefused(t.Context(), j.tenant.ID, second, io.Discard); err != nil {
		t.Error(err)
	}
	if second = apply(second, true); second.State != changeplan.Applied {
		t.Errorf("the second import is %s, want applied without the changed rows", second.State)
	}
	var file bytes.Buffer
	err = j.WriteRefused(t.Context(), j.tenant.ID, second, &file)
	if err != nil || !strings.Contains(file.String(), "\nMUG,Mug,11.00,") {
		t.Errorf("the refused rows are %s, %v, want the row of MUG as it was in the file", file.String(), err)
	}
	price, err := db.One[struct{ Price int64 }](t.Context(), j.DB, j.tenant.ID,
		`select price from products where tenant_id = $1 and sku = 'MUG'`, j.tenant.ID)
	if err != nil || price.Price != 10_00 {
		t.Errorf("the price is %d, %v, want that of the first import", price.Price, err)
	}
}

// A row that is refused has the SKU of one that is kept.
func TestTheKeptRowIsTheOneThatChanges(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	i := j.mustImport(t, imports.Settings{}, "products.csv", "sku,name,price\nMUG,Mug,?\nMUG,Mug,11.00\n")
	if _, err := j.MustSuper(t).Exec(t.Context(), `
		insert into products (tenant_id, sku, name, search, price, warehouse_id, status, condition)
		select tenant_id, 'MUG', 'Mug', 'mug', 500, id, 'active', 'new' from warehouses where is_default`); err != nil {
		t.Fatal(err)
	}
	if err := j.Apply(t.Context(), j.tenant.ID, tenancy.Operator, i.ID, false); err != nil {
		t.Fatal(err)
	}
	if i = j.mustWork(t, i.ID); i.State != changeplan.Planned {
		t.Fatalf("the import is %s, want planned", i.State)
	}
	rows, err := j.Rows(t.Context(), j.tenant.ID, i.ID,
		changeplan.RowFilter{Kept: true, Page: paging.Page{Number: 1, PerPage: 10}})
	if err != nil || len(rows.Items) != 1 || rows.Items[0].First().Line != 3 {
		t.Errorf("kept rows = %+v, %v, want that of line 3", rows.Items, err)
	}
}

// An order is in two exports, the older one with a smaller sum of its refunds.
func TestCumulativeRefundsAreNotAddedTwice(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	const header = "Name,Financial Status,Paid at,Currency,Subtotal,Shipping,Taxes,Total,Discount Amount,Created at," +
		"Lineitem quantity,Lineitem name,Lineitem price,Lineitem sku,Refunded Amount\n"
	export := func(refunded string) string {
		return header + "#1,partially_refunded,2026-03-01 10:00:00 +0000," + j.tenant.Currency +
			",20.00,0.00,0.00,20.00,0.00,2026-03-01 10:00:00 +0000,1,Mug,20.00,MUG," + refunded + "\n"
	}
	i := j.mustImport(t, imports.Settings{}, "a.csv", export("5.00"), "b.csv", export("8.00"))
	if i.State != changeplan.Planned {
		t.Fatalf("the import is %s, %v, %+v", i.State, i.Failure, i.Questions)
	}
	late := j.mustImport(t, imports.Settings{}, "c.csv", export("8.00"))
	for _, id := range []int64{i.ID, late.ID} {
		if err := j.Apply(t.Context(), j.tenant.ID, tenancy.Operator, id, true); err != nil {
			t.Fatal(err)
		}
		j.mustWork(t, id)
	}
	sum, err := db.One[struct{ Cents int64 }](t.Context(), j.DB, j.tenant.ID,
		`select coalesce(sum(amount), 0)::bigint as cents from refunds where tenant_id = $1`, j.tenant.ID)
	if err != nil || sum.Cents != 8_00 {
		t.Errorf("the order is refunded %d cents, %v, want 800", sum.Cents, err)
	}
}

func TestABlankAmountIsRefused(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	i := j.mustImport(t, imports.Settings{}, "refunds.csv", "order_number,refunded_at,amount\n1,2026-03-01T10:00:00Z,\" \"\n")
	if c := i.Counts[imports.Refund]; i.State != changeplan.Planned || c.Refused != 1 {
		t.Errorf("the import is %s with %+v, %v, want one refused refund", i.State, c, i.Failure)
	}
}
