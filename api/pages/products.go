package pages

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// member returns the user as the actor of a change of products.
func (u user) member() catalog.Actor { return catalog.Actor{Tenant: u.Tenant.ID, Member: &u.Email} }

// Colleague returns how a page names a member. People who see no e-mail addresses see the part before the @.
func (u user) Colleague(email string) string {
	if name, _, found := strings.Cut(email, "@"); found && !u.Can(people.ReadEmails) {
		return name
	}
	return email
}

// fieldTexts say what a field of a product accepts, by its name in the catalog.
var fieldTexts = map[string]string{
	"name":          mark("Enter a name of 1 to 255 characters."),
	"price":         mark("Enter an amount such as 12.50."),
	"cost":          mark("Enter an amount such as 12.50."),
	"reorder_point": mark("Enter a whole number from 0."),
	"quantity":      mark("Enter a whole number from 0."),
	"upc":           mark("Enter 8 to 14 digits."),
	"bin_location":  mark("Enter at most 64 characters."),
	"tags":          mark("Enter at most 50 tags of at most 64 characters."),
	"notes":         mark("Enter at most 1,000 characters."),
}

// addProblems adds the errors of a change of a product. It returns other errors.
func (f form) addProblems(u user, err error) error {
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	if !isInvalid {
		return err
	}
	for field := range invalid {
		field, _, _ = strings.Cut(field, "[")
		f.Errors[field] = u.T(cmp.Or(fieldTexts[field], string(invalidOption)))
	}
	return nil
}

// stockForm is the form that changes the stock of a product.
type stockForm struct {
	form
	Warehouses []catalog.Reference
}

// newStockForm returns the form as it is first shown. seen is the newest change of the stock that the person sees.
func newStockForm(p catalog.Product, ledger []catalog.Adjustment) form {
	return form{url.Values{
		"type": {"add"}, "warehouse": {strconv.FormatInt(p.WarehouseID, 10)}, "seen": {newestOf(ledger)},
		"request": {rand.Text()},
	}, fieldErrors{}}
}

// newestOf returns the id of the newest change of a ledger, or 0.
func newestOf(ledger []catalog.Adjustment) string {
	if len(ledger) == 0 {
		return "0"
	}
	return strconv.FormatInt(ledger[0].ID, 10)
}

// adjustStock adds to the stock of a product, removes from it or sets it to what was counted.
func (p *Handler) adjustStock(w http.ResponseWriter, r *http.Request, u user) error {
	id, f := pathID(r), submitted(r)
	seen, errSeen := strconv.ParseInt(f.Get("seen"), 10, 64)
	warehouse, errWarehouse := strconv.ParseInt(f.Get("warehouse"), 10, 64)
	if !slices.Contains(catalog.AdjustmentTypes, f.Get("type")) || errors.Join(errSeen, errWarehouse) != nil {
		return ErrForm
	}
	request := catalog.AdjustRequest{Type: catalog.Value(f.Get("type")), WarehouseID: catalog.Value(warehouse)}
	if notes := strings.TrimSpace(f.Get("notes")); notes != "" {
		request.Notes = catalog.Value(notes)
	}
	refuse := func(isStale bool) error {
		return p.showProductWith(w, r, u, http.StatusUnprocessableEntity, id, &refusedStock{f, isStale})
	}
	quantity, err := strconv.ParseInt(strings.TrimSpace(f.Get("quantity")), 10, 64)
	if err != nil { // also an empty one: a blank is never a count of zero
		f.Errors["quantity"] = u.T(fieldTexts["quantity"])
		return refuse(false)
	}
	request.Quantity = catalog.Value(quantity)
	err = p.once(w, r, u, f, func(u user) (string, error) {
		return u.path("/products/" + strconv.FormatInt(id, 10)), u.adjust(r.Context(), id, request, seen)
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, catalog.ErrPrecondition):
		return refuse(true)
	case errors.Is(err, catalog.ErrInsufficientStock):
		f.Errors["quantity"] = u.T("There is not enough in this warehouse.")
	default:
		if err := f.addProblems(u, err); err != nil {
			return err
		}
	}
	return refuse(false)
}

