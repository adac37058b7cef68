package pages

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

const (
	// sheetRows is how many products of a shelf a sheet has.
	sheetRows = 200
	// maxShelved limits the products of a warehouse or of a category in it of which a sheet can be made.
	maxShelved = 50_000
	// maxCounted limits the products of a stock count, so that its form has at most MaxForm bytes.
	maxCounted = 300
	// maxTyped limits how long before its form a quantity was counted. A text names it.
	maxTyped = 12 * time.Hour
)

// countPage is a stock count: the sheet while a person counts, and then the differences. Its form has what was counted
// so far, so it needs no row of the database until it is applied. The sheet has no stock.
type countPage struct {
	form
	Warehouses []catalog.Reference
	Categories []catalog.Reference
	Rows       []countRow
	Focus      string // the id of the field that is next
	IsFull     bool   // the shelf has more products than the sheet
	Counted    int    // rows with a quantity
	Check      []checkRow
	Value      money.Cents // of the differences, at cost
	Unvalued   int         // differences of products without a cost
	Repeat     int         // rows of Check that must be counted again
	Result     *countResult
}

// countRow is a product of the sheet.
type countRow struct {
	catalog.Countable
	Quantity string // as it was typed; "" is not counted
	Seen     string // when it was counted, see catalog.Store.Seen; "" before that
	Again    bool   // it must be counted again
}

// Field returns the name and id of the field of the quantity.
func (r countRow) Field() string { return "q-" + strconv.FormatInt(r.ID, 10) }

// checkRow is a difference, with its value at cost.
type checkRow struct {
	catalog.CountedStock
	Value money.Cents
}

// countResult is what a count did.
type countResult struct{ Counted, Corrected, LeftOut int64 }

// WarehouseName returns the name of the warehouse of the count.
func (p countPage) WarehouseName() string {
	for _, w := range p.Warehouses {
		if strconv.FormatInt(w.ID, 10) == p.Get("warehouse") {
			return w.Name
		}
	}
	return ""
}

// ErrorList returns the errors in the order of the fields.
func (p countPage) ErrorList() []fieldError {
	fields := []string{"code", "category"}
	for _, row := range p.Rows {
		fields = append(fields, row.Field())
	}
	return errorList(p.Errors, fields...)
}

// readChoices reads the warehouses and categories, and chooses the default warehouse unless one of them is chosen.
func (p *countPage) readChoices(r *http.Request, u user) error {
	all := paging.Page{Number: 1, PerPage: maxChoices}
	warehouses, err := u.catalog().References(r.Context(), u.Tenant.ID, catalog.Warehouses, "", paging.Order{By: "name"}, all)
	if err != nil {
		return err
	}
	categories, err := u.catalog().References(r.Context(), u.Tenant.ID, catalog.Categories, "", paging.Order{By: "name"}, all)
	if err != nil {
		return err
	}
	p.Warehouses, p.Categories = warehouses.Items, categories.Items
	if p.WarehouseName() == "" {
		i := max(0, slices.IndexFunc(p.Warehouses, func(w catalog.Reference) bool { return w.IsDefault }))
		p.Set("warehouse", strconv.FormatInt(p.Warehouses[i].ID, 10))
	}
	return nil
}

// showCount shows the sheet of a shelf, or an empty one for a scanner.
func (p *Handler) showCount(w http.ResponseWriter, r *http.Request, u user) error {
	page := countPage{form: form{url.Values{}, fieldErrors{}}, Focus: "code"}
	for _, field := range []string{"warehouse", "category", "bin"} {
		page.Set(field, filterText(r, field))
	}
	if r.Form.Has("counted") {
		page.Result = &countResult{}
		for field, n := range map[string]*int64{
			"counted": &page.Result.Counted, "corrected": &page.Result.Corrected, "left_out": &page.Result.LeftOut,
		} {
			*n, _ = strconv.ParseInt(r.FormValue(field), 10, 32) // of the redirect below
		}
	}
	if err := page.readChoices(r, u); err != nil {
		return err
	}
	page.Set("request", rand.Text())
	if !r.Form.Has("show") {
		return p.show(w, http.StatusOK, "count", u, page)
	}
	filter := catalog.CountFilter{WarehouseID: page.warehouse(), Bin: page.Get("bin"), Max: maxShelved}
	if id, err := strconv.ParseInt(page.Get("category"), 10, 64); err == nil {
		filter.CategoryID = &id
	}
	found, err := u.catalog().CountSheet(r.Context(), u.Tenant.ID, filter, sheetRows+1)
	if errors.Is(err, catalog.ErrSheetTooLarge) {
		page.Errors["category"] = u.T("The warehouse has too many products for a sheet. Choose a category, or scan them.")
		return p.show(w, http.StatusUnprocessableEntity, "count", u, page)
	}
	if err != nil {
		return err
	}
	if page.IsFull = len(found) > sheetRows; page.IsFull {
		found = found[:sheetRows]
	}
	for _, product := range found {
		page.Rows = append(page.Rows, countRow{Countable: product})
	}
	if len(page.Rows) > 0 {
		page.Focus = page.Rows[0].Field()
	}
	return p.show(w, http.StatusOK, "count", u, page)
}

func (p countPage) warehouse() int64 {
	id, _ := strconv.ParseInt(p.Get("warehouse"), 10, 64) // of readChoices
	return id
}

// count continues a count: it finds what was scanned, keeps what was counted, shows the differences or applies them.
func (p *Handler) count(w http.ResponseWriter, r *http.Request, u user) error {
	page := countPage{form: submitted(r), Focus: "code"}
	if len(page.Values["p"]) > maxCounted || !page.hasRequest() {
		return ErrForm
	}
	if err := page.readChoices(r, u); err != nil {
		return err
	}
	if err := page.readRows(r, u); err != nil {
		return err
	}
	action := page.Get("action")
	if action == "next" {
		if err := page.scan(r, u); err != nil {
			return err
		}
	}
	counts := page.counts()
	page.Counted = len(counts)
	isChecked := action == "check" || action == "apply"
	if isChecked && len(page.Errors) == 0 && len(counts) == 0 {
		page.Errors[""] = u.T("Nothing is counted yet. An empty field means that a product was not counted.")
	}
	switch {
	case len(page.Errors) > 0:
		return p.show(w, http.StatusUnprocessableEntity, "count", u, page)
	case action == "apply":
		return p.applyCount(w, r, u, page, counts)
	case action == "check":
		found, err := u.catalog().CheckCounts(r.Context(), u.Tenant.ID, page.warehouse(), counts)
		if err != nil {
			return err
		}
		page.setCheck(found)
	}
	return p.show(w, http.StatusOK, "count", u, page)
}

// readRows reads the rows of the form. A quantity that is new or other than before was counted now, or as long ago as the
// script of the page says.
func (p *countPage) readRows(r *http.Request, u user) error {
	var ids []int64
	for _, text := range p.Values["p"] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return ErrForm
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	found, err := u.catalog().Countables(r.Context(), u.Tenant.ID, ids)
	if err != nil {
		return err
	}
	ages := map[int64]time.Duration{}
	for _, id := range ids {
		i := slices.IndexFunc(found, func(c catalog.Countable) bool { return c.ID == id })
		if i < 0 { // it was deleted
			continue
		}
		row := countRow{Countable: found[i]}
		if age, isFresh := p.readRow(u, &row); isFresh {
			ages[id] = age
		}
		if row.Again && p.Focus == "code" {
			p.Focus = row.Field()
		}
		p.Rows = append(p.Rows, row)
	}
	if len(ages) == 0 {
		return nil
	}
	seen, err := u.catalog().Seen(r.Context(), u.Tenant.ID, ages)
	for i, row := range p.Rows {
		if _, isFresh := ages[row.ID]; isFresh {
			p.Rows[i].Seen = strconv.FormatInt(seen[row.ID], 10)
		}
	}
	return err
}