// refusedStock is the form of a change of stock that was refused.
type refusedStock struct {
	form
	isStale bool // the stock has changed since the person saw it
}

// show returns the form as it is shown again, with the errors.
func (f refusedStock) show(u user, p catalog.Product, ledger []catalog.Adjustment) form {
	if f.isStale {
		f.Errors[""] = u.T("The stock has changed since you opened the page. It is %s now. "+
			"Count again, or save again if your count is right.", u.Format.Integer(p.Quantity))
		f.Set("seen", newestOf(ledger))
	}
	return f.form
}

// adjust changes the stock of a product. A count is valid only for the stock that the person saw: if anything else has
// changed it, adjust returns ErrPrecondition.
func (u user) adjust(ctx context.Context, id int64, request catalog.AdjustRequest, seen int64) error {
	_, entry, err := u.catalog().Adjust(ctx, u.member(), id, request, nil)
	if err != nil || request.Type.Value != "set" {
		return err
	}
	ledger, err := u.catalog().Adjustments(ctx, u.Tenant.ID, id, catalog.LedgerFilter{
		Page: paging.Page{Number: 1, PerPage: 2},
	})
	if err != nil {
		return err
	}
	isOther := func(a catalog.Adjustment) bool { return a.ID > seen && a.ID != entry.ID }
	if slices.ContainsFunc(ledger.Items, isOther) {
		return catalog.ErrPrecondition
	}
	return nil
}

// editPage is the page that changes a product.
type editPage struct {
	form
	Product catalog.Product
	Stored  url.Values // the values of the product, if they are not those that the form began with
}

// Now returns the stored value of a field if it is not the submitted one.
func (p editPage) Now(field string) string {
	if p.Stored == nil || p.Stored.Get(field) == p.Get(field) {
		return ""
	}
	return cmp.Or(p.Stored.Get(field), "–")
}

// productValues returns the fields of a product as its form has them. The form has a cost only for those who see it.
func productValues(p catalog.Product, u user) url.Values {
	v := url.Values{
		"name": {p.Name}, "price": {p.Price.String()}, "status": {p.Status}, "tags": {strings.Join(p.Tags, ", ")},
		"reorder_point": {""}, "upc": {""}, "bin_location": {""},
	}
	if p.ReorderPoint != nil {
		v.Set("reorder_point", strconv.FormatInt(int64(*p.ReorderPoint), 10))
	}
	if p.UPC != nil {
		v.Set("upc", *p.UPC)
	}
	if p.BinLocation != nil {
		v.Set("bin_location", *p.BinLocation)
	}
	if u.Can(people.ReadCosts) {
		v.Set("cost", "")
		if p.Cost != nil {
			v.Set("cost", p.Cost.String())
		}
	}
	return v
}

// versionOf returns a digest of values, which the form sends back.
func versionOf(values url.Values) string {
	sum := sha256.Sum256([]byte(values.Encode()))
	return hex.EncodeToString(sum[:8])
}