// readRow reads the quantity of a row. If it was counted now, readRow returns how long ago. It empties a row that must
// be counted again.
func (p *countPage) readRow(u user, row *countRow) (age time.Duration, isFresh bool) {
	field, id := row.Field(), strconv.FormatInt(row.ID, 10)
	row.Quantity = strings.TrimSpace(p.Get(field))
	isAgain := slices.Contains(p.Values["again"], id)
	if row.Quantity == "" {
		row.Again = isAgain
		return 0, false
	}
	if n, err := strconv.ParseInt(row.Quantity, 10, 64); err != nil || n < 0 || n > catalog.MaxQuantity {
		p.Errors[field] = u.T(fieldTexts["quantity"])
		return 0, false
	}
	seen := p.Get("s-" + id)
	isFresh = p.isCounted(field, seen)
	age, isKnown := p.age(field)
	switch {
	case isFresh && isKnown:
		return age, true
	case isFresh:
		p.Errors[field] = u.T("This was counted more than 12 hours ago. Count it again.")
		row.Quantity, row.Again = "", true
	case isAgain && p.Get("action") == "next":
		row.Quantity, row.Again = "", true
	default:
		row.Seen = seen
	}
	return 0, false
}

// scan adds the products with the barcode or the SKU that was scanned or typed, and makes the first of them the next
// field. Without one, the next field is again that of the scanner.
func (p *countPage) scan(r *http.Request, u user) error {
	code := strings.TrimSpace(p.Get("code"))
	if code == "" {
		return nil
	}
	found, err := u.catalog().Scanned(r.Context(), u.Tenant.ID, cleanText(code))
	if err != nil {
		return err
	}
	var scanned []countRow
	for _, product := range found {
		i := slices.IndexFunc(p.Rows, func(row countRow) bool { return row.ID == product.ID })
		row := countRow{Countable: catalog.Countable{
			ID: product.ID, SKU: product.SKU, Name: product.Name, UPC: product.UPC, BinLocation: product.BinLocation,
		}}
		if i >= 0 {
			row = p.Rows[i]
			p.Rows = slices.Delete(p.Rows, i, i+1)
		}
		scanned = append(scanned, row)
	}
	switch {
	case len(scanned) == 0:
		p.Errors["code"] = u.T("No product has the barcode or SKU “%s”.", code)
		return nil
	case len(p.Rows)+len(scanned) > maxCounted:
		p.Errors["code"] = u.T("A count has at most %d products. Apply this one first.", maxCounted)
		return nil
	}
	p.Rows = append(scanned, p.Rows...)
	p.Focus = p.Rows[0].Field()
	p.Del("code")
	return nil
}

// counts returns the rows with a quantity.
func (p countPage) counts() (counts []catalog.Counted) {
	for _, row := range p.Rows {
		seen, errSeen := strconv.ParseInt(row.Seen, 10, 64)
		quantity, errQuantity := strconv.ParseInt(row.Quantity, 10, 32)
		if errors.Join(errSeen, errQuantity) == nil {
			counts = append(counts, catalog.Counted{ProductID: row.ID, Quantity: int32(quantity), Seen: seen})
		}
	}
	return counts
}

// setCheck shows the differences, the largest first.
func (p *countPage) setCheck(found []catalog.CountedStock) {
	for _, c := range found {
		row := checkRow{CountedStock: c}
		if c.MustRepeat() {
			p.Repeat++
		} else if c.Cost != nil {
			row.Value = *c.Cost * money.Cents(c.Difference())
			p.Value += row.Value
		} else if c.Difference() != 0 {
			p.Unvalued++
		}
		p.Check = append(p.Check, row)
	}
	rank := func(c checkRow) int64 { // what must be repeated comes first, equal rows last
		if c.MustRepeat() {
			return -1 << 40
		}
		return min(c.Difference(), -c.Difference())
	}
	slices.SortStableFunc(p.Check, func(a, b checkRow) int { return cmp.Compare(rank(a), rank(b)) })
}

// applyCount writes the counts in one transaction with an entry of the audit log. If something has set the stock of a
// product since it was counted, it writes nothing, unless the person has agreed to leave such products out.
func (p *Handler) applyCount(w http.ResponseWriter, r *http.Request, u user, page countPage, counts []catalog.Counted) error {
	var found []catalog.CountedStock
	err := p.once(w, r, u, page.form, func(u user) (string, error) {
		notes := cmp.Or(strings.TrimSpace(page.Get("notes")), "Stock count") // see storedTexts
		var applied bool
		var err error
		found, applied, err = u.catalog().ApplyCounts(
			r.Context(), u.member(), page.warehouse(), counts, &notes, page.Get("skip") != "")
		if err == nil && !applied {
			err = errRefused
		}
		if err != nil {
			return "", err
		}
		result := countResult{Counted: int64(len(found))}
		for _, c := range found {
			switch {
			case c.MustRepeat():
				result.LeftOut++
			case c.Difference() != 0:
				result.Corrected++
			}
		}
		result.Counted -= result.LeftOut
		query := url.Values{"warehouse": {page.Get("warehouse")}, "counted": {strconv.FormatInt(result.Counted, 10)},
			"corrected": {strconv.FormatInt(result.Corrected, 10)}, "left_out": {strconv.FormatInt(result.LeftOut, 10)}}
		return u.path("/count?" + query.Encode()), p.audit(r.Context(), r, u, "stock.count", page.WarehouseName(), map[string]any{
			"counted": result.Counted, "corrected": result.Corrected, "left_out": result.LeftOut,
		})
	})
	if errors.Is(err, errRefused) {
		page.Errors[""] = u.T("Meanwhile the stock of a product was set. Nothing is written yet.")
	} else if err := page.addProblems(u, err); err != nil || len(page.Errors) == 0 {
		return err
	} else if found, err = u.catalog().CheckCounts(r.Context(), u.Tenant.ID, page.warehouse(), counts); err != nil {
		return err
	}
	page.setCheck(found)
	return p.show(w, http.StatusUnprocessableEntity, "count", u, page)
}

// countOne sets the stock of one product to what was counted, as applyCount does. seen is of the moment of the count. It
// returns a repeatError if the product must be counted again.
func (p *Handler) countOne(
	r *http.Request, u user, id, warehouse int64, quantity int32, notes *string, seen int64,
) error {
	in, err := u.catalog().Reference(r.Context(), u.Tenant.ID, catalog.Warehouses, warehouse)
	if errors.Is(err, tenancy.ErrNotFound) {
		return tenancy.InvalidError{"warehouse_id": {"does not exist"}}
	}
	if err != nil {
		return err
	}
	counts := []catalog.Counted{{ProductID: id, Quantity: quantity, Seen: seen}}
	found, applied, err := u.catalog().ApplyCounts(r.Context(), u.member(), warehouse, counts, notes, false)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return tenancy.ErrNotFound
	case !applied:
		return repeatError{found[0].IsReset}
	}
	return p.audit(r.Context(), r, u, "stock.count", found[0].SKU, map[string]any{
		"quantity": quantity, "warehouse": in.Name,
	})
}

// repeatError reports that a product must be counted again.
type repeatError struct {
	isReset bool // because its stock was set since the count
}

func (repeatError) Error() string { return "the product must be counted again" }

// Text says why a person must count again.
func (e repeatError) Text(u user) string {
	if e.isReset {
		return u.T("The stock was set since you counted. Count again.")
	}
	return u.T("More was sold since than you counted. Count again.")
}

// movePage is the form that moves stock of a product to another warehouse.
type movePage struct {
	form
	Product    catalog.Product
	Stock      []catalog.WarehouseStock
	Warehouses []catalog.Reference
}

func (p *Handler) showMove(w http.ResponseWriter, r *http.Request, u user) error {
	f := form{url.Values{"request": {rand.Text()}}, fieldErrors{}}
	return p.showMoveWith(w, r, u, http.StatusOK, f)
}