func (p *Handler) showEdit(w http.ResponseWriter, r *http.Request, u user) error {
	product, err := u.catalog().Product(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	values := productValues(product, u)
	values.Set("version", versionOf(values))
	values.Set("request", rand.Text())
	return p.show(w, http.StatusOK, "product-edit", u, editPage{form: form{values, fieldErrors{}}, Product: product})
}

// editProduct changes the fields of the form that are not as the product has them.
func (p *Handler) editProduct(w http.ResponseWriter, r *http.Request, u user) error {
	page := editPage{form: submitted(r)}
	err := p.once(w, r, u, page.form, func(u user) (string, error) {
		err := page.save(r.Context(), u, pathID(r), p.by(r, u))
		if errors.Is(err, catalog.ErrPrecondition) { // it has changed since save read it, so its version is another one
			err = page.save(r.Context(), u, pathID(r), p.by(r, u))
		}
		return u.path("/products/" + strconv.FormatInt(page.Product.ID, 10)), err
	})
	if err == nil {
		return nil
	}
	if !errors.Is(err, errRefused) {
		if err := page.addProblems(u, err); err != nil {
			return err
		}
	}
	return p.show(w, http.StatusUnprocessableEntity, "product-edit", u, page)
}

// save changes a product and records it in the audit log. It returns errRefused with errors in the form, also if someone
// else has changed the product since the form was shown.
func (p *editPage) save(ctx context.Context, u user, id int64, by tenancy.Actor) (err error) {
	if p.Product, err = u.catalog().Product(ctx, u.Tenant.ID, id); err != nil {
		return err
	}
	stored := productValues(p.Product, u)
	for field := range stored {
		p.Set(field, canonical(field, strings.TrimSpace(p.Get(field))))
	}
	version := versionOf(stored)
	changes, fields := p.changes(u, stored)
	switch {
	case len(p.Errors) > 0:
		return errRefused
	case len(fields) == 0:
		return nil
	case p.Get("version") != version:
		p.Stored = stored
		p.Errors[""] = u.T("Someone has changed this product since you opened the page. " +
			"Compare the values below and save again.")
		p.Set("version", version)
		return errRefused
	}
	_, err = u.catalog().Patch(ctx, u.member(), id, func(now catalog.Product) error {
		if versionOf(productValues(now, u)) != version {
			return catalog.ErrPrecondition
		}
		return nil
	}, changes, nil)
	if err != nil {
		return err
	}
	return u.db.Run(ctx, u.Tenant.ID, func(b *pgx.Batch) {
		tenants.QueueAudit(b, u.Tenant.ID, by, tenants.Entry{
			Action: "product.change", Target: p.Product.SKU, Details: map[string]any{"fields": fields},
		})
	})
}

// changes returns the fields that the form changes, and their names.
func (p editPage) changes(u user, stored url.Values) (c catalog.Changes, fields []string) {
	for field := range stored {
		if p.Get(field) != canonical(field, stored.Get(field)) { // a stored tag can have a comma
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	for _, field := range fields {
		text := p.Get(field)
		problem := false
		switch field {
		case "name":
			c.Name = catalog.Value(text)
		case "status":
			c.Status = catalog.Value(text)
		case "price":
			c.Price, problem = amountField(text)
			problem = problem || text == ""
		case "cost":
			c.Cost, problem = amountField(text)
		case "reorder_point":
			if c.ReorderPoint = (catalog.Field[int64]{Set: true, Null: text == ""}); text != "" {
				n, err := strconv.ParseInt(text, 10, 64)
				c.ReorderPoint.Value, problem = n, err != nil
			}
		case "upc":
			c.UPC = catalog.Field[string]{Set: true, Null: text == "", Value: text}
		case "bin_location":
			c.BinLocation = catalog.Field[string]{Set: true, Null: text == "", Value: text}
		case "tags":
			c.Tags = catalog.Value(splitTags(text))
		}
		if problem {
			p.Errors[field] = u.T(fieldTexts[field])
		}
	}
	return c, fields
}

// canonical returns a value as productValues writes it, so that 5 and 5.00 are the same price. It returns invalid ones
// unchanged.
func canonical(field, text string) string {
	switch field {
	case "price", "cost":
		if amount, problem := amountField(text); !problem && !amount.Null {
			return amount.Value.String()
		}
	case "reorder_point":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case "tags":
		return strings.Join(splitTags(text), ", ")
	}
	return text
}

// splitTags returns the tags of a text that separates them with commas.
func splitTags(text string) []string {
	tags := []string{}
	for tag := range strings.SplitSeq(text, ",") {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// amountField reads an amount as people write it: with a point or a comma before one or two digits. An empty text is no
// amount.
func amountField(text string) (f catalog.Field[money.Cents], problem bool) {
	if text == "" {
		return catalog.Field[money.Cents]{Set: true, Null: true}, false
	}
	whole, fraction, found := strings.Cut(text, ",")
	if found && (len(fraction) == 1 || len(fraction) == 2) && !strings.Contains(whole, ".") {
		text = whole + "." + fraction
	}
	cents, err := money.ParseText(text)
	return catalog.Value(cents), err != nil
}