func (p *Handler) showMoveWith(w http.ResponseWriter, r *http.Request, u user, status int, f form) (err error) {
	page := movePage{form: f}
	if page.Product, err = u.catalog().Product(r.Context(), u.Tenant.ID, pathID(r)); err != nil {
		return err
	}
	if page.Stock, err = u.catalog().Inventory(r.Context(), u.Tenant.ID, page.Product.ID); err != nil {
		return err
	}
	warehouses, err := u.catalog().References(r.Context(), u.Tenant.ID, catalog.Warehouses, "",
		paging.Order{By: "name"}, paging.Page{Number: 1, PerPage: maxChoices})
	if err != nil {
		return err
	}
	page.Warehouses = warehouses.Items
	if page.Get("from") == "" { // the warehouse with the most
		most := slices.MaxFunc(page.Stock, func(a, b catalog.WarehouseStock) int { return cmp.Compare(a.Quantity, b.Quantity) })
		page.Set("from", strconv.FormatInt(most.WarehouseID, 10))
		for _, other := range page.Warehouses { // the other one, if there are two
			if other.ID != most.WarehouseID && page.Get("to") == "" {
				page.Set("to", strconv.FormatInt(other.ID, 10))
			}
		}
	}
	return p.show(w, status, "product-move", u, page)
}

// moveStock moves stock of a product to another warehouse: the ledger has what left one and what came to the other.
func (p *Handler) moveStock(w http.ResponseWriter, r *http.Request, u user) error {
	f := submitted(r)
	from, errFrom := strconv.ParseInt(f.Get("from"), 10, 64)
	to, errTo := strconv.ParseInt(f.Get("to"), 10, 64)
	if errors.Join(errFrom, errTo) != nil {
		return ErrForm
	}
	quantity, err := strconv.ParseInt(strings.TrimSpace(f.Get("quantity")), 10, 64)
	switch {
	case err != nil || quantity < 1 || quantity > catalog.MaxQuantity:
		f.Errors["quantity"] = u.T("Enter a whole number from 1.")
	case from == to:
		f.Errors["to"] = u.T("Choose another warehouse.")
	default:
		err := p.once(w, r, u, f, func(u user) (string, error) {
			return u.path("/products/" + strconv.FormatInt(pathID(r), 10)), p.move(r, u, from, to, quantity, f)
		})
		switch {
		case errors.Is(err, catalog.ErrInsufficientStock):
			f.Errors["quantity"] = u.T("There is not enough in this warehouse.")
		default:
			if err := f.addProblems(u, err); err != nil || len(f.Errors) == 0 {
				return err
			}
		}
	}
	return p.showMoveWith(w, r, u, http.StatusUnprocessableEntity, f)
}

// move moves stock in the transaction of u.
func (p *Handler) move(r *http.Request, u user, from, to, quantity int64, f form) error {
	names := map[int64]string{}
	for _, id := range []int64{from, to} {
		w, err := u.catalog().Reference(r.Context(), u.Tenant.ID, catalog.Warehouses, id)
		if errors.Is(err, tenancy.ErrNotFound) {
			return ErrForm
		}
		if err != nil {
			return err
		}
		names[id] = w.Name
	}
	reason := strings.TrimSpace(f.Get("notes"))
	// The notes are English, see storedTexts.
	product := catalog.Product{}
	for _, change := range []struct {
		kind      string
		warehouse int64
		text      string
	}{{"remove", from, "Moved to " + names[to]}, {"add", to, "Moved from " + names[from]}} {
		notes := change.text
		if reason != "" {
			notes += ": " + reason
		}
		var err error
		product, _, err = u.catalog().Adjust(r.Context(), u.member(), pathID(r), catalog.AdjustRequest{
			Type: catalog.Value(change.kind), Quantity: catalog.Value(quantity),
			WarehouseID: catalog.Value(change.warehouse), Notes: catalog.Value(notes),
		}, nil)
		if err != nil {
			return err
		}
	}
	return p.audit(r.Context(), r, u, "stock.move", product.SKU, map[string]any{
		"quantity": quantity, "from": names[from], "to": names[to],
	})
}
